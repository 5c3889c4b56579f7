"""Tells a download that comes a few bytes at a time, from a server that answers everything else.

Programs that fetch go by the time since the last byte, so they wait for such a file for ever. What their connections have
received is asked of the kernel (sock_diag, see linux/inet_diag.h and linux/tcp.h); where it does not say, nothing is told.
"""
import os
import socket
import struct
import threading
import time

from common import sources

LEAST = 1 << 10  # bytes a second of all connections
SOCK_DIAG, BY_FAMILY, DUMP, ESTABLISHED, INFO, DONE, ERROR = 4, 20, 0x301, 1 << 1, 2, 3, 2
SENT, RECEIVED = 120, 128  # the places of tcpi_bytes_acked and tcpi_bytes_received in struct tcp_info


def received():
    """Bytes that each TCP connection of this network has received and sent, by its socket's number."""
    counts = {}
    for family in (socket.AF_INET, socket.AF_INET6):
        with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, SOCK_DIAG) as asked:
            asked.settimeout(5)
            question = struct.pack("=BBBxI48x", family, socket.IPPROTO_TCP, 1 << (INFO - 1), ESTABLISHED)
            asked.send(struct.pack("=IHHII", 16 + len(question), BY_FAMILY, DUMP, 1, 0) + question)
            while read(asked.recv(1 << 18), counts):
                pass
    return counts


def read(answer, counts):
    """Adds what one answer of the kernel says; False at the end."""
    while len(answer) >= 16:
        length, kind = struct.unpack_from("=IH", answer)
        if kind == DONE or kind == ERROR or length < 16:
            return False
        message, answer = answer[16:length], answer[(length + 3) & ~3:]
        number, = struct.unpack_from("=I", message, 68)
        rest = message[72:]
        while len(rest) >= 4:
            size, what = struct.unpack_from("=HH", rest)
            if what == INFO and size >= 4 + RECEIVED + 8:
                counts[number] = struct.unpack_from("=Q", rest, 4 + RECEIVED)[0], struct.unpack_from("=Q", rest, 4 + SENT)[0]
            if size < 4:
                break
            rest = rest[(size + 3) & ~3:]
    return True


def sockets(pid):
    """The numbers of a process's sockets."""
    found = set()
    folder = f"/proc/{pid}/fd"
    for name in os.listdir(folder):
        try:
            target = os.readlink(f"{folder}/{name}")
        except OSError:
            continue
        if target.startswith("socket:["):
            found.add(int(target[8:-1]))
    return found


def busy(pid):
    """Seconds of CPU that a process has had, and whether it has started others, which it may be waiting for."""
    with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as file:
        words = file.read().rpartition(")")[2].split()
    children = False
    for task in os.listdir(f"/proc/{pid}/task"):
        with open(f"/proc/{pid}/task/{task}/children", encoding="utf-8") as file:
            children = children or bool(file.read().strip())
    return (int(words[11]) + int(words[12])) / os.sysconf("SC_CLK_TCK"), children


class Watch(threading.Thread):
    """Tells (found) where all that a process waits for is a file that trickles in, for twice sources.patience.

    Twice, for to take a slow answer for one that never ends is worse than to wait.
    """

    TICKS = 10  # looks within that time

    def __init__(self, pid, done, found):
        super().__init__(daemon=True)
        self.pid, self.done, self.found = pid, done, found

    def run(self):
        looks = []  # (time, bytes by socket, seconds of CPU)
        tick = 2 * sources.patience / self.TICKS
        while not self.done.wait(tick):
            try:
                seconds, children = busy(self.pid)
                mine, counts = sockets(self.pid), received()
            except (OSError, ValueError, struct.error):
                return
            if children:
                looks = []
                continue
            looks.append((time.monotonic(), {number: counts[number] for number in mine if number in counts}, seconds))
            del looks[:-self.TICKS - 1]
            if len(looks) > self.TICKS and trickles(looks):
                self.found()
                return


def trickles(looks):
    """Whether one connection got something over and over in the time of looks and asked for nothing new, all of them little, and
    the process did nothing. A program that asks again after an error gets little over and over, too."""
    (begin, first, before), (end, last, after) = looks[0], looks[-1]
    if after - before > (end - begin) / 10:
        return False
    if sum(got - first.get(number, (0, 0))[0] for number, (got, _) in last.items()) >= LEAST * (end - begin):
        return False
    steps = [{number for number, (got, _) in now[1].items() if got > was[1].get(number, (got, 0))[0]} for was, now in zip(looks, looks[1:])]
    halves = steps[:len(steps) // 2], steps[len(steps) // 2:]
    return any(all(any(number in step for step in half) for half in halves) and not asks(number, looks) for number in last)


def asks(number, looks):
    """Whether a connection has sent more since the second look that saw it: what it sent before may have been on its way."""
    sent = [counts[number][1] for _, counts, _ in looks if number in counts]
    return sent[-1] > sent[:2][-1]
