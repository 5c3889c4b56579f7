"""Tries whether the packages of a prefix work: check REQUEST REPORT.

REQUEST and REPORT are JSON; build/check.go and build/check_report.go are the
other side. Every module is imported in the environment's own Python (probe.py),
in one process as long as all goes well; what fails there is tried again alone.
The exit code is 1 where something fails that the environment is no good
without; then no report counts.
"""
import json
import os
import re
import select
import shutil
import signal
import subprocess
import tempfile
import threading
import time

from packaging.utils import canonicalize_name

import known
import uvtool
from common import Failure
from installed import conda_packages, distributions, leaves, overwritten

PROBE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "probe.py")
STEP_TIME = 180  # seconds for one thing that is tried; a large package takes 20 on a busy machine
ALWAYS = ("torch", "numpy")
EXTENSION = re.compile(r"\.(?:cpython-[\w-]+|abi3)\.so$")


class Probe:
    """One process of the environment's Python, and what it has told.

    It starts at once: by the time somebody knows what is to be tried, it is up.
    """

    def __init__(self, python):
        self.results, self.facts = [], {}  # results: (name, error or None, version)
        self.running = None  # what it was at when it died
        self.ended = False
        self.end = ""  # how it died, "" for an orderly end
        self.stdout = tempfile.TemporaryFile()
        self.told, writer = os.pipe()
        reader, self.asked = os.pipe()
        environment = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1", "PYTHONFAULTHANDLER": "1"}
        self.process = subprocess.Popen(
            [python, "-s", PROBE, str(reader), str(writer)], pass_fds=[reader, writer], env=environment,
            stdin=subprocess.DEVNULL, stdout=self.stdout, stderr=subprocess.STDOUT, start_new_session=True)
        os.close(reader)
        os.close(writer)

    def attempt(self, modules, more=()):
        """Has it try modules and more, and follows it to its end. A process does this once."""
        try:
            with open(self.asked, "w", encoding="ascii") as file:
                json.dump({"modules": list(modules), "more": list(more)}, file)
        except BrokenPipeError:
            pass  # it did not come up; its end says why
        with self.stdout as output:
            self.follow(self.process, self.told, output, STEP_TIME)

    def follow(self, process, reader, output, step_time):
        buffer, shown = b"", 0
        late = False
        while True:
            ready, _, _ = select.select([reader], [], [], step_time)
            if not ready:
                late = True
                break
            data = os.read(reader, 65536)
            if not data:
                break
            buffer += data
            *lines, buffer = buffer.split(b"\n")
            for line in lines:
                shown = self.note(json.loads(line), output, shown)
            if self.ended:
                break
        os.close(reader)
        try:
            code = None if late else process.wait(timeout=60)
        except subprocess.TimeoutExpired:
            code = None
        if code is None or code < 0:
            # A worker that outlives its parent holds the pipe and the step.
            try:
                os.killpg(process.pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
            process.wait()
        if code is None:
            self.end = f"it did not end within {step_time} seconds"
        elif code < 0:
            try:
                self.end = "Python was ended by " + signal.Signals(-code).name
            except ValueError:
                self.end = f"Python was ended by signal {-code}"
        elif code > 0 and not self.ended:
            self.end = f"Python ended with exit code {code}"
        self.output = tail(output, shown)

    def note(self, told, output, shown):
        if "facts" in told:
            self.facts = told["facts"]
        elif "start" in told:
            self.running = told["start"]
            shown = os.fstat(output.fileno()).st_size
        elif "end" in told:
            self.ended, self.running = True, None
        else:
            name = told.get("done") or told["failed"]
            said = tail(output, shown)
            error = None
            if "failed" in told:
                error = {"reason": told["reason"], "text": told["reason"] + "\n" + told["trace"] + "\n" + said, "trace": told["trace"]}
            self.results.append((name, error, told.get("version") or ""))
            self.running = None
        return shown

    @property
    def died(self):
        """What was being tried when the process died, as an error, or None."""
        if self.running is None:
            return None
        return self.running, {"reason": self.end or "Python ended", "text": f"{self.end}\n{self.output}", "trace": self.output}


def tail(output, start):
    """The last 8 KiB of a process's output from start on."""
    size = os.fstat(output.fileno()).st_size
    start = max(start, size - 8192)
    return os.pread(output.fileno(), size - start, start).decode("utf-8", "replace")


def try_all(python, modules, more=(), probe=None):
    """Name to (error or None, version) of all that was tried, what torch says
    of itself, and how the last process ended. probe is one that is up."""
    found, facts, left, end = {}, {}, list(modules), ""
    while left or more:
        probe = probe or Probe(python)
        probe.attempt(left, more)
        for name, error, version in probe.results:
            found[name] = (error, version)
        facts.update(probe.facts)
        if probe.died:
            found[probe.died[0]] = (probe.died[1], "")
        elif probe.ended:
            end = probe.end
        elif left:
            found.setdefault(left[0], ({"reason": probe.end, "text": probe.output, "trace": probe.output}, ""))
        probe = None
        left = [name for name in left if name not in found]
        if not left:
            break  # and what is left of more is past what it died of
    return found, facts, end


class Metadata(threading.Thread):
    """What the packages say of themselves, read beside the imports."""

    def __init__(self, checked):
        super().__init__()
        self.checked, self.failure = checked, None
        self.start()

    def run(self):
        try:
            self.conflicts = uvtool.conflicts(self.checked.python)
            self.overwritten = overwritten(self.checked.conda, self.checked.pip)
        except BaseException as error:
            self.failure = error

    def wait(self):
        self.join()
        if self.failure:
            raise self.failure


class Check:
    def __init__(self, request):
        self.request = request
        self.python = request.get("python") or find_python(request.get("prefix"))
        self.prefix = request.get("prefix") or os.path.dirname(os.path.dirname(self.python))
        self.probe = Probe(self.python)
        self.conda, self.pip = conda_packages(self.prefix), distributions(self.prefix)
        self.modules, self.torch = [], None
        self.fatal = []

    def run(self):
        begun = time.monotonic()
        metadata = Metadata(self)
        wanted = self.wanted()
        more = ["libraries", "tensor"] + (["loader"] if self.request["mode"] == "full" else [])
        found, facts, end = try_all(self.python, wanted, more if "torch" in wanted else [], self.probe)
        for module in wanted:
            self.report(module, *wanted[module], *found[module])
        if facts:
            self.report_torch(facts, {name: what for name, what in found.items() if name not in wanted})
        if end:
            self.report_end(end, wanted)
        metadata.wait()
        return {
            "mode": self.request["mode"], "modules": self.modules, "torch": self.torch,
            "conflicts": self.conflicts(metadata.conflicts), "overwritten": metadata.overwritten,
            "seconds": round(time.monotonic() - begun, 1),
        }

    def wanted(self):
        """The modules to import, in order: module to (package, fatal)."""
        conda, pip = self.request["conda"], self.request["pip"]
        if self.request.get("everything"):
            conda, pip = leaves(self.conda, self.pip)
        wanted = {}
        brought = {module: package for package in [*self.conda.values(), *self.pip.values()] for module in package.modules}
        for module in (*ALWAYS, *self.request["must"]):
            if module in brought or module in self.request["must"]:
                owner = brought.get(module) or brought.get(module.partition(".")[0])
                wanted[module] = (owner.name if owner else "", True)
        packages = [package for name in conda for package in self.conda_package(name)]
        packages += [self.pip[canonicalize_name(name)] for name in pip if canonicalize_name(name) in self.pip]
        for package in packages:
            for module in package.modules:
                wanted.setdefault(module, (package.name, False))
        if "setuptools" in wanted:
            # It complains where distutils is there before it, and others bring that.
            wanted = {"setuptools": wanted.pop("setuptools"), **wanted}
        return wanted

    def conda_package(self, name):
        """A conda package; for one without a module those of its like that it
        needs: py-opencv for opencv, matplotlib-base for matplotlib."""
        package = self.conda.get(name)
        if package is None or name == "python":
            return []
        if package.modules:
            return [package]
        return [
            self.conda[other] for other in package.needs
            if other in self.conda and (other in name or name in other) and self.conda[other].modules and other != "python"
        ]

    def report(self, name, package, fatal, error, version, retry=True):
        if error and retry and not known.needs_driver(error["text"]):
            # Alone it may do: then it is the company that it cannot stand.
            again = try_all(self.python, [name])[0][name][0]
            if again is None:
                error["reason"] += " (only after other packages have been imported; alone it works)"
                fatal = False
            else:
                error = again
        entry = {"name": name, "package": package, "version": version, "status": "works"}
        if error:
            reason = shorten(error["reason"])
            entry["reason"] = reason
            if known.needs_driver(error["text"]):
                entry["status"] = "not checkable here"
            else:
                entry["status"] = "fails"
                entry["advice"] = known.advice(error["text"], name, self.missing_libraries(package) if known.missing_library(error["text"]) else ())
                if fatal:
                    print(error["trace"].rstrip(), flush=True)
                    self.fatal.append(entry)
        if entry["status"] == "works":
            print(f"{name} {version}".rstrip(), flush=True)
        else:
            print(f"{name}: {entry['status']}: {entry['reason']}" + (f" ({entry['advice']})" if entry.get("advice") else ""), flush=True)
        self.modules.append(entry)

    def missing_libraries(self, package):
        """The libraries that a package's extension modules do not find."""
        owner = self.pip.get(canonicalize_name(package)) or self.conda.get(package)
        files = [os.path.join(self.prefix, path) for path in sorted(owner.files) if EXTENSION.search(path)] if owner else []
        try:
            # ldd is that of the image, like all that loads them. It complains of scripts and goes on.
            said = subprocess.run(["ldd", *files[:50]], capture_output=True, text=True, timeout=60, env={**os.environ, "LC_ALL": "C"}).stdout if files else ""
        except (OSError, subprocess.SubprocessError):
            return []
        return re.findall(r"^\s*(\S+) => not found$", said, re.MULTILINE)

    def report_end(self, end, wanted):
        """A process that has imported all and then dies as it ends."""
        culprits = [module for module in wanted if wanted[module][1] and try_all(self.python, [module])[2]]
        name = culprits[0] if culprits else "Python"
        entry = {
            "name": name, "package": wanted[name][0] if culprits else "", "version": "", "status": "fails",
            "reason": end + " after all was imported, when it came to its end",
            "advice": "torch 1.7 does so on Python 3.9: take a newer torch" if name == "torch" else "",
        }
        print(f"{name}: {entry['reason']}", flush=True)
        self.modules.append(entry)

    def report_torch(self, facts, found):
        libraries = [name for name in found if name.startswith("torch/lib/")]
        self.torch = {**facts, "libraries": sum(1 for name in libraries if not found[name][0])}
        for name, (error, version) in found.items():
            if name not in libraries or error:
                self.report(name, "torch", "test" not in name and not unfit(error), error, version, retry=False)
        built = f"torch is built for CUDA {facts['cuda']}" if facts["cuda"] else "torch is built for CPUs"
        print(f"{built}; {self.torch['libraries']} of its libraries load", flush=True)

    def conflicts(self, lines):
        """What pip's packages say against others, or others against them.

        Conda's own are often at odds with their Python metadata, without harm:
        those are only shown, and so is what an override was asked for.
        """
        overridden = {canonicalize_name(name) for name in self.request.get("overridden", [])}
        for line in lines:
            print(line, flush=True)
        ours = {name for name, package in self.pip.items() if package.kind == "pip"}
        needed = {line: re.search(r"requires `([A-Za-z0-9._-]+)", line) for line in lines}
        lines = [line for line in lines if not needed[line] or canonicalize_name(needed[line].group(1)) not in overridden]
        return [line for line in lines if any(canonicalize_name(name) in ours for name in re.findall(r"`([A-Za-z0-9._-]+)", line))]


def unfit(error):
    """Whether the step's own surroundings forbid what was tried."""
    return bool(error) and bool(re.search(r"Operation not permitted|Function not implemented|No space left on device|shared memory object", error["text"]))


def shorten(reason):
    """A reason that fits into a line."""
    return reason if len(reason) <= 300 else reason[:297] + "..."


def find_python(prefix):
    """The Python of an image that says no more: its environment's, or the first on PATH."""
    prefix = prefix or os.environ.get("CONDA_PREFIX")
    names = [os.path.join(prefix, "bin", "python")] if prefix else []
    names += [name for name in (shutil.which("python"), shutil.which("python3")) if name]
    for name in names:
        if os.path.exists(name):
            return name
    raise Failure("there is no Python in the image: neither CONDA_PREFIX nor PATH leads to one")


def check(request, report):
    with open(request, encoding="utf-8") as file:
        content = {key: [] if value is None else value for key, value in json.load(file).items()}
    checked = Check(content)
    answer = checked.run()
    with open(report, "w", encoding="utf-8") as file:
        json.dump(answer, file)
    if checked.fatal:
        raise Failure("; ".join(
            ("the environment cannot import {name}" if "/" not in entry["name"] and " " not in entry["name"] else "{name} fails").format(**entry)
            + ": " + entry["reason"] + ("; " + entry["advice"] if entry["advice"] else "") for entry in checked.fatal))
