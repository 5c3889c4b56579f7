#!/usr/bin/env bash
# Ends the server that channel-up.sh started, and nothing else.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
. "$here/lib.sh"
run=$CACHE/serve
[ -s "$run/pid" ] || exit 0
lock_cache
pid=$(<"$run/pid")
# The number may have passed to another process meanwhile.
if [ "$(readlink "/proc/$pid/exe" 2>/dev/null)" = "$run/channel-serve" ]; then
	say "ending the channel's server, process $pid"
	kill "$pid"
	for _ in $(seq 50); do
		[ -e "/proc/$pid" ] || break
		sleep 0.1
	done
fi
rm -f "$run/pid" "$run/url"
