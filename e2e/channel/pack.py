"""Packs a tree that holds info/index.json as a .conda file: pack.py TREE CHANNEL

Recipes write the prefix's files and info/index.json, and for noarch packages info/link.json; the rest of info/ is
made here. PREFIX is what the recipes put where the environment's own path belongs.
"""

import hashlib
import json
import os
import pathlib
import shutil
import stat
import sys

import conda_package_handling.api

PREFIX = "/opt/prefix"  # python.sh configures Python with it, wheel.py writes it into scripts


def entry(path: pathlib.Path, name: str) -> dict:
    """The line of info/paths.json for one file."""
    if path.is_symlink():
        # A link has no content of its own: its digest is its target's, as conda-build has it.
        target = path.resolve()
        content = target.read_bytes() if target.is_file() else b""
        return {"_path": name, "path_type": "softlink", "sha256": hashlib.sha256(content).hexdigest(), "size_in_bytes": len(content)}
    content = path.read_bytes()
    line = {
        "_path": name,
        "path_type": "hardlink",
        "sha256": hashlib.sha256(content).hexdigest(),
        "size_in_bytes": len(content),
    }
    # The installer puts the environment's path here. Text alone: what is compiled finds its own place.
    if PREFIX.encode() in content and b"\0" not in content:
        line |= {"file_mode": "text", "prefix_placeholder": PREFIX}
    return line


def main(tree: pathlib.Path, channel: pathlib.Path) -> None:
    info = tree / "info"
    index = json.loads((info / "index.json").read_text())
    paths = sorted(p for p in tree.rglob("*") if (p.is_symlink() or not p.is_dir()) and info not in p.parents)
    names = [p.relative_to(tree).as_posix() for p in paths]
    lines = [entry(p, n) for p, n in zip(paths, names)]
    (info / "paths.json").write_text(json.dumps({"paths": lines, "paths_version": 1}, indent=1))
    (info / "files").write_text("".join(f"{n}\n" for n in names))
    (info / "about.json").write_text(json.dumps({"license": index.get("license", "")}))
    for p in paths:  # whatever umask made them: a file that all may read, a program that all may run
        if not p.is_symlink():
            p.chmod(0o755 if p.stat().st_mode & stat.S_IXUSR else 0o644)

    folder = channel / index["subdir"]
    folder.mkdir(parents=True, exist_ok=True)
    name = f"{index['name']}-{index['version']}-{index['build']}.conda"
    # In a folder of its own, because a .conda file holds its own name.
    half = tree.with_name(tree.name + ".tmp") / name
    shutil.rmtree(half.parent, ignore_errors=True)
    half.parent.mkdir()
    # Level 3: the default, 19, takes eight minutes for pytorch.
    conda_package_handling.api.create(str(tree), None, str(half), compression_level=3, compression_threads=2)
    for old in folder.glob(f"{index['name']}-{index['version']}-*.conda"):
        old.unlink()
    os.replace(half, folder / name)
    half.parent.rmdir()


if __name__ == "__main__":
    main(pathlib.Path(sys.argv[1]).absolute(), pathlib.Path(sys.argv[2]).absolute())
