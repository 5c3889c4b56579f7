"""Which downloads are taken for ones that never end."""
import struct
import unittest

import trickle


def looks(*counts, cpu=0.0, seconds=60, sent=0):
    """Looks in that time, each with the bytes of the connections 1, 2 and so on; each has sent so much more at each look."""
    step = seconds / (len(counts) - 1)
    return [(step * i, {number: (got, 300 + sent * i) for number, got in enumerate(some, 1)}, cpu * i) for i, some in enumerate(counts)]


class Trickles(unittest.TestCase):
    def test_a_byte_a_second(self):
        self.assertTrue(trickle.trickles(looks((900,), (912,), (924,), (936,), (948,), (960,))))
        self.assertTrue(trickle.trickles(looks((5000, 900), (5000, 912), (5000, 912), (5000, 936), (5000, 936), (5000, 960))))

    def test_one_that_is_new(self):
        self.assertTrue(trickle.trickles(looks((), (10,), (20,), (30,), (40,), (50,))))

    def test_enough_comes(self):
        self.assertFalse(trickle.trickles(looks((0,), (20000,), (40000,), (60000,), (80000,), (100000,))))
        self.assertFalse(trickle.trickles(looks((0, 0), (9, 90000), (20, 90000), (30, 90000), (40, 90000), (50, 90000))))

    def test_nothing_comes(self):  # which the program itself sees
        self.assertFalse(trickle.trickles(looks((900,), (900,), (900,), (900,), (900,), (900,))))

    def test_one_answer(self):
        self.assertFalse(trickle.trickles(looks((900,), (1400,), (1400,), (1400,), (1400,), (1400,))))

    def test_it_asks_again(self):  # as uv does where a server answers 500
        self.assertFalse(trickle.trickles(looks((900,), (912,), (924,), (936,), (948,), (960,), sent=80)))

    def test_work_is_done(self):
        self.assertFalse(trickle.trickles(looks((900,), (912,), (924,), (936,), (948,), (960,), cpu=5.0)))


class Answers(unittest.TestCase):
    def test_bytes_by_socket(self):
        info = bytes(trickle.SENT) + struct.pack("=QQ", 815, 4711) + bytes(40)
        attributes = struct.pack("=HH", 5, 1) + b"x\0\0\0" + struct.pack("=HH", 4 + len(info), trickle.INFO) + info
        body = bytes(68) + struct.pack("=I", 99) + attributes
        message = struct.pack("=IHHII", 16 + len(body), trickle.BY_FAMILY, 0, 1, 0) + body
        counts = {}
        self.assertTrue(trickle.read(message, counts))
        self.assertEqual(counts, {99: (4711, 815)})
        self.assertFalse(trickle.read(struct.pack("=IHHII", 20, trickle.DONE, 0, 1, 0) + bytes(4), counts))
        self.assertFalse(trickle.read(struct.pack("=IHHII", 36, trickle.ERROR, 0, 1, 0) + bytes(20), counts))


if __name__ == "__main__":
    unittest.main()
