# Run by engines.sh in namespaces of its own: makes the tree the root and becomes the engine.
# shellcheck shell=bash
set -euo pipefail
mount --bind "$TREE" "$TREE"
for place in proc sys dev; do mount --rbind /$place "$TREE/$place"; done
mount -t tmpfs -o mode=755 tmpfs "$TREE/run"
for place in $HOMES; do
	mkdir -p "$TREE$place"
	mount --rbind "$place" "$TREE$place"
done
cat /etc/resolv.conf >"$TREE/etc/resolv.conf"
for _ in $(seq 100); do ip link show up0 >/dev/null 2>&1 && break; sleep 0.1; done
ip link set lo up
ip address add "${GATEWAY%.*.*}.255.$NUMBER/16" dev up0
ip link set up0 up
ip route add default via "$GATEWAY"
# Not chroot: a process in one may make no user namespace, which a rootless engine is made of.
cd "$TREE"
mkdir -p .host
pivot_root . .host
umount -l /.host
rmdir /.host
export PATH=/usr/sbin:/usr/bin:/sbin:/bin
# Where the tests name devices to the engine, which has no GPU. Docker knows the folder by its name on the machine.
cdi=${SOCKET%/*}/cdi
mkdir -p "$cdi" /etc/cdi
mount --bind "$cdi" /etc/cdi
common="--host=unix://$SOCKET --bip=10.231.$NUMBER.1/24 --data-root=/var/lib/docker --exec-root=/run/docker --pidfile=/run/docker.pid"
case $NAME in
*-rootless)
	uid=$((4300 + NUMBER)) home=/var/lib/rootless
	grep -q ^rootless: /etc/passwd || useradd --uid "$uid" --user-group --home-dir "$home" --create-home rootless
	for file in /etc/subuid /etc/subgid; do echo "rootless:$((NUMBER * 100000)):65536" >"$file"; done
	export HOME=$home XDG_RUNTIME_DIR=${SOCKET%/*}
	chown rootless: "$XDG_RUNTIME_DIR"
	# For everybody, as udev makes it; a machine without udev may have it for root alone.
	mount -t tmpfs -o mode=755 tmpfs /dev/net
	mknod -m 666 /dev/net/tun c 10 200
	as="setpriv --reuid=$uid --regid=$uid --init-groups" ;;&
docker-rootless)
	PATH+=:/usr/share/docker.io/contrib
	exec $as dockerd-rootless.sh --host="unix://$SOCKET" ;;
podman-rootless)
	export STORAGE_DRIVER=overlay # for an ordinary user Debian's has vfs
	exec $as podman --cgroup-manager=cgroupfs --runtime=runc system service --time=0 "unix://$SOCKET" ;;
docker-ssh)
	hostname remote
	install -d -m 700 /root/.ssh
	echo "$KEY" >/root/.ssh/authorized_keys
	ssh-keygen -A >/dev/null
	mkdir -p /run/sshd
	setpriv --pdeathsig TERM /usr/sbin/sshd -D -e &
	exec dockerd $common ;;
podman)
	# Podman asks for 1048576 processes in each container, which one that may not raise limits cannot give.
	printf '[containers]\ndefault_ulimits = ["nproc=%s:%s", "nofile=%s:%s"]\n' \
		"$(ulimit -Hu)" "$(ulimit -Hu)" "$(ulimit -Hn)" "$(ulimit -Hn)" | sed 's/unlimited/-1/g' >/etc/containers/containers.conf
	exec podman --cgroup-manager=cgroupfs --runtime=runc system service --time=0 "unix://$SOCKET" ;;
*-containerd) exec dockerd $common --config-file=<(echo '{"features":{"containerd-snapshotter":true,"cdi":true},"cdi-spec-dirs":["'"$cdi"'"]}') ;;
*) exec dockerd $common --config-file=<(echo '{"features":{"cdi":true},"cdi-spec-dirs":["'"$cdi"'"]}') ;;
esac
