"""What keeps pip requirements from a solution; conflict.py is the general part."""
import re

from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import canonicalize_name
from packaging.version import InvalidVersion, Version

import conflict


def find(lines, always, text, attempt):
    """What a failed choice of lines, with those that always come along, is about, as build/conflict.go reads it.

    attempt(lines, options) gives uv's entries; False where there is no solution, None where it fails otherwise.
    """
    clock = conflict.Clock()
    lines = [line.split(" --hash=")[0] for line in lines]
    by_name = [line for line in lines if requirement(line)]
    missing = [
        {"spec": line, "near": near(requirement(line), attempt)}
        for line in dict.fromkeys(by_name) if clock.left() and attempt([line], "--no-deps") is False]
    if missing:
        return {"missing": missing}

    def fits(some):
        entries = attempt([*some, *always]) if clock.left() else None
        return entries and {canonicalize_name(entry["name"]): entry.get("version", "") for entry in entries}

    core = conflict.core(lines, text, fits, clock)
    found = conflict.changes(lines, [line for line in core if line in by_name], fits, clock)
    return {"core": core, **found}


def requirement(line):
    """line as a package by its name, or None."""
    try:
        found = Requirement(line)
    except InvalidRequirement:
        return None
    return None if found.url else found


def near(asked, attempt):
    """The versions next to the one that is asked for, below and above."""
    version = next((text.version.rstrip(".*") for text in asked.specifier), "")
    try:
        Version(version)
    except InvalidVersion:
        return []
    found = []
    for line, options in (f"{asked.name}<{version}", []), (f"{asked.name}>{version}", ["--resolution", "lowest-direct"]):
        entries = attempt([line], "--no-deps", *options)
        found += [entry["version"] for entry in entries or [] if re.match(r"[0-9]", entry.get("version", ""))]
    return found
