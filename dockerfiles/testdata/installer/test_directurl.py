"""No secret and no mirror stays in what an environment notes of where packages came from."""
import csv
import json
import os
import tempfile
import unittest

import directurl

PUBLIC = "https://files.example.org/x.whl"


class PublishTest(unittest.TestCase):
    def setUp(self):
        self.addCleanup(vars(directurl.sources).update, dict(vars(directurl.sources)))

    def install(self, prefix, name, url):
        folder = os.path.join(prefix, "lib", "python3.9", "site-packages", name + "-1.0.dist-info")
        os.makedirs(folder)
        with open(os.path.join(folder, "direct_url.json"), "w", encoding="utf-8") as file:
            json.dump({"url": url, "archive_info": {}}, file)
        with open(os.path.join(folder, "RECORD"), "w", encoding="utf-8") as file:
            file.write(f'{name}.py,sha256=abc,3\n"{name},1.txt",,\n{name}-1.0.dist-info/direct_url.json,sha256=old,999\n')
        return folder

    def check(self, indexes, hidden, installed, want):
        directurl.sources.indexes, directurl.sources.hidden = indexes, hidden
        with tempfile.TemporaryDirectory() as prefix:
            folder = self.install(prefix, "x", installed)
            directurl.publish(prefix)
            path = os.path.join(folder, "direct_url.json")
            with open(path, encoding="utf-8") as file:
                self.assertEqual(json.load(file), {"url": want, "archive_info": {}})
            with open(os.path.join(folder, "RECORD"), encoding="utf-8", newline="") as file:
                rows = list(csv.reader(file))
            self.assertEqual(rows[:2], [["x.py", "sha256=abc", "3"], ["x,1.txt", "", ""]])
            self.assertEqual(rows[2][2] == str(os.path.getsize(path)), installed != want)
            self.assertEqual(rows[2][1] != "sha256=old", installed != want)

    def test_token_in_the_query(self):
        real = PUBLIC + "?token=s3cr3t"
        self.check({PUBLIC: real}, ["s3cr3t"], real, PUBLIC)

    def test_token_in_the_path(self):
        real = "https://files.example.org/t/s3cr3t/x.whl"
        self.check({PUBLIC: real}, ["s3cr3t"], real, PUBLIC)

    def test_mirror(self):
        self.check({"https://files.example.org/": "http://mirror.lab/files/"}, [], "http://mirror.lab/files/x.whl", PUBLIC)

    def test_mirror_with_a_login_which_uv_leaves_out(self):
        self.check({"https://files.example.org/": "http://user:s3cr3t@mirror.lab/files/"}, ["s3cr3t"], "http://mirror.lab/files/x.whl", PUBLIC)

    def test_nothing_to_hide(self):
        self.check({}, [], PUBLIC, PUBLIC)

    def test_what_a_package_needs(self):
        for said, want in (
            ("x @ https://user:s3cr3t@host/x.whl", "x @ https://host/x.whl"),
            ("x @ git+https://s3cr3t@host/x.git@main ; extra == 'a'", "x @ git+https://host/x.git@main ; extra == 'a'"),
            ("x@https://host/x.whl?token=s3cr3t&v=1#sha256=ab", "x@https://host/x.whl?v=1#sha256=ab"),
            ("x @ https://host/x.whl?a=1&X-Amz-Signature=s3cr3t ; python_version > '3'", "x @ https://host/x.whl?a=1 ; python_version > '3'"),
            ("x @ git+ssh://git@host/x.git", "x @ git+ssh://git@host/x.git"),
            ("x>=1", "x>=1"),
        ):
            self.assertEqual(directurl.needed("Requires-Dist: " + said), "Requires-Dist: " + want)
        with tempfile.TemporaryDirectory() as prefix:
            folder = self.install(prefix, "x", PUBLIC)
            path = os.path.join(folder, "METADATA")
            with open(path, "w", encoding="utf-8") as file:
                file.write("Name: x\nRequires-Dist: y @ http://u:s3cr3t@host/y.whl\n\nSee http://u:p@host of the text.\n")
            directurl.publish(prefix)
            with open(path, encoding="utf-8") as file:
                self.assertEqual(file.read(), "Name: x\nRequires-Dist: y @ http://host/y.whl\n\nSee http://u:p@host of the text.\n")


if __name__ == "__main__":
    unittest.main()
