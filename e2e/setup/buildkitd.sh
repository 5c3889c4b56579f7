#!/usr/bin/env bash
# A buildkitd of its own for tests, on a private socket and with its own root folder.
#   buildkitd.sh start   builds it where needed, starts it, prints its address for BUILDKIT_HOST
#   buildkitd.sh stop    ends the one that start has started
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
. "$here/lib.sh"
root=$(cd "$here/../.." && pwd)
dir=$CACHE/buildkitd socket=$CACHE/buildkitd/buildkitd.sock pidfile=$CACHE/buildkitd/pid

# running tells whether the pid file names a buildkitd of ours: a pid may have been given anew.
running() {
	[ -s "$pidfile" ] && tr '\0' ' ' <"/proc/$(cat "$pidfile")/cmdline" 2>/dev/null | grep -qF -- "--addr unix://$socket"
}

start() {
	[ "$(id -u)" = 0 ] || die "buildkitd has to be run as root"
	lock_cache
	mkdir -p "$dir"
	if ! running; then
		need runc=runc
		local version
		version=$(cd "$root" && "${GO:-go}" list -m -f '{{.Version}}' github.com/moby/buildkit)
		local binary=$dir/buildkitd-$version
		if [ ! -x "$binary" ]; then
			say "compiling buildkitd $version, the version that crun requires (about 2 min), log $dir/compile.log"
			# As its own main module: our go.sum knows nothing of what the daemon needs.
			local source
			source=$(cd "$root" && "${GO:-go}" list -m -f '{{.Dir}}' github.com/moby/buildkit)
			(cd "$source" && CGO_ENABLED=0 "${GO:-go}" build -o "$binary.tmp" ./cmd/buildkitd) \
				>"$dir/compile.log" 2>&1 9>&- || { tail -n 20 "$dir/compile.log" >&2; die "buildkitd could not be compiled"; }
			mv "$binary.tmp" "$binary"
		fi
		setsid "$binary" --addr "unix://$socket" --root "$dir/root" --oci-worker-net host --containerd-worker=false \
			>"$dir/log" 2>&1 </dev/null 9>&- &
		echo $! >"$pidfile"
		for _ in $(seq 100); do
			[ -S "$socket" ] && break
			running || { tail -n 20 "$dir/log" >&2; die "buildkitd did not start"; }
			sleep 0.1
		done
	fi
	echo "unix://$socket"
}

stop() {
	running || return 0
	local pid
	pid=$(cat "$pidfile")
	kill "$pid"
	while [ -e "/proc/$pid" ]; do sleep 0.1; done
	rm -f "$pidfile" "$socket"
}

case ${1:-} in
start | stop) "$1" ;;
*) die "usage: buildkitd.sh start | stop" ;;
esac
