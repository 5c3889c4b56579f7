"""Packages of the project's own folders, wheels and archives."""
import base64
import glob
import hashlib
import os
import re
import shutil
import zipfile

import directurl
import layer
import uvtool
from common import Failure, python_of, sources

SENT = "/run/crun"  # the entries' "source" is below it
WORK = "/run/crun/src"


def place(entry):
    """Where the entry is: a file as it was sent, a folder as a copy.

    Building writes into a folder. The copy's name is its content's, so that
    uv's cache, which goes by name and a few files' times, never gives an older
    state of it.
    """
    source = f"{SENT}/{entry['source']}"
    if entry["kind"] == "file":
        return os.path.join(source, os.listdir(source)[0])
    name = os.path.basename(entry["path"].rstrip("/"))
    target = os.path.join(WORK, entry["digest"].rpartition(":")[2][:16], name if name.strip(".") else "project")
    if not os.path.isdir(target):
        shutil.copytree(source, target)
        for folder, _, files in os.walk(target):
            os.chmod(folder, 0o755)
            for file in files:
                path = os.path.join(folder, file)
                with open(path, "rb") as content:
                    is_script = content.read(2) == b"#!"
                os.chmod(path, 0o755 if is_script else 0o644)
    return target


def links(entries):
    """uv's arguments for folders of wheels."""
    return [argument for entry in entries if entry["kind"] == "links"
            for argument in ("--find-links", f"{SENT}/{entry['source']}")]


def requirement(entry, python, options):
    """The entry as a line that uv takes: with its name, which its own files tell."""
    path = place(entry)
    line = f"{name_of(entry, path, python, options)}{entry.get('extras', '')} @ file://{path}"
    return line + (f" ; {entry['marker']}" if entry.get("marker") else "")


def name_in(line):
    """The name in a line of requirement()."""
    return re.match(r"[A-Za-z0-9._-]+", line).group()


def name_of(entry, path, python, options):
    if entry.get("name"):
        return entry["name"]
    if path.endswith(".whl"):
        return os.path.basename(path).partition("-")[0]
    listed = os.path.join(WORK, "named.in")
    os.makedirs(WORK, exist_ok=True)
    with open(listed, "w", encoding="utf-8") as file:
        file.write(path + "\n")
    # Its name is its own, and the members of a workspace are not here.
    result = uvtool.run_uv("pip", "compile", "--python", python, "--quiet", "--no-header", "--no-deps", "--no-sources", "--format", "pylock.toml",
                         *options, listed, **unversioned(path))
    name = re.search(r'^name = "([^"]+)"', result.stdout, re.MULTILINE)
    if result.returncode or not name:
        raise uvtool.NoSolution(f"{entry['path']}: what the package is called and needs cannot be read:\n{shown(result.stderr, entry, path)}")
    return name.group(1)


def unversioned(path):
    """What lets a folder without its repository have a version all the same."""
    if os.path.isdir(path) and not os.path.exists(os.path.join(path, "PKG-INFO")):
        return {"more": {"SETUPTOOLS_SCM_PRETEND_VERSION": "0.0.0", "PBR_VERSION": "0.0.0", "POETRY_DYNAMIC_VERSIONING_BYPASS": "0.0.0"}}
    return {}


def shown(text, entry, path):
    """uv's message with the person's name for a place."""
    text = text.replace(f"file://{path}", entry["path"]).replace(path, entry["path"])
    return sources.public(text).strip()


def settle(found, entries):
    """found as crun.lock has it: what lies in the project by its path there."""
    by_place = {f"file://{place(entry)}": entry for entry in entries if entry["kind"] != "links"}
    by_hash = {}
    for entry in entries:
        if entry["kind"] == "links":
            source = f"{SENT}/{entry['source']}"
            for name in os.listdir(source):
                by_hash[digest(os.path.join(source, name))] = f"{entry['path']}/{name}"
    for item in found:
        entry = by_place.get(item.get("url", "").partition("#")[0])
        if entry:
            del item["url"]
            item["path"] = entry["path"]
            item.pop("hashes", None)
            if entry["kind"] == "editable":
                item["editable"] = True
            if entry["kind"] == "file":
                item["hashes"] = [digest(place(entry))]
                if entry.get("hashes") and item["hashes"][0] not in entry["hashes"]:
                    raise uvtool.NoSolution(f"{entry['path']}: the file has the hash {item['hashes'][0]}, which is none of those that are asked for")
        elif "file://" + SENT in item.get("index", "") or SENT + "/local/" in item.get("url", "") + item.get("index", ""):
            value = next((value for value in item.get("hashes", []) if value in by_hash), None)
            if value is None:
                raise Failure(f"{item['name']} is chosen from a folder of wheels, but none of its files is the one")
            item.pop("index", None)
            item.pop("url", None)
            item.update(path=by_hash[value], hashes=[value])


def digest(path):
    with open(path, "rb") as file:
        return "sha256:" + hashlib.file_digest(file, "sha256").hexdigest() if hasattr(hashlib, "file_digest") \
            else "sha256:" + hashlib.sha256(file.read()).hexdigest()


def install_list(content):
    python = python_of(content["prefix"])
    options = uvtool.where(content["indexes"], content["options"])
    for entry in content["packages"]:
        wheel = build(entry, python, options)
        if wheel:
            install(entry, wheel, python)
    directurl.publish(content["prefix"])
    layer.finish(content["prefix"])


def build(entry, python, options):
    """A wheel of the entry, in a folder of its own; None for a package that runs import as it is."""
    path = place(entry)
    if entry["kind"] == "file" and entry.get("hashes") and digest(path) not in entry["hashes"]:
        raise Failure(f"{entry['path']} is another file than crun.lock names: its hash is {digest(path)}")
    if path.endswith(".whl"):
        return path
    out = os.path.join(WORK, "wheels", entry["digest"].rpartition(":")[2][:16] + entry["kind"])
    result = uvtool.run_uv("build", "--wheel", "--python", python, "--out-dir", out, *options, path, **unversioned(path))
    wheels = glob.glob(out + "/*.whl")
    if result.returncode or not wheels:
        print(shown(result.stderr, entry, path), flush=True)
        if entry["kind"] == "editable":
            print(f"{entry['path']}: no wheel can be built of it, so the image does not know what it is called; runs import it all the same", flush=True)
            return None
        raise Failure(f"building {entry['path']} failed; its message is above")
    if entry["kind"] == "editable":
        only_described(wheels[0])
    return wheels[0]


def only_described(path):
    """Takes the code out of a wheel, which runs have from the project."""
    with zipfile.ZipFile(path) as archive:
        kept = {name: archive.read(name) for name in archive.namelist()
                if re.match(r"[^/]+\.dist-info/", name) and not name.endswith("/RECORD")}
    record = next(iter(kept)).partition("/")[0] + "/RECORD"
    lines = [f"{name},sha256={base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b'=').decode()},{len(data)}\n"
             for name, data in kept.items()]
    with zipfile.ZipFile(path, "w") as archive:
        for name, data in kept.items():
            archive.writestr(name, data)
        archive.writestr(record, "".join(lines) + f"{record},,\n")


def install(entry, wheel, python):
    """Installs a wheel as one of an index: nothing in the image says where it lay."""
    name, version = os.path.basename(wheel).split("-")[:2]
    result = uvtool.run_uv("pip", "install", "--python", python, "--no-deps", "--no-index", "--find-links", os.path.dirname(wheel),
                         "--reinstall", f"{name}=={version}")
    print(sources.public(result.stderr).strip(), flush=True)
    if result.returncode:
        raise Failure(f"installing {entry['path']} failed; uv's message is above")
