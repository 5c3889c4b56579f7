"""Shows how far a step is: a bar on a terminal, else a line now and then."""
import sys
import time

from common import sources

WIDTH = 24  # of a bar, in characters
LARGE = 20 << 20  # bytes; smaller files are not worth a line


class Bar:
    """How many of total bytes are done, and of what.

    The log of a build is kept and shown by others, so what is printed is
    bounded: four times a second a bar that writes over itself, or every ten
    seconds a line.
    """

    def __init__(self, verb, total=0):
        self.verb, self.total, self.done = verb, total, 0
        self.terminal = sources.progress == "tty"
        self.every = 0.25 if self.terminal else 10
        self.shown = time.monotonic() - (self.every if self.terminal else 0)
        self.drawn = False

    def update(self, name):
        now = time.monotonic()
        if now - self.shown < self.every:
            return
        self.shown = now
        part = min(1, self.done / self.total) if self.total else 0
        numbers = f"{self.done >> 20} of {self.total >> 20} MiB"
        if self.terminal:
            filled = int(part * WIDTH)
            sys.stdout.write(f"\r\x1b[K{self.verb} [{'=' * filled}{' ' * (WIDTH - filled)}] {numbers}  {name[:30]}")
            self.drawn = True
        else:
            sys.stdout.write(f"{self.verb} {numbers}: {name}\n")
        sys.stdout.flush()

    def say(self, line):
        """Prints a line, in the place of the bar."""
        self.close()
        print(line, flush=True)

    def close(self):
        if self.drawn:
            sys.stdout.write("\r\x1b[K")
            sys.stdout.flush()
            self.drawn = False


class Timer:
    """The time in which at least one of some things was going on."""

    def __init__(self):
        self.seconds, self.going, self.since = 0.0, 0, 0.0

    def start(self):
        if self.going == 0:
            self.since = time.monotonic()
        self.going += 1

    def stop(self):
        self.going = max(0, self.going - 1)
        if self.going == 0 and self.since:
            self.seconds += time.monotonic() - self.since
            self.since = 0.0
