#!/usr/bin/env bash
# Serves the local conda channel where containers of the engine reach it, and prints its URL.
# It stays up until channel-down.sh; one that is up already is used.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
. "$here/lib.sh"
run=$CACHE/serve server=$CACHE/serve/channel-serve

# The engine's bridge, as containers and builds see this machine. An engine that was told no gateway
# takes the first address of the subnet.
bridge() {
	local network gateway subnet
	network=$(engine GET /networks/bridge -f 2>/dev/null) || return 0
	gateway=$(grep -o '"Gateway":"[0-9.]*"' <<<"$network" | head -n 1 | cut -d'"' -f4) || true
	subnet=$(grep -o '"Subnet":"[0-9.]*/' <<<"$network" | head -n 1 | cut -d'"' -f4) || true
	subnet=${subnet%/}
	if [ -n "$gateway" ]; then
		echo "$gateway"
	elif [ -n "$subnet" ]; then
		echo "${subnet%.*}.$((${subnet##*.} + 1))"
	fi
}
host=$(bridge)
if [ -z "$host" ]; then
	host=127.0.0.1
	say "the engine has no bridge network: the channel is reached with host networking alone"
fi

# Up means: the process is ours, it listens on this address and the channel is behind it.
up() {
	[ -s "$run/url" ] && [ -s "$run/pid" ] || return 1
	[ "$(readlink "/proc/$(<"$run/pid")/exe" 2>/dev/null)" = "$server" ] || return 1
	[[ $(<"$run/url") == "http://$host:"* ]] || return 1
	curl -sf --noproxy '*' -m 5 -o /dev/null "$(<"$run/url")/noarch/repodata.json"
}
if ! up; then
	lock_cache
	if ! up; then
		[ -f "$CACHE/channel/noarch/repodata.json" ] || die "there is no channel in $CACHE/channel: run e2e/channel/make.sh"
		"$here/channel-down.sh"
		command -v "${GO:-go}" >/dev/null || die "needs Go: install it and try again"
		mkdir -p "$run"
		(cd "$here/../.." && CGO_ENABLED=0 "${GO:-go}" build -o "$server" ./e2e/channel/serve)
		say "serving the channel, log $run/log"
		setsid "$server" -dir "$CACHE/channel" -addr "$host:${CRUN_CHANNEL_PORT:-8765}" -ready "$run/url" \
			>>"$run/log" 2>&1 </dev/null 9>&- &
		echo $! >"$run/pid"
		for _ in $(seq 50); do
			! up || break
			sleep 0.1
		done
		up || {
			tail -n 5 "$run/log" >&2
			die "the channel doesn't answer on $host"
		}
	fi
fi
cat "$run/url"
