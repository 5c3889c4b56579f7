"""uv: what all steps that choose, build or install pip packages ask of it."""
import json
import os
import re
import signal
import subprocess
import tempfile

from packaging.utils import canonicalize_name

import directurl
import layer
import waiting
from common import Failure, TOOLS_UV, python_of, sources, to_environment
from progress import LARGE, Bar

CACHE = "/run/crun/cache/uv"
# Options whose addresses may hold a password, with uv's and pip's variables for
# them and what stands between several.
UV_VARIABLES = {"--default-index": ("UV_DEFAULT_INDEX", " "), "--index": ("UV_INDEX", " "), "--find-links": ("UV_FIND_LINKS", ",")}


class NoSolution(Exception):
    """The requirements cannot be fulfilled; the text says why, more what else is known of it (pipconflict.find)."""

    def __init__(self, text, **more):
        super().__init__(text)
        self.more = more


def run_uv(*arguments, said=None, more=None):
    """Runs uv; said, where there is one, gets each line that it prints when it does."""
    arguments, variables = to_environment(arguments, UV_VARIABLES)
    environment = {
        **os.environ, **(more or {}), **variables,
        "UV_CACHE_DIR": CACHE, "UV_LINK_MODE": "copy", "UV_PYTHON_DOWNLOADS": "never",
        **({} if said else {"UV_NO_PROGRESS": "1"}), "UV_NO_CONFIG": "1", "NO_COLOR": "1", "UV_HTTP_TIMEOUT": str(sources.patience),  # between two bytes
        # A busy mirror or proxy takes longer to answer than uv's 10 s.
        "UV_HTTP_CONNECT_TIMEOUT": str(sources.patience),
    }
    indexes = [*variables.get("UV_DEFAULT_INDEX", "").split(), *variables.get("UV_INDEX", "").split()]
    result = waiting.run([TOOLS_UV, *arguments], environment, [[f"{url.rstrip('/')}/pip/"] for url in indexes], said)
    if result.returncode == -signal.SIGKILL:
        raise Failure("uv was killed, most likely because the engine's host ran out of memory: free memory, or build on a machine that has more")
    return result


def distributions(prefix):
    """Name to version of each Python distribution in prefix."""
    code = (
        "import importlib.metadata as m, json\n"
        "print(json.dumps({d.metadata['Name']: d.version for d in m.distributions() if d.metadata['Name']}))")
    result = subprocess.run([python_of(prefix), "-E", "-s", "-c", code], stdout=subprocess.PIPE, text=True, check=False)
    if result.returncode:
        raise Failure("the environment's python does not start in the base image; its message is above")
    return {canonicalize_name(name): version for name, version in json.loads(result.stdout).items()}


def install_list(content):
    prefix = content["prefix"]
    python = python_of(prefix)
    hashed = [entry for entry in content["packages"] if entry.get("hashes")]
    other = [entry for entry in content["packages"] if not entry.get("hashes")]
    for entries, options in ((hashed, ["--require-hashes"]), (other, [])):
        if entries:
            install(entries, python, [*options, *where(content["indexes"], content["options"])])
    directurl.publish(prefix)
    layer.finish(prefix)


def addresses(indexes):
    """Where to ask, first the default: for the environment's indexes, then the machine's own."""
    return [*(sources.index(url) for url in indexes), *sources.extra_indexes]


def where(indexes, options):
    """uv's arguments for the indexes, the first one being the default."""
    if "--no-index" in options:
        return [sources.private(option) for option in options]
    first, *more = addresses(indexes)
    extra = [argument for url in more for argument in ("--index", url)]
    links = [argument for url in sources.find_links for argument in ("--find-links", url)]
    return ["--default-index", first, *extra, *links, *(sources.private(option) for option in options)]


class Reporter:
    """Shows what uv fetches and installs, from the lines that it prints."""

    units = {"B": 1, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30}

    def __init__(self):
        self.sizes = {}
        self.fetch = Bar("fetch")

    def said(self, line):
        found = re.match(r"Downloading (\S+) \(([0-9.]+) ?([KMG]?i?B)\)", line)
        if found:
            name, number, unit = found.groups()
            size = self.sizes[name] = int(float(number) * self.units.get(unit, 1))
            self.fetch.total += size
            if self.fetch.terminal:
                self.fetch.update(name)
            elif size >= LARGE:
                print(f"fetching {name} ({size >> 20} MiB)", flush=True)
            return
        found = re.match(r"Downloaded (\S+)", line)
        if found:
            self.fetch.done += self.sizes.get(found.group(1), 0)
            self.fetch.update(found.group(1))
            return
        found = re.match(r"(Prepared|Installed) \d+ packages? in (.+)", line)
        if found:
            part = {"Prepared": "download", "Installed": "link"}[found.group(1)]
            self.fetch.say(f"{line}: {part} {seconds(found.group(2)):.1f} s")
        elif line and not line.startswith("Using "):
            self.fetch.say(sources.public(line))

    def close(self):
        self.fetch.close()


def seconds(text):
    """uv's words for a time (1m 02s, 3.2s, 340ms) in seconds."""
    units = {"m": 60, "s": 1, "ms": 0.001, "h": 3600}
    return sum(float(number) * units[unit] for number, unit in re.findall(r"([0-9.]+)(ms|m|s|h)", text))


def install(entries, python, options):
    with tempfile.NamedTemporaryFile("w", suffix=".txt", dir="/run/crun", encoding="utf-8") as file:
        for entry in entries:
            line = entry["name"]
            line += f" @ {entry['url']}" if entry.get("url") else f"=={entry['version']}"
            if entry.get("markers"):
                line += f" ; {entry['markers']}"
            line += "".join(f" --hash={value}" for value in entry.get("hashes", []))
            file.write(sources.private(line) + "\n")
        file.flush()
        reporter = Reporter()
        try:
            result = run_uv(
                "pip", "install", "--python", python, "--no-deps", "--index-strategy", "unsafe-best-match",
                *options, "-r", file.name, said=reporter.said)
        finally:
            reporter.close()
    if result.returncode:
        print(sources.public(result.stderr).strip(), flush=True)
        raise Failure("installing the pip packages failed; uv's message is above")


def conflicts(python):
    """What distributions say against one another, a line each."""
    result = run_uv("pip", "check", "--python", python)
    if result.returncode == 0:
        return []
    return [line for line in result.stderr.splitlines() if line.startswith("The package")]
