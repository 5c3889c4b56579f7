"""Debian packages: apt, from the archives that the base image names."""
import contextlib
import difflib
import fcntl
import glob
import os
import re
import shutil
import subprocess

import layer
from common import Failure, sources

CACHE = "/run/crun/cache/apt"
WORK = "/run/crun/apt"
# A secret of the build: a sed script.
MIRRORS = "/run/crun/apt.sed"

# Where a step that finds a locked version gone says so: build/apt.go looks for it.
GONE = "the package archive no longer has "


class Refused(Exception):
    """The packages cannot be had; the text says why."""
    kind = "apt"


class Unreachable(Refused):
    """The archives do not answer."""
    kind = "archive"


@contextlib.contextmanager
def archives():
    """Gives a function that runs apt-get with up-to-date lists.

    Lists and archives lie in the build's cache, so that none is in a layer. Of
    two steps that share it, one waits.
    """
    release = os_release()
    lists = f"{CACHE}/lists/{release.get('ID', 'debian')}-{release.get('VERSION_CODENAME', 'none')}"
    for folder in (f"{lists}/partial", f"{CACHE}/archives/partial", f"{WORK}/log", f"{WORK}/sources.list.d"):
        os.makedirs(folder, exist_ok=True)
    options = [
        f"Dir::State::lists={lists}", f"Dir::Cache::archives={CACHE}/archives", f"Dir::Cache::pkgcache={WORK}/pkgcache.bin",
        f"Dir::Cache::srcpkgcache={WORK}/srcpkgcache.bin", f"Dir::Log={WORK}/log", "APT::Sandbox::User=root",
        "APT::Keep-Downloaded-Packages=true", "APT::Update::Error-Mode=any", "Acquire::Retries=3", "Dpkg::Use-Pty=0",
        "Dpkg::Options::=--force-confold", f"Dpkg::Options::=--log={WORK}/log/dpkg.log", "APT::Install-Recommends=false",
    ]
    if os.path.exists(sources.certificates) and os.path.getsize(sources.certificates):
        options.append(f"Acquire::https::CaInfo={sources.certificates}")
    options += mirrored()
    command = [argument for option in options for argument in ("-o", option)]
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive", "LC_ALL": "C.UTF-8", "APT_LISTCHANGES_FRONTEND": "none"}

    def run(*arguments, program="apt-get"):
        return subprocess.run(
            [program, *(["-q"] if program == "apt-get" else []), *command, *arguments], env=environment, stdin=subprocess.DEVNULL, text=True, errors="replace",
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)

    with open(f"{CACHE}/lock", "w", encoding="utf-8") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        result = run("update")
        if result.returncode:
            raise Unreachable("the lists of the base image's package archives cannot be fetched:\n" + complaints(result.stdout))
        yield run


def os_release():
    content = {}
    with contextlib.suppress(OSError), open("/etc/os-release", encoding="utf-8") as file:
        for line in file:
            name, separator, value = line.strip().partition("=")
            if separator:
                content[name] = value.strip("\"'")
    return content


def mirrored():
    """apt's options that make it ask the machine's mirrors; none without any.

    The base image's own entries are kept with another address, so that its
    suites and components stay (dockerfiles/apt.go writes MIRRORS).
    """
    if not os.path.exists(MIRRORS) or not os.path.getsize(MIRRORS):
        return []
    for path in ["/etc/apt/sources.list", *glob.glob("/etc/apt/sources.list.d/*")]:
        if os.path.isfile(path):
            with open(WORK + path.removeprefix("/etc/apt"), "wb") as copy:
                subprocess.run(["sed", "-E", "-f", MIRRORS, path], stdout=copy, check=True)
    return [f"Dir::Etc::sourcelist={WORK}/sources.list", f"Dir::Etc::sourceparts={WORK}/sources.list.d"]


def complaints(output):
    """The lines of apt's that say what is wrong."""
    lines = [line for line in output.splitlines() if line.startswith(("E:", "Err:", "W:", " "))]
    return sources.public("\n".join((lines or output.splitlines())[-15:]))


def solve_request(request):
    """The packages, or a failure where they cannot be had."""
    try:
        return {"apt": solve(request["apt"])}
    except Refused as error:
        return {"failure": {"kind": error.kind, "text": str(error)}}


def solve(wanted):
    """What is installed for wanted (NAME or NAME=VERSION): [{name, version, auto}].

    auto are those that others need, which the base does not have.
    """
    with archives() as run:
        known = set(run("pkgnames", program="apt-cache").stdout.split())
        missing = [item for item in wanted if item.partition("=")[0] not in known and not provided(run, item.partition("=")[0])]
        if missing:
            raise Refused("the base image's package archives have no " + ", ".join(
                item + guess(item.partition("=")[0], known) for item in missing))
        result = run("install", "--simulate", *wanted)
        if result.returncode:
            raise Refused("apt cannot install them together:\n" + complaints(result.stdout))
    found = re.findall(r"(?m)^Inst (\S+) (?:\[\S+\] )?\((\S+) ", result.stdout)
    # "Note, selecting 'libgl1' instead of 'libgl1-mesa-glx'"
    renamed = dict(re.findall(r"selecting '([^']+)' instead of '([^']+)'", result.stdout))
    asked = {item.partition("=")[0] for item in wanted}
    entries = [
        {"name": name, "version": version, **({} if name in asked or renamed.get(name) in asked else {"auto": True})}
        for name, version in found]
    for name in sorted(asked - {entry["name"] for entry in entries}):
        version = installed(name)
        if version:
            entries.append({"name": name, "version": version})
    return sorted(entries, key=lambda entry: entry["name"])


def provided(run, name):
    """Whether a virtual package of that name can be chosen."""
    return run("install", "--simulate", name).returncode == 0


def guess(name, known):
    """Words that name the package of known that was probably meant, or none."""
    # libgl2: libgl1 is the same library, libtogl2 another one.
    stem = name.rstrip("0123456789.-")
    numbers = {other: other.removeprefix(stem) for other in known if other.startswith(stem)}
    family = [other for other, number in numbers.items() if not number.strip("0123456789.-")]
    if stem and family:
        return f" (did you mean {difflib.get_close_matches(name, sorted(family), 1, 0)[0]}?)"
    near = difflib.get_close_matches(name, known, 1, 0.75)
    return f" (did you mean {near[0]}?)" if near else ""


def installed(name):
    result = subprocess.run(
        ["dpkg-query", "-W", "-f", "${db:Status-Status} ${Version}", name], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
        text=True, check=False)
    status, _, version = result.stdout.partition(" ")
    return version if status == "installed" else None


# What dpkg and its like write that differs from one build to the next.
TRACES = (
    "/var/cache/ldconfig/aux-cache", "/var/cache/debconf/*-old", "/var/lib/dpkg/*-old", "/var/lib/apt/extended_states.*",
)


def install_list(content):
    packages = content["packages"]
    had_lists, logs = os.path.isdir("/var/lib/apt/lists/partial"), snapshot("/var/log")
    try:
        with archives() as run, no_services():
            result = run("install", "--yes", "--allow-downgrades", "--allow-change-held-packages",
                         *(f"{package['name']}={package['version']}" for package in packages))
            if result.returncode:
                gone = re.findall(r"(?m)^E: (?:Version '([^']+)' for '([^']+)' was not found|Unable to locate package (\S+))", result.stdout)
                if gone:
                    raise Failure(GONE + ", ".join(f"{name} {version}" if name else other for version, name, other in gone))
                print(sources.public("\n".join(result.stdout.splitlines()[-30:])), flush=True)
                raise Failure("installing the apt packages failed; apt's message is above")
            auto = [package["name"] for package in packages if package.get("auto")]
            if auto:
                run("auto", *auto, program="apt-mark")
    except Refused as error:
        raise Failure(str(error)) from None
    for pattern in TRACES:
        for path in glob.glob(pattern):
            os.remove(path)
    restore(logs)
    if not had_lists:
        shutil.rmtree("/var/lib/apt/lists/partial", ignore_errors=True)
    layer.finish("/none")  # no environment, but times
    print(f"{len(packages)} apt packages", flush=True)


@contextlib.contextmanager
def no_services():
    """Keeps packages from starting their services: nothing runs in a build."""
    policy = "/usr/sbin/policy-rc.d"
    if os.path.exists(policy):
        yield
        return
    with open(policy, "w", encoding="utf-8") as file:
        file.write("#!/bin/sh\nexit 101\n")
    os.chmod(policy, 0o755)
    try:
        yield
    finally:
        os.remove(policy)


def snapshot(folder):
    """The sizes of the files in folder, by path."""
    return {os.path.join(place, name): os.path.getsize(os.path.join(place, name))
            for place, _, names in os.walk(folder) for name in names if os.path.isfile(os.path.join(place, name))}


def restore(sizes):
    """Takes away what was written to the logs: it tells the time of the build."""
    for path in snapshot("/var/log"):
        if path not in sizes:
            os.remove(path)
        elif os.path.getsize(path) > sizes[path]:
            os.truncate(path, sizes[path])
