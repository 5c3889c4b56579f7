"""What is said of a package that the archives do not have."""
import unittest

import apt


class Guess(unittest.TestCase):
    known = {"libgl1", "libgl-dev", "libtogl2", "libglu1-mesa", "python3.11", "python3", "gcc-12", "gcc", "g++", "ffmpeg", "libpng16-16", "libpng-dev"}

    def test_guess(self):
        for name, meant in {
            "libgl2": "libgl1", "libgl": "libgl1", "python3.9": "python3", "gcc-14": "gcc-12", "ffmepg": "ffmpeg", "libpng12-0": "libpng16-16",
            "nothing-like-it": "", "7": "",
        }.items():
            with self.subTest(name):
                self.assertEqual(apt.guess(name, self.known), meant and f" (did you mean {meant}?)")


if __name__ == "__main__":
    unittest.main()
