"""Looks into every package of a channel and says, a line each, what is wrong: check.py CHANNEL"""

import collections
import csv
import hashlib
import json
import pathlib
import re
import sys

from conda_package_streaming.package_streaming import stream_conda_component

SITE = "lib/python3.9/site-packages/"


class Package:
    """What is in one .conda file: its info files, the paths it installs, and the dist-info of its Python package."""

    def __init__(self, file: pathlib.Path) -> None:
        self.file = file.name
        self.info = self.read(file, "info", lambda name: name.startswith("info/"))
        self.index = json.loads(self.info["info/index.json"])
        self.name = self.index["name"]
        link = json.loads(self.info.get("info/link.json", b"{}")).get("noarch", {})
        self.commands = [line.split("=")[0].strip() for line in link.get("entry_points", [])]
        listed = [line["_path"] for line in json.loads(self.info["info/paths.json"])["paths"]]
        self.paths = [self.place(path) for path in listed] + [f"bin/{command}" for command in self.commands]
        dist = self.read(file, "pkg", lambda name: re.search(r"site-packages/[^/]+\.dist-info/[^/]+$", name))
        self.dist = {self.place(name): data for name, data in dist.items()}

    def place(self, path: str) -> str:
        """Where the installer puts a path: a noarch package doesn't know Python's version."""
        return re.sub("^site-packages/", SITE, path) if self.index.get("noarch") == "python" else path

    @staticmethod
    def read(file: pathlib.Path, component: str, wanted) -> dict[str, bytes]:
        with file.open("rb") as opened:
            members = stream_conda_component(str(file), opened, component=component)
            return {member.name: tar.extractfile(member).read() for tar, member in members if member.isfile() and wanted(member.name)}


def faults(channel: pathlib.Path):
    files = sorted(channel.glob("*/*.conda"))
    packages = [Package(file) for file in files]
    by_name = collections.defaultdict(list)
    for package in packages:
        by_name[package.name].append(package)
    for name in "python pytorch numpy pip setuptools wheel pyyaml tqdm typing_extensions".split():
        if name not in by_name:
            yield f"there is no {name}"

    # pip and uv know a Python package by its dist-info; without one they fetch PyPI's torch over this one.
    for package in packages:
        if package.name == "python":
            continue
        read = {path.rsplit("/", 1)[1]: data for path, data in package.dist.items()}
        for missing in sorted({"METADATA", "RECORD", "INSTALLER"} - set(read)):
            yield f"{package.file}: its dist-info has no {missing}"
        if read.get("INSTALLER", b"conda").strip() != b"conda":
            yield f"{package.file}: its INSTALLER is {read['INSTALLER']!r}, not conda"
        folder = package.dist and next(iter(package.dist)).removeprefix(SITE).split("/")[0]
        if folder and not folder.endswith(f"-{package.index['version']}.dist-info"):
            yield f"{package.file}: its dist-info is {folder}"
        here = set(package.paths)
        for row in csv.reader(read.get("RECORD", b"").decode().splitlines()):
            if not row[0].startswith("..") and SITE + row[0] not in here:
                yield f"{package.file}: RECORD names {row[0]}, which it hasn't"

    # One pip, and a command for it.
    pips = [package.file for package in packages if SITE + "pip/__init__.py" in package.paths]
    if len(pips) != 1:
        yield f"pip is in {len(pips)} packages: {' '.join(pips)}"
    for package in by_name["pip"]:
        if not {"pip", "pip3"} <= set(package.commands):
            yield f"{package.file}: info/link.json makes no bin/pip and bin/pip3"

    # No path in two packages: one install would overwrite the other's file. Two versions of one package never meet.
    owners = collections.defaultdict(set)
    for package in packages:
        for path in package.paths:
            owners[path].add(package.name)
    for path, names in sorted(owners.items()):
        if len(names) > 1:
            yield f"{path} is in {' and '.join(sorted(names))}"

    # What a package depends on is here, and the index holds every file as it is.
    for package in packages:
        for need in package.index["depends"]:
            if need.split()[0] not in by_name:
                yield f"{package.file}: depends on {need}, which isn't in the channel"
    for subdir in ("linux-64", "noarch"):
        indexed = json.loads((channel / subdir / "repodata.json").read_text())["packages.conda"]
        there = {f.name: hashlib.sha256(f.read_bytes()).hexdigest() for f in files if f.parent.name == subdir}
        if there != {name: record["sha256"] for name, record in indexed.items()}:
            yield f"{subdir}/repodata.json isn't that of the packages beside it"


found = list(faults(pathlib.Path(sys.argv[1])))
for fault in found:
    print(f"check.py: {fault}", file=sys.stderr)
sys.exit(1 if found else 0)
