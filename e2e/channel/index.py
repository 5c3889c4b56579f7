"""Writes repodata.json of every platform in a channel: index.py CHANNEL"""

import asyncio
import sys

import rattler.index

asyncio.run(rattler.index.index_fs(sys.argv[1], write_zst=True, write_shards=True, force=True))
