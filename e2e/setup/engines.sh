#!/usr/bin/env bash
# Other engines than the machine's own, each out of a Debian tree of its own, in mount and network namespaces of its own.
#   engines.sh NAME start    makes the tree where needed, starts the engine, prints its address for DOCKER_HOST
#   engines.sh NAME stop     ends the one that start has started
#   engines.sh list          the names
# The home folder, /tmp, /var/tmp and this checkout are the engine's, too, so that it mounts what a run asks for; what is mounted
# there later it sees where the machine's / is shared, as systemd has it. Its bridge hangs on the machine's own engine's, whose
# rules lead its containers to the network.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
. "$here/lib.sh"
checkout=$(cd "$here/../.." && pwd)

# NAME SUITE NUMBER PACKAGES: the number makes addresses. Versions are those of Debian's releases. What is called rootless is an
# ordinary user's, whose uid is 4300 and the number. docker-ssh is another machine in all but its kernel: it shares no folder, has a
# name of its own, and is reached by ssh alone; the ssh in the folder bin beside its log
# has the key.
engines="\
docker-26 trixie 26 docker.io,iptables,ca-certificates
docker-28 forky 28 docker.io,iptables,ca-certificates
docker-28-containerd forky 29 docker.io,iptables,ca-certificates
podman bookworm 43 podman,runc,netavark,aardvark-dns,iptables,ca-certificates
docker-ssh trixie 30 docker.io,docker-cli,openssh-server,iptables,ca-certificates
docker-rootless trixie 27 docker.io,rootlesskit,slirp4netns,uidmap,iproute2,iptables,ca-certificates
podman-rootless bookworm 44 podman,runc,netavark,aardvark-dns,slirp4netns,uidmap,fuse-overlayfs,iptables,ca-certificates"

if [ "${1:-}" = list ]; then
	cut -d' ' -f1 <<<"$engines"
	exit 0
fi
read -r name suite number packages <<<"$(grep "^${1:-none} " <<<"$engines" || true)"
[ -n "${name:-}" ] || die "usage: engines.sh NAME start | stop; names are: $(cut -d' ' -f1 <<<"$engines" | tr '\n' ' ')"
# Engines of one release share nothing but the archives that were fetched.
dir=$CACHE/engines/$name
tree=$dir/root pidfile=$dir/pid log=$dir/log
# Where a user who may call the engine gets to it.
sockets=/run/crun-engines socket=$sockets/$name/engine.sock

shared="$HOME /tmp /var/tmp $sockets $checkout" address=unix://$socket
[ "$name" != docker-ssh ] || { shared='' socket=/run/docker.sock; }

# running tells whether the pid file names a process in our tree: a pid may have been given anew.
running() { [ -s "$pidfile" ] && grep -qsF -- "$socket" "/proc/$(<"$pidfile")/cmdline"; }

make_tree() {
	local recipe
	recipe=$(printf '%s\n' "$suite $packages" | sha256sum | cut -c1-12)
	[ "$(cat "$tree/.made" 2>/dev/null)" != "$recipe" ] || return 0
	need debootstrap=debootstrap /usr/share/keyrings/debian-archive-keyring.gpg=debian-archive-keyring
	say "making a Debian $suite root with ${packages%%,*} (about 90 s), log $dir/debootstrap.log"
	rm -rf --one-file-system "$tree"
	mkdir -p "$tree" "$CACHE/engines/archives"
	# The script of all releases since 2020: this machine's debootstrap may not know the newest by name.
	debootstrap --variant=minbase --include="$packages" --cache-dir="$CACHE/engines/archives" \
		--keyring=/usr/share/keyrings/debian-archive-keyring.gpg "$suite" "$tree" "$(debian_mirror)" \
		/usr/share/debootstrap/scripts/sid \
		>"$dir/debootstrap.log" 2>&1 9>&- || { tail -n 20 "$dir/debootstrap.log" >&2; die "debootstrap failed"; }
	rm -rf "$tree"/var/lib/apt/lists/* "$tree"/var/cache/apt/archives/*.deb
	echo "$recipe" >"$tree/.made"
}

start() {
	[ "$(id -u)" = 0 ] || die "another engine has to be started as root"
	lock_cache
	mkdir -p "$dir" "$sockets/$name"
	if ! running; then
		DOCKER_HOST='' "$here/engine.sh" # whose bridge is the way out
		make_tree
		rm -f "${address#unix://}"
		need ip=iproute2 unshare=util-linux
		GATEWAY=$(ip -4 -o address show docker0 | grep -o 'inet [0-9.]*' | cut -d' ' -f2)
		export GATEWAY
		ssh_key
		# What a shell starts behind itself ignores Ctrl-C, and Podman hands that on to what it starts.
		NAME=$name NUMBER=$number TREE=$tree SOCKET=$socket HOMES=$shared KEY=${key:-} \
			setsid env --default-signal=INT,QUIT unshare --mount --net --uts --propagation slave bash "$here/engines-inside.sh" >"$log" 2>&1 </dev/null 9>&- &
		echo $! >"$pidfile"
		local side=ce$number
		for _ in $(seq 50); do [ "$(readlink "/proc/$!/ns/net")" != "$(readlink /proc/self/ns/net)" ] && break; sleep 0.1; done
		ip link add "$side" type veth peer name up0 netns "$!"
		ip link set "$side" master docker0 up
		for _ in $(seq 300); do
			# Until it has become the engine, the root of the process is this machine's.
			grep -qs -- "$socket" "/proc/$(<"$pidfile")/cmdline" && DOCKER_HOST=$(local_address) engine_answers && break
			kill -0 "$(<"$pidfile")" 2>/dev/null || { tail -n 20 "$log" >&2; die "$name did not start, log $log"; }
			sleep 0.2
		done
		DOCKER_HOST=$(local_address) engine_answers || { tail -n 20 "$log" >&2; die "$name doesn't answer at $socket, log $log"; }
		# Podman leaves to systemd's unit of its socket who may call it.
		[ "$name" != podman ] || { chgrp docker "$socket" && chmod 660 "$socket"; }
	fi
	DOCKER_HOST=$(local_address) "$here/base.sh"
	[ "$name" != docker-ssh ] || address=ssh://root@$(remote_host)
	echo "$address"
}

# local_address is where this machine's root reaches the engine without ssh.
local_address() {
	case $name in
	docker-ssh) echo "unix:///proc/$(<"$pidfile")/root$socket" ;;
	*) echo "unix://$socket" ;;
	esac
}

remote_host() { ip -4 -o address show docker0 | sed -n "s/.*inet \([0-9]*\.[0-9]*\)\..*/\1.255.$number/p"; }

# ssh_key makes the key for docker-ssh, and an ssh that uses it.
ssh_key() {
	[ "$name" = docker-ssh ] || return 0
	need ssh-keygen=openssh-client
	[ -f "$dir/key" ] || ssh-keygen -q -t ed25519 -N '' -f "$dir/key"
	key=$(<"$dir/key.pub")
	printf 'Host *\n\tIdentityFile %s\n\tStrictHostKeyChecking no\n\tUserKnownHostsFile /dev/null\n\tLogLevel ERROR\n' "$dir/key" >"$dir/ssh_config"
	mkdir -p "$dir/bin"
	printf '#!/bin/sh\nexec %s -F %s "$@"\n' "$(command -v ssh)" "$dir/ssh_config" >"$dir/bin/ssh"
	chmod 755 "$dir/bin/ssh"
}

stop() {
	running || return 0
	local pid
	pid=$(<"$pidfile")
	kill "$pid"
	for _ in $(seq 300); do [ -e "/proc/$pid" ] || break; sleep 0.1; done
	[ ! -e "/proc/$pid" ] || kill -9 "$pid"
	ip link del "ce$number" 2>/dev/null || true
	rm -f "$pidfile" "${address#unix://}"
}

case ${2:-} in
start | stop) "$2" ;;
*) die "usage: engines.sh NAME start | stop" ;;
esac
