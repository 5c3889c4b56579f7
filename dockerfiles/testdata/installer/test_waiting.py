"""Servers that take a request and do not answer it, beside such that do."""
import os
import socket
import subprocess
import sys
import threading
import time
import unittest

import waiting
from common import sources

ANSWER = b"HTTP/1.1 404 Not Found\r\nContent-Length: 2\r\n\r\nno"


def serve(test, behave):
    """The address of a server that does behave(connection) with each request."""
    listener = socket.create_server(("127.0.0.1", 0))
    test.addCleanup(listener.close)

    def handle():
        kept = []
        while True:
            try:
                connection, _ = listener.accept()
            except OSError:
                return
            kept.append(connection)
            threading.Thread(target=behave, args=(connection,), daemon=True).start()

    threading.Thread(target=handle, daemon=True).start()
    return f"http://127.0.0.1:{listener.getsockname()[1]}/list"


def answer(connection):
    connection.recv(4096)
    connection.sendall(ANSWER)


def drip(connection):
    """Sends a byte now and then, so that no time between two bytes is long."""
    connection.recv(4096)
    try:
        for byte in b"HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n" + bytes(1000):
            connection.sendall(bytes([byte]))
            time.sleep(0.05)
    except OSError:
        pass


class TestWaiting(unittest.TestCase):
    def setUp(self):
        before, sources.patience = sources.patience, 1
        self.addCleanup(setattr, sources, "patience", before)

    def test_silent(self):
        good, hanging, dripping = serve(self, answer), serve(self, lambda connection: None), serve(self, drip)
        closed = socket.create_server(("127.0.0.1", 0))
        gone = f"http://127.0.0.1:{closed.getsockname()[1]}/list"
        closed.close()
        self.assertEqual("", waiting.silent([[good], [gone], [hanging, good]]))
        for url in hanging, dripping:
            self.assertIn(f"{url}: the server takes the request and does not answer", waiting.silent([[good], [url]]))

    def test_run(self):
        hanging, good = serve(self, lambda connection: None), serve(self, answer)
        with self.assertRaises(waiting.Silent):
            waiting.run([sys.executable, "-c", "import time; time.sleep(60)"], dict(os.environ), [[hanging]])
        # One that is busy for longer, while its servers answer, is left alone.
        result = waiting.run([sys.executable, "-c", "import time; time.sleep(2.5); print(1)"], dict(os.environ), [[good]])
        self.assertEqual((0, "1\n"), (result.returncode, result.stdout))
        lines = []
        result = waiting.run([sys.executable, "-c", "import sys; print('a', file=sys.stderr); sys.exit(3)"], dict(os.environ), [], lines.append)
        self.assertEqual((3, ["a"], "a\n"), (result.returncode, lines, result.stderr))

    def test_too_slow(self):
        # It is looked for over twice the patience: see trickle.Watch.
        with subprocess.Popen(["sleep", "60"]) as process:
            watch = waiting.Watch(process, [])
            watch.trickles()
        self.assertEqual(
            "a file comes too slowly from a server that answers otherwise: less than 1 KiB a second came for 2 s (twice the patience in config.yaml)",
            watch.said)


if __name__ == "__main__":
    unittest.main()
