"""Gives up a server that takes a question and does not answer it, or answers it a byte at a time.

The programs that fetch go by the time since the last byte, or by that of the whole answer, which may be long. So while
one of them takes longer than sources.patience, its servers are asked something small.
"""
import subprocess
import threading

import trickle
from common import Failure, request_for, sources

LEAST = 16 << 10  # bytes of an answer, or all of it, within the time


class Silent(Failure):
    """A server does not answer, or has nothing to give now; the text says which, and what was asked for."""


def silent(groups):
    """What to say of the first of groups whose addresses all keep silent, or ""; each group has one thing from several servers.

    It takes no longer than sources.patience.
    """
    answered = [threading.Event() for _ in groups]
    threads = []
    for group, event in zip(groups, answered):
        for url in group:
            threads.append(threading.Thread(target=ask, args=(url, event), daemon=True))
            threads[-1].start()
    for thread in threads:
        thread.join()
    for group, event in zip(groups, answered):
        if not event.is_set():
            return sources.public(
                f"{group[0]}: the server takes the request and does not answer: less than {LEAST >> 10} KiB came in {sources.patience} s "
                "(patience in config.yaml)")
    return ""


def ask(url, answered):
    """Sets answered where url's server answers, be it that it refuses."""
    import urllib.error
    import urllib.request

    def read():
        try:
            with urllib.request.urlopen(request_for(url), timeout=sources.patience) as response:
                response.read(LEAST)
        except TimeoutError:
            return
        except urllib.error.URLError as error:
            if isinstance(error.reason, TimeoutError):
                return
        except (OSError, ValueError):
            pass  # what else is wrong the program that fetches says better
        answered.set()

    # A time that is given to urllib is one between two bytes.
    thread = threading.Thread(target=read, daemon=True)
    thread.start()
    thread.join(sources.patience)


class Watch(threading.Thread):
    """Ends a process whose servers keep silent, or let a file trickle in; said then has what to say."""

    def __init__(self, process, groups):
        super().__init__(daemon=True)
        self.process, self.groups, self.said = process, groups, ""
        self.done = threading.Event()

    def run(self):
        while not self.done.wait(sources.patience):
            said = silent(self.groups)
            if said:
                self.give_up(said)
                return

    def give_up(self, said):
        if not self.done.is_set() and self.process.poll() is None:
            self.said = said
            self.process.kill()

    def trickles(self):
        # Where the index itself is as slow, it is the one to name.
        self.give_up(silent(self.groups) or (
            f"a file comes too slowly from a server that answers otherwise: less than {trickle.LEAST >> 10} KiB a second came for "
            f"{2 * sources.patience} s (twice the patience in config.yaml)"))

    def __enter__(self):
        if self.groups:
            self.start()
        trickle.Watch(self.process.pid, self.done, self.trickles).start()
        return self

    def __exit__(self, *_):
        self.done.set()


def run(command, environment, groups, said=None):
    """Runs a program that asks the servers of groups; said, where there is one, gets each line of its stderr. Raises Silent."""
    with subprocess.Popen(
            command, env=environment, text=True, stdout=subprocess.DEVNULL if said else subprocess.PIPE, stderr=subprocess.PIPE) as process, \
            Watch(process, groups) as watch:
        if said:
            lines = []
            for line in process.stderr:
                lines.append(line)
                said(line.strip())
            out, errors = "", "".join(lines)
            process.wait()
        else:
            out, errors = process.communicate()
    if watch.said:
        raise Silent(watch.said)
    return subprocess.CompletedProcess(command, process.returncode, out, errors)
