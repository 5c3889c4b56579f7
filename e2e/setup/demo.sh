#!/usr/bin/env bash
# make demo: what a user does on the first day, with real parts, from nothing.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
. "$here/lib.sh"
root=$(cd "$here/../.." && pwd)

step() { printf '\n$ %s\n' "$*"; }

# registries_answer tells whether the channel and the base image that crun
# takes by itself are to be had from here.
registries_answer() {
	local url
	for url in https://conda.anaconda.org/conda-forge/noarch/repodata_shards.msgpack.zst https://registry-1.docker.io/v2/; do
		curl -sS -m 5 -o /dev/null "$url" 2>/dev/null || return 1
	done
}

"$here/engine.sh"
if [ -n "${CRUN_CONFIG:-}" ]; then
	say "using the configuration in $CRUN_CONFIG"
elif registries_answer; then
	say "conda-forge and the image registry answer: using them"
else
	say "conda-forge or the image registry doesn't answer: making a base image and a channel of our own"
	CRUN_CONFIG=$("$here/all.sh")
	export CRUN_CONFIG
fi

export PATH="$root/bin:$PATH"
cd "$root/examples"

step crun build
crun build

step crun run --profile small --name demo train.py
crun run --profile small --name demo train.py

step crun inspect demo
crun inspect demo

cat <<EOT

That is crun: an image from environment.yml, a training under a profile's limits, and the proof that they held.
Try next, in examples/ with $root/bin on your PATH${CRUN_CONFIG:+ and CRUN_CONFIG=$CRUN_CONFIG}:
  crun run --profile small python -c 'b"x" * (5 << 30)'   # more memory than it has, and what crun says
  crun run -d train.py; crun ps       # in the background; crun logs -f NAME shows it
  crun profiles show small            # every limit, and where it is set
  make shell                          # a shell in the environment under the same limits
EOT
