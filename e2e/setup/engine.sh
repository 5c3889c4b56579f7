#!/usr/bin/env bash
# Makes sure that a Docker engine answers. One that does is used as it is.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
. "$here/lib.sh"

# With what the scripts and a build need of this machine: curl, and certificates for what it fetches.
certificates=/etc/ssl/certs/ca-certificates.crt
command -v curl >/dev/null && [ -s "$certificates" ] && engine_answers && exit 0
lock_cache
need curl=curl flock=util-linux "$certificates=ca-certificates"
engine_answers && exit 0 # another run started it while this one waited

[ -z "${DOCKER_HOST:-}" ] || die "no engine answers at DOCKER_HOST=$DOCKER_HOST"
if [ "$(id -u)" != 0 ] || ! command -v apt-get >/dev/null; then
	die "no Docker engine answers at /var/run/docker.sock: install Docker Engine 20.10 or later and start it, or set DOCKER_HOST"
fi
need dockerd=docker.io

if [ -d /run/systemd/system ]; then
	say "starting docker by systemctl"
	systemctl start docker
else
	# No init system, as in a container or a small virtual machine: dockerd is started by hand and stays.
	# A daemon that was killed leaves its pid file, and the next one takes whoever has got that pid for it.
	for name in docker docker/containerd/containerd; do
		pid=$(cat "/var/run/$name.pid" 2>/dev/null) || continue
		case $(cat "/proc/$pid/comm" 2>/dev/null) in
		dockerd | containerd) ;;
		*) rm -f "/var/run/$name.pid" ;;
		esac
	done
	log=$CACHE/dockerd.log
	say "starting dockerd, log $log"
	setsid dockerd >>"$log" 2>&1 </dev/null 9>&- &
	pid=$!
fi
for _ in $(seq 150); do
	engine_answers && exit 0
	[ -z "${pid:-}" ] || kill -0 "$pid" 2>/dev/null || break
	sleep 0.2
done
[ -z "${log:-}" ] || tail -n 20 "$log" >&2
die "dockerd was started but doesn't answer at /var/run/docker.sock"
