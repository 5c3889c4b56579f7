"""Holds a step to build.memory and build.cpus.

The engine bounds no step of a build (BuildKit's Dockerfiles have no word for
it, and a step may not make a cgroup of its own), so this program does, for
itself and all that it starts:

- cpus: the processes may run on that many CPUs and no others, and whoever
  asks how many jobs to start is told that number.
- memory: no process gets more than that of the kernel (RLIMIT_DATA), and what
  all of them hold together is measured 20 times a second; above it they are
  ended.
"""
import json
import os
import random
import resource
import signal
import sys
import threading
import time

FILE = "/run/crun/limits.json"
INTERVAL = 0.05  # seconds
# What one job of a C++ compiler is reckoned to take, in bytes; those that
# compile for GPUs take more.
JOB = 2 << 30
# How programs say that they were refused memory.
REFUSALS = (b"MemoryError", b"Cannot allocate memory", b"bad_alloc", b"ut of memory", b"virtual memory exhausted", b"memory allocation of ")
JOBS_VARIABLES = ("MAX_JOBS", "CMAKE_BUILD_PARALLEL_LEVEL", "CARGO_BUILD_JOBS", "UV_CONCURRENT_BUILDS", "UV_CONCURRENT_INSTALLS")
THREADS_VARIABLES = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMEXPR_NUM_THREADS", "RAYON_NUM_THREADS")


def read():
    if not os.path.exists(FILE) or not os.path.getsize(FILE):
        return {}
    with open(FILE, encoding="utf-8") as file:
        return {key: value for key, value in json.load(file).items() if value}


def size(count):
    return f"{count / (1 << 30):.1f} GiB" if count >= 1 << 30 else f"{count >> 20} MiB"


def apply(limits):
    """Bounds this process and those that it will start."""
    cpus = sorted(os.sched_getaffinity(0))
    if limits.get("cpus") and limits["cpus"] < len(cpus):
        # Not the first ones: they would be everybody's.
        cpus = random.sample(cpus, limits["cpus"])
        os.sched_setaffinity(0, cpus)
    jobs = len(cpus)
    if limits.get("memory"):
        resource.setrlimit(resource.RLIMIT_DATA, (limits["memory"], limits["memory"]))
        jobs = max(1, min(jobs, limits["memory"] // JOB))
    if limits:
        os.environ.update({name: str(jobs) for name in JOBS_VARIABLES}, MAKEFLAGS=f"-j{jobs}")
    if limits.get("cpus"):
        os.environ.update({name: str(len(cpus)) for name in THREADS_VARIABLES})


def held(exact):
    """What each process but this one holds, in bytes by pid, and what the step's own /run does."""
    found = {}
    for name in os.listdir("/proc"):
        if not name.isdigit() or int(name) in (1, os.getpid()):
            continue
        try:
            # Pages that a fork shares count once in Pss, which takes longer to read.
            with open(f"/proc/{name}/{'smaps_rollup' if exact else 'status'}", encoding="ascii", errors="replace") as file:
                fields = dict(line.split(":", 1) for line in file if ":" in line)
        except (OSError, ValueError):
            continue  # it has ended
        names = ("Pss_Anon", "Pss_Shmem") if exact else ("RssAnon", "RssShmem")
        found[int(name)] = sum(int(fields.get(field, "0 kB").split()[0]) for field in names) << 10
    return found


def memory_files():
    """Bytes of files in memory: /run is one, and holds what the step unpacks."""
    status = os.statvfs("/run")
    return (status.f_blocks - status.f_bfree) * status.f_frsize


class Watch(threading.Thread):
    """Ends the other processes when they hold more than limit bytes."""

    def __init__(self, limit):
        super().__init__(daemon=True)
        self.limit, self.excess = limit, ""

    def run(self):
        while not self.excess:
            time.sleep(INTERVAL)
            files = memory_files()
            if sum(held(False).values()) + files <= self.limit:
                continue
            processes = held(True)
            total = sum(processes.values()) + files
            if total <= self.limit:
                continue
            largest = max(processes, key=processes.get, default=0)
            name = program(largest)
            for pid in processes:
                try:
                    os.kill(pid, signal.SIGKILL)
                except ProcessLookupError:
                    pass
            self.excess = f"the step took {size(total)} of memory, {name} {size(processes.get(largest, 0))} of that"


def program(pid):
    try:
        with open(f"/proc/{pid}/comm", encoding="utf-8", errors="replace") as file:
            return file.read().strip()
    except OSError:
        return "a program"


def run(limits, function):
    """Gives function's exit code; it runs in a process within limits."""
    if not limits:
        return function()
    reading, writing = os.pipe()
    sys.stdout.flush()
    sys.stderr.flush()
    child = os.fork()
    if child == 0:
        os.close(reading)
        os.dup2(writing, 1)
        os.dup2(writing, 2)
        os.close(writing)
        apply(limits)
        code = function()
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)
    os.close(writing)
    watch = Watch(limits["memory"]) if "memory" in limits else None
    if watch:
        watch.start()
    refused, tail = False, b""
    while data := os.read(reading, 1 << 16):
        os.write(1, data)
        tail = tail[-64:] + data
        refused = refused or any(text in tail for text in REFUSALS)
    _, status = os.waitpid(child, 0)
    code = os.waitstatus_to_exitcode(status)
    remedy = "raise build.memory in profiles.yaml" + (", or lower build.cpus, so that fewer jobs run at once" if limits.get("cpus", 2) > 1 else "")
    if watch and watch.excess:
        print(f"crun: {watch.excess}; build.memory is {size(limits['memory'])}: {remedy}", flush=True)
        return 1
    if code and watch and refused:
        print(f"crun: a program of the step was refused memory; build.memory is {size(limits['memory'])}: {remedy}", flush=True)
        return 1
    return code if code >= 0 else 128 - code
