"""The end of each step that installs: two builds of one list give the same layer.

What a step writes has the time of writing; .pyc files hold their source's time and, worse, depend on what the
process that wrote them had read before. So all that the step has written gets one time, and .pyc files are compiled in
groups that do not depend on the number of processors.
"""
import concurrent.futures
import os
import stat
import subprocess
import tempfile
import time

from common import TOOLS, python_of

# The second day that a zip archive can hold, in every time zone: 1980-01-02.
TIME = 315619200
# Of files in one process. More processes for less files cost more starts.
GROUP = 250
# What has been written by this step has been since. Files keep the time of their archive, some of them; their inode's time
# nothing can set. Of folders it is told by the time of their content, for the mount points of the step are made shortly
# before it, and the layers below have TIME.
since = time.time()
BEFORE = 5  # seconds


def finish(prefix):
    """Compiles what the step has installed into prefix, and makes its times those of every other build."""
    start = time.monotonic()
    changed = list(written())
    for path in changed:
        set_time(path)
    folders = compile_sources(prefix, [path for path in changed if path.endswith(".py") and path.startswith(prefix + "/lib/python")])
    for folder in folders:
        cache = os.path.join(folder, "__pycache__")
        for parent in (cache, folder):
            if os.path.isdir(parent):
                for entry in os.scandir(parent):
                    if entry.name.endswith((".pyc", ".pyo")):
                        set_time(entry.path)
                set_time(parent)
    print(f"compile {time.monotonic() - start:.1f} s", flush=True)


def set_time(path):
    os.utime(path, (TIME, TIME), follow_symlinks=False)


def written():
    """All that this step has written, wherever it lies; a folder comes behind what is in it."""
    device = os.lstat("/").st_dev

    def below(folder):
        for entry in os.scandir(folder):
            info = entry.stat(follow_symlinks=False)
            if info.st_dev != device:
                continue  # a mount
            if stat.S_ISDIR(info.st_mode):
                yield from below(entry.path)
                if info.st_mtime >= since - BEFORE or info.st_ctime >= since:
                    yield entry.path
            elif info.st_ctime >= since:
                yield entry.path

    yield from below("/")


def compile_sources(prefix, sources):
    """Compiles sources with the python of prefix; gives their folders.

    In the layer that installs: otherwise each container would compile them again, or, for a user who may not write
    there, each start of Python would.
    """
    python = python_of(prefix)
    if not os.path.exists(python):
        return []
    sources.sort()
    program = os.path.join(TOOLS, "installer", "compile.py")
    # Sets are written in the order of their hashes.
    environment = {"PATH": "/usr/bin:/bin", "PYTHONHASHSEED": "0"}

    def compile_group(group):
        with tempfile.NamedTemporaryFile("w", suffix=".txt", dir="/run/crun", encoding="utf-8", errors="surrogateescape") as file:
            file.write("\n".join(group))
            file.flush()
            # Files that are no valid Python (templates, tests for Python 2) are common and harmless, so neither
            # their messages nor the exit code matter.
            subprocess.run([python, "-s", "-S", "-B", program, file.name], env=environment, check=False,
                           stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    groups = [sources[i:i + GROUP] for i in range(0, len(sources), GROUP)]
    with concurrent.futures.ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        list(pool.map(compile_group, groups))
    return sorted({os.path.dirname(path) for path in sources})
