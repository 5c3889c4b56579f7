"""Pip packages: uv chooses them around what conda brings."""
import json
import os
import re
import subprocess
import tempfile
import zipfile

from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import canonicalize_name
from packaging.version import InvalidVersion, Version

import compiled
import local
import pipconflict
from common import EXTRA_INDEX, python_of, refusal, sources, to_environment
from uvtool import CACHE, NoSolution, addresses, distributions, run_uv, where

# pip's variables for options whose addresses may hold a password (uvtool.UV_VARIABLES).
PIP_VARIABLES = {"--index-url": ("PIP_INDEX_URL", " "), "--extra-index-url": ("PIP_EXTRA_INDEX_URL", " "), "--find-links": ("PIP_FIND_LINKS", " ")}


class Unreachable(Exception):
    """An index, or a file of one, cannot be fetched; the text says why."""


def compile_requirements(request, prefix, notes):
    """The exact pip packages, as crun.lock has them."""
    places = request.get("local") or []
    options = [*where(request["indexes"], request["pip_options"]), *local.links(places)]
    own = [local.requirement(entry, python_of(prefix), options) for entry in places if entry["kind"] != "links"]
    lines = request["pip"] + own
    provided = distributions(prefix)
    dropped = replaced(lines, provided, notes)
    # For who needs them.
    held = replaced([*request.get("constraints", []), *request.get("overrides", [])], provided, []) - dropped
    dropped |= held
    kept = {name: version for name, version in provided.items() if name not in dropped}
    with tempfile.TemporaryDirectory(dir="/run/crun") as folder:
        requirements = os.path.join(folder, "requirements.in")
        output = os.path.join(folder, "requirements.txt")
        # Once, for the more questions where there is no solution.
        around = [*options, *request.get("pip_solve", []),
                  *stand_ins(kept, folder), *listed("--constraints", request.get("constraints"), folder), *listed("--overrides", request.get("overrides"), folder),
                  # A folder that names another one by its place: each lies elsewhere here.
                  *(word for line in own for word in ("--no-sources-package", local.name_in(line)))]

        def run_compile(some, *more):
            with open(requirements, "w", encoding="utf-8") as file:
                file.writelines(sources.private(line) + "\n" for line in some)
            return run_uv(
                "pip", "compile", "--python", python_of(prefix), "--quiet", "--no-header", "--no-annotate", "--output-file", output,
                "--emit-index-annotation", "--index-strategy", "unsafe-best-match", *more, *around, requirements)

        def attempt(some, *more):
            """Entries, without hashes; False where there is no solution, None where uv fails otherwise."""
            if os.path.exists(output):
                os.unlink(output)
            result = run_compile(some, *more)
            if result.returncode:
                return False if "No solution found" in result.stderr else None
            with open(output, encoding="utf-8") as file:
                return parse(file.read())

        # What the output has from before is kept where it fits.
        with open(output, "w", encoding="utf-8") as file:
            file.writelines(f"{entry['name']}=={entry['version']}\n" for entry in request["locked"] if entry.get("version") and entry.get("index"))
        def choose():
            return compiled.choose(request, prefix, compile_requirements, lambda more: run_compile(lines, "--generate-hashes", *more))

        result = choose()
        if result.returncode and own and "Distribution not found at" in result.stderr:
            # One says in its metadata where another lies (Poetry's path). An
            # override has none of the extras that others ask for, so not at once.
            around += listed("--overrides", own, folder)
            result = choose()
        if result.returncode == 0:
            with open(output, encoding="utf-8") as file:
                entries = [entry for entry in parse(file.read()) if not entry.get("url", "").startswith("file://" + folder)]
            local.settle(entries, places)
            check_hashes(request["pip"], entries)
            compiled.mark(request, prefix, entries)
            for entry in entries:
                if entry.get("index") == EXTRA_INDEX:
                    # The lock of one machine is every machine's; the hash says which file it is.
                    entry["index"] = sources.index_name(request["indexes"][0])
            notes.extend(
                f"pip replaces conda's {entry['name']} {provided[entry['name']]}, because a constraint of the environment rules it out"
                for entry in entries if entry["name"] in held)
            return entries
        text = sources.public(result.stderr.strip()).replace(requirements, "the pip section")
        for entry in places:
            if entry["kind"] != "links":
                text = local.shown(text, entry, local.place(entry))
        if "No solution found" in text:
            words = set(re.findall(r"[a-z0-9][a-z0-9.-]*", text.lower()))
            text += "".join(f"\nconda brings {name} {version}" for name, version in sorted(kept.items()) if name in words)
            refused = refusals(request["indexes"], text)
            # With a login that is wrong every package seems to be missing.
            raise NoSolution(text + refused, **({} if refused else pipconflict.find(request["pip"], lines[len(request["pip"]):], text, attempt)))
        if "Failed to fetch" in text:
            raise Unreachable(text)
        # pip has no word for an override.
        found = None if request.get("overrides") else ask_pip(prefix, requirements, request)
    if found is None:
        raise NoSolution(text)
    local.settle(found, places)
    notes.append("uv does not take these requirements, so pip chose the packages: " + text.partition("\n")[0])
    return found


def listed(option, lines, folder):
    """uv's arguments for a file of lines."""
    if not lines:
        return []
    with tempfile.NamedTemporaryFile("w", dir=folder, suffix=".txt", delete=False, encoding="utf-8") as file:
        file.writelines(sources.private(line) + "\n" for line in lines)
    return [option, file.name]


def check_hashes(lines, entries):
    """Keeps of each package the hashes that the environment's own lines allow.

    uv looks at them when it installs alone, and then at all of a version's.
    """
    allowed = {}
    for line in lines:
        head, *hashes = re.split(r"\s+--hash=", line)
        if hashes:
            name = re.match(r"[A-Za-z0-9._-]+", head).group() if "://" not in head or " @ " in head else head.strip()
            allowed.setdefault(canonicalize_name(name) if "://" not in name else name, set()).update(hashes)
    for entry in entries:
        asked = allowed.get(canonicalize_name(entry["name"]), allowed.get(entry.get("url")))
        if asked is None:
            continue
        kept = [value for value in entry.get("hashes", []) if value in asked]
        if not kept:
            raise NoSolution(
                f"{entry['name']} {entry.get('version', '')}: none of its files has a hash that the environment file names; "
                "the file on the index is another one than was meant: look why before you change the hash")
        entry["hashes"] = kept


def refusals(indexes, text):
    """A line for each index that lets nobody in: for uv such a one has no packages."""
    missing = re.search(r"([a-z0-9][a-z0-9._-]*) was not found in", text)
    if not missing:
        return ""
    said = ""
    names = {**{sources.index(url): sources.index_name(url) for url in indexes}, **{url: EXTRA_INDEX for url in sources.extra_indexes}}
    for url, name in names.items():
        answer = refusal(f"{url.rstrip('/')}/{missing.group(1)}/")
        if answer.startswith(("401", "403", "407")):
            said += f"\n{name} answers {answer}: its login (.netrc, pip.conf, config.yaml or the address) is missing or wrong"
    return said


def stand_ins(provided, folder):
    """uv's arguments that make it take what conda brings as it is.

    Each is constrained to an empty wheel of its name and version. So neither
    PyPI's torch comes over conda's, nor a package that needs another numpy;
    and what conda's packages say of one another in Python's terms, which is
    often wrong, is not asked.
    """
    constraints, excludes = os.path.join(folder, "constraints.txt"), os.path.join(folder, "excludes.txt")
    with open(constraints, "w", encoding="utf-8") as constraint, open(excludes, "w", encoding="utf-8") as exclude:
        for name, version in provided.items():
            try:
                version = str(Version(version))
            except InvalidVersion:
                exclude.write(name + "\n")
                continue
            stem = f"{name.replace('-', '_')}-{version}"
            wheel = os.path.join(folder, stem + "-py3-none-any.whl")
            with zipfile.ZipFile(wheel, "w") as archive:
                info = stem + ".dist-info/"
                archive.writestr(info + "METADATA", f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
                archive.writestr(info + "WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
                archive.writestr(info + "RECORD", "")
            constraint.write(f"{name} @ file://{wheel}\n")
    return ["--constraints", constraints, "--excludes", excludes]


def replaced(lines, provided, notes):
    """Names that conda provides in another version than the file asks pip for."""
    names = set()
    for line in lines:
        try:
            requirement = Requirement(line.split(" --hash=")[0])
            name = canonicalize_name(requirement.name)
            if name not in provided or requirement.marker and not requirement.marker.evaluate():
                continue
            if requirement.url or not requirement.specifier.contains(Version(provided[name]), prereleases=True):
                names.add(name)
                notes.append(f"pip replaces conda's {name} {provided[name]}, because the file asks pip for {line}")
        except (InvalidRequirement, InvalidVersion):
            continue
    return names


def parse(text):
    """The entries of a requirements file that uv wrote."""
    entries = []
    for line in sources.public(text.replace("\\\n", " ")).splitlines():
        index = re.fullmatch(r"\s*# from (\S+)", line)
        if index and entries:
            entries[-1]["index"] = index.group(1)
            continue
        if not line.strip() or line.lstrip().startswith(("#", "-")):
            continue
        head, *hashes = re.split(r"\s+--hash=", line.strip())
        head, _, marker = head.partition(" ; ")
        entry = {"hashes": hashes} if hashes else {}
        if marker:
            entry["markers"] = marker.strip()
        if " @ " in head:
            entry["name"], entry["url"] = head.split(" @ ", 1)
        else:
            entry["name"], entry["version"] = head.split("==", 1)
        entry["name"] = entry["name"].strip()
        entries.append(entry)
    return entries


def ask_pip(prefix, requirements, request):
    """What pip would install, or None where it has no answer either."""
    first, *more = addresses(request["indexes"])
    arguments = [] if "--no-index" in request["pip_options"] else [
        "--index-url", first, *(argument for url in more for argument in ("--extra-index-url", url)),
        *(argument for url in sources.find_links for argument in ("--find-links", url))]
    # The options are uv's; pip has its own word for one of them.
    options = " ".join(request["pip_options"]).replace("--prerelease allow", "--pre").split()
    with tempfile.NamedTemporaryFile(suffix=".json", dir="/run/crun") as report, \
            tempfile.TemporaryDirectory(dir=CACHE) as folder:  # /run is memory
        arguments, variables = to_environment(
            [*arguments, *(sources.private(option) for option in options)], PIP_VARIABLES)
        result = subprocess.run(
            [python_of(prefix), "-E", "-s", "-m", "pip", "install", "--dry-run", "--quiet", "--no-input",
             "--disable-pip-version-check", "--no-cache-dir", *arguments, *request.get("pip_solve", []),
             *local.links(request.get("local") or []),
             "--report", report.name, *listed("--constraints", request.get("constraints"), folder), "-r", requirements],
            env={**os.environ, **variables, "TMPDIR": folder}, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)
        if result.returncode:
            return None
        content = json.load(report)
    entries = []
    for item in content["install"]:
        entry = {"name": canonicalize_name(item["metadata"]["name"]), "version": item["metadata"]["version"]}
        hashes = item["download_info"].get("archive_info", {}).get("hashes", {})
        if "sha256" in hashes:
            entry["hashes"] = ["sha256:" + hashes["sha256"]]
        if item.get("is_direct"):
            entry["url"] = sources.public(item["download_info"]["url"])
            vcs = item["download_info"].get("vcs_info")
            if vcs:
                entry["url"] = f"{vcs['vcs']}+{entry['url']}@{vcs['commit_id']}"
        else:
            entry["index"] = sources.index_name(request["indexes"][0])
        entries.append(entry)
    check_hashes(request["pip"], entries)
    return entries
