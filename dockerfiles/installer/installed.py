"""What is installed in a prefix: read from the packages' own metadata."""
import csv
import glob
import json
import os
import re

from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import canonicalize_name

SITE = re.compile(r"lib/python\d\.\d+t?/site-packages/(.+)")
MODULE_FILE = re.compile(r"([A-Za-z]\w*)(?:\.py|(?:\.[\w-]+)?\.so)")
# Folders that packages leave behind by mistake, and that nobody imports.
NOT_MODULES = {"test", "tests", "doc", "docs", "example", "examples", "benchmark", "benchmarks", "scripts", "setup", "conftest"}


class Package:
    """A conda package or a Python distribution with its files."""

    def __init__(self, name, version, kind, files, needs, hashes=None):
        self.name, self.version, self.kind = name, version, kind
        self.files = files  # relative to the prefix
        self.needs = needs  # names that it depends on, in the spelling of its kind
        self.hashes = hashes or {}

    @property
    def modules(self):
        """The modules to import it by: a folder or file of site-packages, or
        one below a folder that several packages share."""
        inside = sorted(match.group(1) for match in map(SITE.fullmatch, self.files) if match)
        packages = {os.path.dirname(path) for path in inside if re.fullmatch(r"__init__(?:\.py|(?:\.[\w-]+)?\.so)", os.path.basename(path))}
        found = []
        for path in inside:
            first, *rest = path.split("/")
            if not rest:
                match = MODULE_FILE.fullmatch(first)
                name = match and match.group(1)
            elif first in packages:
                name = first
            else:  # a namespace
                name = first + "." + rest[0] if len(rest) > 1 and first + "/" + rest[0] in packages else None
            if name and name not in found and name.split(".")[0] not in NOT_MODULES and re.fullmatch(r"[A-Za-z]\w*(\.[A-Za-z]\w*)?", name):
                found.append(name)
        return found


def conda_packages(prefix):
    found = {}
    for path in sorted(glob.glob(os.path.join(glob.escape(prefix), "conda-meta", "*.json"))):
        with open(path, encoding="utf-8") as file:
            record = json.load(file)
        needs = [spec.split()[0] for spec in record.get("depends") or [] if spec.strip()]
        found[record["name"]] = Package(record["name"], record.get("version", ""), "conda", set(record.get("files") or []), needs)
    return found


def distributions(prefix):
    """Every Python distribution by its canonical name; conda's too."""
    found = {}
    for site in site_packages(prefix):
        for info in sorted(glob.glob(os.path.join(glob.escape(site), "*.dist-info"))):
            package = distribution(prefix, site, info)
            if package:
                found[canonicalize_name(package.name)] = package
    return found


def site_packages(prefix):
    folders = glob.glob(os.path.join(glob.escape(prefix), "lib", "python*.*", "site-packages"))
    return [folder for folder in sorted(folders) if not os.path.islink(os.path.dirname(folder))]


def distribution(prefix, site, info):
    name, version, needs = "", "", []
    for line in read(os.path.join(info, "METADATA")).splitlines():
        key, _, value = line.partition(": ")
        if not line:
            break
        if key == "Name":
            name = value.strip()
        elif key == "Version":
            version = value.strip()
        elif key == "Requires-Dist":
            try:
                requirement = Requirement(value)
            except InvalidRequirement:
                continue
            if not requirement.marker or requirement.marker.evaluate({"extra": ""}):
                needs.append(canonicalize_name(requirement.name))
    if not name:
        return None
    files, hashes = set(), {}
    for row in csv.reader(read(os.path.join(info, "RECORD")).splitlines()):
        if row:
            path = os.path.relpath(os.path.normpath(os.path.join(site, row[0])), prefix)
            files.add(path)
            hashes[path] = row[1] if len(row) > 1 else ""
    kind = "conda" if read(os.path.join(info, "INSTALLER")).strip() == "conda" else "pip"
    return Package(name, version, kind, files, needs, hashes)


def read(path):
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read()
    except OSError:
        return ""


def overwritten(conda, pip):
    """Files that two packages hold: pip's over conda's, and pip's over pip's.

    One of them has lost its own; which of two pip packages came last nobody
    notes. The same file twice harms nobody.
    """
    owner = {}
    for package in conda.values():
        for path in package.files:
            owner[path] = package
    pairs = {}
    for package in sorted((p for p in pip.values() if p.kind == "pip"), key=lambda p: p.name):
        for path in package.files:
            if path.endswith((".pyc", "/RECORD", "/INSTALLER", "/REQUESTED")):
                continue
            other = owner.get(path)
            if other and other.name != package.name or other and other.kind == "conda":
                if not package.hashes.get(path) or other.hashes.get(path) != package.hashes[path]:
                    pairs.setdefault((other, package), []).append(path)
            owner[path] = package
    return [
        {"package": package.name, "version": package.version, "over": other.name, "over_version": other.version,
         "over_kind": other.kind, "files": len(paths), "example": min(paths)}
        for (other, package), paths in pairs.items()
    ]


def leaves(conda, pip):
    """What nothing else needs: the closest to what somebody asked for."""
    needed = {name for package in conda.values() for name in package.needs if name != package.name}
    needed_pip = {name for package in pip.values() for name in package.needs if name != canonicalize_name(package.name)}
    return (
        [name for name in conda if name not in needed],
        [name for name, package in pip.items() if package.kind == "pip" and name not in needed_pip],
    )
