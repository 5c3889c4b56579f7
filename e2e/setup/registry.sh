#!/usr/bin/env bash
# An image registry for tests, Debian's docker-registry, on 127.0.0.1: engines take that without TLS.
#   registry.sh start   installs it where needed, starts it, prints its host:port
#   registry.sh stop    ends the one that start has started
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
. "$here/lib.sh"
dir=$CACHE/registry pidfile=$CACHE/registry/pid address=127.0.0.1:${CRUN_REGISTRY_PORT:-8766}

running() {
	[ -s "$pidfile" ] && tr '\0' ' ' <"/proc/$(<"$pidfile")/cmdline" 2>/dev/null | grep -qF -- "serve $dir/config.yml"
}

start() {
	lock_cache
	mkdir -p "$dir"
	if ! running; then
		need docker-registry=docker-registry
		rm -rf "$dir/data" # each start is a registry with nothing in it
		cat >"$dir/config.yml" <<-EOT
			version: 0.1
			log: {level: warn}
			storage:
			  filesystem: {rootdirectory: $dir/data}
			  delete: {enabled: true}
			http: {addr: "$address"}
		EOT
		setsid docker-registry serve "$dir/config.yml" >"$dir/log" 2>&1 </dev/null 9>&- &
		echo $! >"$pidfile"
		for _ in $(seq 50); do
			! curl -sf --noproxy '*' -m 2 -o /dev/null "http://$address/v2/" || break
			running || { tail -n 10 "$dir/log" >&2; die "the registry did not start"; }
			sleep 0.1
		done
	fi
	echo "$address"
}

stop() {
	running || return 0
	local pid
	pid=$(<"$pidfile")
	kill "$pid"
	while [ -e "/proc/$pid" ]; do sleep 0.1; done
	rm -rf "$pidfile" "$dir/data"
}

case ${1:-} in
start | stop) "$1" ;;
*) die "usage: registry.sh start | stop" ;;
esac
