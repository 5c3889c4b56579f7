#!/bin/sh
# vm-rootless.sh PIECE, in the machine of vm.sh, as an ordinary user who lingers: runs below a rootless engine of their own.
#   start  sets the engine up and starts it; makes the image small:1
#   held   a run that shows what holds it, from inside and by crun inspect
#   less   what comes of limits that are not delegated to the user
set -eu
XDG_RUNTIME_DIR=/run/user/$(id -u)
export XDG_RUNTIME_DIR DOCKER_HOST="unix://$XDG_RUNTIME_DIR/docker.sock" PATH="/usr/share/docker.io/contrib:/usr/sbin:/sbin:$PATH"
mkdir -p ~/rootless && cd ~/rootless
: >environment.yml

start() {
	# The rules for iptables would need a module that this user may not load, and no run here needs the network.
	[ -f ~/.config/systemd/user/docker.service ] || dockerd-rootless-setuptool.sh install --force --skip-iptables >setup.log 2>&1 || { tail setup.log; exit 1; }
	systemctl --user start docker
	n=0
	until docker version >/dev/null 2>&1; do
		n=$((n+1)); [ $n -lt 200 ] || { systemctl --user --no-pager status docker; exit 1; }
		sleep 1
	done
	# An image of a shell and little else: the tests' own would take minutes to load here.
	docker image inspect small:1 >/dev/null 2>&1 || {
		rm -rf image
		mkdir -p image/bin image/lib image/tmp
		cp /usr/lib/klibc/bin/* image/bin
		cp /lib/klibc-*.so image/lib
		tar -C image -c . | docker import -c 'ENV PATH=/bin' - small:1
	}
}

held() {
	cat >shows.sh <<-'END'
	for file in memory.max memory.swap.max memory.low cpu.max cpuset.cpus pids.max; do echo $file $(cat /sys/fs/cgroup/$file); done
	echo oom_score_adj $(cat /proc/self/oom_score_adj)
	echo made >out
	trap 'echo saved; exit 3' USR1
	dd if=/dev/zero of=/dev/shm/x bs=1024k count=48 2>/dev/null
	i=0; while [ $i -lt 600 ]; do sleep 0.1; i=$((i+1)); done
	END
	crun rm held >/dev/null 2>&1 || :
	code=0
	crun run --image small:1 --profile small --memory 96m --memory-reservation 48m --cpus 0.5 --cpuset 1 --pids 100 --shm-size 64m \
		--tmpdir 16m --oom-score-adj 300 --signal-before-kill usr1,memory=50% --name held sh shows.sh || code=$?
	echo "exit code $code"
	stat -c 'out belongs to %U' out
	crun inspect held
}

less() {
	docker ps -aq | wc -l
	code=0
	crun run -q --image small:1 --profile small --cpuset 0 --name less sh -c 'echo started' || code=$?
	echo "exit code $code"
	docker ps -aq | wc -l
	crun doctor | grep -A3 '^[a-z]* *cgroup' || :
}

"$1"
