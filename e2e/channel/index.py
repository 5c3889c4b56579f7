"""Writes repodata.json of every platform in a channel: index.py CHANNEL"""

import asyncio
import os
import sys

import rattler.index

asyncio.run(rattler.index.index_fs(sys.argv[1], write_zst=True, write_shards=True, force=True))
# Not an ordinary end: a thread of py-rattler's may still want the interpreter while that is taken down,
# and the process dies by SIGABRT or SIGSEGV, two times of nine as seen with 0.28.0.
os._exit(0)
