"""Looks at a base image from outside and says what an image needs to know of it.

base.py ROOT REQUEST ANSWER: ROOT is where the image's files lie; nothing of
them is run, since a wrong base has nothing that runs. REQUEST has the platform.
ANSWER has {"failure": ...} for a base that no image can be made of.
"""
import glob
import json
import os
import re
import struct
import sys

# The oldest C library that conda-forge's packages and PyTorch's wheels are
# made for (manylinux2014, PEP 599).
OLDEST_GLIBC = (2, 17)
# ELF's e_machine (gabi, "ELF header").
MACHINES = {3: "i386", 40: "arm (32 bit)", 62: "x86-64", 183: "arm64", 21: "ppc64le", 22: "s390x", 243: "riscv"}
WANTED = {"linux-64": 62, "linux-aarch64": 183}
LIBRARIES = ("lib/*-linux-gnu*/libc.so.6", "usr/lib/*-linux-gnu*/libc.so.6", "lib64/libc.so.6", "usr/lib64/libc.so.6", "lib/libc.so.6", "usr/lib/libc.so.6")


class Refused(Exception):
    """No image can be made of this base; the text says why."""


class Base:
    def __init__(self, root):
        self.root = root

    def path(self, name, depth=40):
        """Where name lies, or None: links are the image's, not this machine's."""
        real = self.root
        for i, part in enumerate(parts := name.strip("/").split("/")):
            if part in ("", "."):
                continue
            if part == "..":
                real = os.path.dirname(real) if real != self.root else real
                continue
            real = os.path.join(real, part)
            if os.path.islink(real):
                target = os.readlink(real)
                if not target.startswith("/"):
                    target = os.path.join(os.path.relpath(os.path.dirname(real), self.root), target)
                return self.path("/".join([target, *parts[i + 1:]]), depth - 1) if depth else None
        return real if os.path.exists(real) else None

    def has(self, name):
        return self.path(name) is not None

    def glob(self, pattern):
        for head in glob.glob(os.path.join(self.root, pattern)):
            found = self.path(os.path.relpath(head, self.root))
            if found:
                yield found

    def program(self, name):
        return any(self.has(f"{folder}/{name}") for folder in ("usr/bin", "bin", "usr/local/bin"))


def machine(path):
    """ELF's number for the processor of a program; None for what is no ELF file."""
    with open(path, "rb") as file:
        head = file.read(20)
    if head[:4] != b"\x7fELF" or len(head) < 20:
        return None
    return struct.unpack(">H" if head[5] == 2 else "<H", head[18:20])[0]


def glibc(base):
    pattern = re.compile(rb"GNU C Library[^\n]*? version (\d+)\.(\d+)")
    for library in LIBRARIES:
        for path in base.glob(library):
            with open(path, "rb") as file:
                found = pattern.search(file.read())
            if found:
                return int(found[1]), int(found[2])
    return None


def look(base, platform):
    if not os.listdir(base.root):
        raise Refused("it is empty")
    shell = base.path("bin/sh")
    if shell is None:
        raise Refused("it has no shell (/bin/sh), and the steps of a build are shell commands: scratch and distroless images cannot be built on")
    number = machine(shell)
    if number is not None and number != WANTED[platform]:
        raise Refused(f"its programs are for {MACHINES.get(number, f'another processor (ELF machine {number})')}, "
                      f"and the image is built for {MACHINES[WANTED[platform]]}")
    version = glibc(base)
    if version is None and any(base.glob("lib/ld-musl-*")):
        raise Refused("its C library is musl (Alpine's), and conda packages and PyTorch's wheels are made for GNU's")
    if version is None:
        raise Refused("it has no GNU C library, which conda packages and PyTorch's wheels are made for")
    if version < OLDEST_GLIBC:
        raise Refused("its GNU C library is {}.{}, and conda packages and PyTorch's wheels need 2.17 or newer".format(*version))
    return {
        "conda": base.has("opt/conda/conda-meta"),
        "apt": base.program("apt-get") and base.program("dpkg-query"),
        "nvcc": base.has("usr/local/cuda/bin/nvcc"),
        "compiler": base.program("gcc") and base.program("g++") and base.has("usr/include/stdio.h"),
    }


def main(root, request, answer):
    with open(request, encoding="utf-8") as file:
        platform = json.load(file)["platform"]
    try:
        facts = {"base": look(Base(root), platform)}
    except Refused as error:
        facts = {"failure": {"kind": "base", "text": f"{error}; name another base image, such as debian:bookworm-slim"}}
    with open(answer, "w", encoding="utf-8") as file:
        json.dump(facts, file)


if __name__ == "__main__":
    main(*sys.argv[1:])
