"""What a server says that does not give a package file."""
import os
import sys
import tempfile
import types
import unittest

# The toolbox brings rattler, and none of it is asked here.
for module in ("rattler", "rattler.exceptions"):
    sys.modules[module] = types.ModuleType(module)
for name in ("FetchRepoDataError", "GatewayError"):
    setattr(sys.modules["rattler.exceptions"], name, type(name, (Exception,), {}))
sys.modules["conda"] = types.ModuleType("conda")
sys.modules["conda"].LEAST = 1 << 10

import condafile
import waiting
from common import sources
from test_waiting import serve


def says(line):
    """Answers with that status."""
    def behave(connection):
        connection.recv(4096)
        connection.sendall(f"HTTP/1.1 {line}\r\nContent-Length: 2\r\n\r\nno".encode())
    return behave


class Refused(unittest.TestCase):
    def fetch(self, behave):
        address = serve(self, behave)
        with tempfile.TemporaryDirectory() as folder:
            return condafile.fetch(address, {"name": "lab", "url": "https://conda.example.org/lab-1-0.conda"}, os.path.join(folder, "lab"))

    def test_another_file_is_to_be_named(self):
        for line in "404 Not Found", "410 Gone", "403 Forbidden", "401 Unauthorized":
            with self.subTest(line), self.assertRaises(condafile.Fault) as caught:
                self.fetch(says(line))
            self.assertEqual(f"the server says {line}", str(caught.exception))

    def test_the_file_may_be_there_later(self):
        for line in "408 Request Timeout", "429 Too Many Requests", "500 Internal Server Error", "503 Service Unavailable":
            with self.subTest(line), self.assertRaises(waiting.Silent) as caught:
                self.fetch(says(line))
            self.assertEqual(f"https://conda.example.org/lab-1-0.conda: the server says {line}", str(caught.exception))

    def test_no_answer(self):
        before, sources.patience = sources.patience, 1
        self.addCleanup(setattr, sources, "patience", before)
        with self.assertRaises(waiting.Silent) as caught:
            self.fetch(lambda connection: None)
        self.assertIn("https://conda.example.org/lab-1-0.conda: ", str(caught.exception))


if __name__ == "__main__":
    unittest.main()
