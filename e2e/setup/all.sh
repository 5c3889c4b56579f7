#!/usr/bin/env bash
# Makes this machine ready for crun's demo and tests, from Debian's and PyPI's packages alone: an engine, a base image
# and a conda channel that is served. Prints the path of a config.yaml for crun that names them. Where all is there
# already it takes well under a second; cold, some five minutes on two cores.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
. "$here/lib.sh"
lock_cache

"$here/engine.sh"
"$here/base.sh"
"$here/../channel/make.sh"
url=$("$here/channel-up.sh")

config=$CACHE/config.yaml
content="# Made by e2e/setup/all.sh.
base: $BASE_IMAGE
toolbox_base: $BASE_IMAGE
mirrors:
  conda:
    conda-forge: $url"
if [ ! -f "$config" ] || [ "$(<"$config")" != "$content" ]; then
	echo "$content" >"$config.tmp"
	mv "$config.tmp" "$config"
fi
echo "$config"
