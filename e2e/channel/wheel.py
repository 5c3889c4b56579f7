"""Makes a conda tree of a wheel: wheel.py WHEEL NAME TREE

NAME is the conda package's. A pure wheel becomes a noarch python package, any other one for Python 3.9 on linux-64.
Dependencies are what the wheel's METADATA says.
"""

import configparser
import datetime
import email.parser
import json
import pathlib
import re
import sys
import zipfile

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from pack import PREFIX

PYTHON = {"python_version": "3.9", "python_full_version": "3.9.2", "sys_platform": "linux", "platform_system": "Linux", "extra": ""}
CONDA_NAMES = {"typing-extensions": "typing_extensions"}
MORE = {"pip": ["setuptools", "wheel"]}  # as conda-forge's pip has, beside what METADATA says

SCRIPT = """#!{prefix}/bin/python
import sys
from {module} import {top}
if __name__ == "__main__":
    sys.exit({call}())
"""


def depends(metadata, name: str, pure: bool) -> list[str]:
    python = re.sub(r"\s", "", metadata["Requires-Python"] or "")
    found = [f"python {python}" if python else "python"] if pure else ["python >=3.9,<3.10.0a0"]
    for line in metadata.get_all("Requires-Dist") or []:
        need = Requirement(line)
        if need.marker and not need.marker.evaluate(PYTHON):
            continue
        other = canonicalize_name(need.name)
        found.append(f"{CONDA_NAMES.get(other, other)} {need.specifier}".strip())
    return found + MORE.get(name, [])


def main(wheel: pathlib.Path, name: str, tree: pathlib.Path) -> None:
    pure = wheel.stem.endswith("-none-any")
    site = tree / ("site-packages" if pure else "lib/python3.9/site-packages")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(site)
        newest = max(datetime.datetime(*member.date_time, tzinfo=datetime.timezone.utc) for member in archive.infolist())
    if any(site.glob("*.data")):
        sys.exit(f"{wheel.name} has a .data folder, which isn't provided for here")
    (dist,) = site.glob("*.dist-info")
    metadata = email.parser.Parser().parsestr((dist / "METADATA").read_text())
    (dist / "INSTALLER").write_text("conda\n")
    with (dist / "RECORD").open("a") as record:
        record.write(f"{dist.name}/INSTALLER,,\n")

    scripts = configparser.ConfigParser(delimiters=["="])
    scripts.optionxform = str
    scripts.read(dist / "entry_points.txt")
    scripts = dict(scripts["console_scripts"]) if "console_scripts" in scripts else {}

    info = tree / "info"
    info.mkdir()
    index = {
        "name": name,
        "version": metadata["Version"],
        "build": "pyhcrun_0" if pure else "py39_0",
        "build_number": 0,
        "timestamp": int(newest.timestamp() * 1000),
        "license": metadata["License-Expression"] or "",
        "depends": depends(metadata, name, pure),
    }
    if pure:
        index |= {"subdir": "noarch", "noarch": "python", "arch": None, "platform": None}
        # The installer makes the commands: without this there is no bin/pip.
        noarch = {"type": "python", "entry_points": [f"{k} = {v}" for k, v in scripts.items()]}
        (info / "link.json").write_text(json.dumps({"noarch": noarch, "package_metadata_version": 1}))
    else:
        index |= {"subdir": "linux-64", "arch": "x86_64", "platform": "linux"}
        for command, target in scripts.items():
            module, call = target.split(":")
            file = tree / "bin" / command
            file.parent.mkdir(exist_ok=True)
            file.write_text(SCRIPT.format(prefix=PREFIX, module=module, top=call.split(".")[0], call=call))
            file.chmod(0o755)
    (info / "index.json").write_text(json.dumps(index))


if __name__ == "__main__":
    main(pathlib.Path(sys.argv[1]), sys.argv[2], pathlib.Path(sys.argv[3]))
