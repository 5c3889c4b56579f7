#!/usr/bin/env bash
# A test machine in QEMU: Debian 12 with systemd as its first process, cgroup v2, logind, sshd and Docker Engine. What must
# not happen to the machine that tests (a reboot, ended logins, no memory left) happens there.
#   vm.sh build     packages, root tree, key, disk image (once; about 3 min)
#   vm.sh start     boots it and waits for ssh
#   vm.sh alive     tells by its exit status whether it runs
#   vm.sh ssh ...   runs a command in it as root (USER_IN=tester for a plain user)
#   vm.sh put PATH FILE...   copies files in
#   vm.sh reboot    and waits until ssh answers with a new boot_id
#   vm.sh stop      powers it off, and kills it by pid if it does not go
# Environment: PORT=2222 MEM=6G CPUS=2 DISK=12G ACCEL=tcg|kvm|auto WAIT=600
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
. "$here/lib.sh"
D=$CACHE/vm IMAGES=$BASE_IMAGE PORT=${PORT:-2222} MEM=${MEM:-6G} CPUS=${CPUS:-2} DISK=${DISK:-12G}
ACCEL=${ACCEL:-auto} WAIT=${WAIT:-600} SUITE=bookworm USER_IN=${USER_IN:-root}
mkdir -p "$D"
opts="-i $D/key -o BatchMode=yes -o StrictHostKeyChecking=no -o UserKnownHostsFile=/dev/null -o LogLevel=ERROR -o ConnectTimeout=10"
in_vm() { ssh -n -p "$PORT" $opts "$USER_IN@127.0.0.1" "$@"; }
alive() { [ -s "$D/qemu.pid" ] && kill -0 "$(cat "$D/qemu.pid")" 2>/dev/null; }

build() {
  [ "$(id -u)" = 0 ] || die "the machine's disk has to be made as root"
  need qemu-system-x86_64=qemu-system-x86 debootstrap=debootstrap ssh-keygen=openssh-client mkfs.ext4=e2fsprogs \
    /usr/share/keyrings/debian-archive-keyring.gpg=debian-archive-keyring
  [ -f "$D/key" ] || ssh-keygen -q -t ed25519 -N '' -f "$D/key"
  if [ ! -f "$D/root/.done" ]; then
    rm -rf "$D/root"; mkdir -p "$D/debs"
    mirror=$(debian_mirror)
    debootstrap --variant=minbase --cache-dir="$D/debs" --include=systemd-sysv,libpam-systemd,dbus,udev,kmod,procps,iproute2,iptables,openssh-server,docker.io,apparmor,linux-image-cloud-amd64,zstd,python3-minimal,ca-certificates,dbus-user-session,uidmap,rootlesskit,slirp4netns \
      "$SUITE" "$D/root" "$mirror" >"$D/debootstrap.log" 2>&1 || { tail "$D/debootstrap.log"; exit 1; }
    R=$D/root
    echo vm >"$R/etc/hostname"; echo '127.0.0.1 localhost vm' >"$R/etc/hosts"
    echo '/dev/vda / ext4 rw,relatime 0 1' >"$R/etc/fstab"
    : >"$R/etc/machine-id"
    printf '[Match]\nType=ether\nName=en* eth*\n[Network]\nAddress=10.0.2.15/24\n' >"$R/etc/systemd/network/10-vm.network"
    mkdir -p "$R/etc/systemd/logind.conf.d" "$R/etc/systemd/journald.conf.d"
    printf '[Login]\nKillUserProcesses=yes\n' >"$R/etc/systemd/logind.conf.d/kill.conf"
    printf '[Journal]\nStorage=persistent\n' >"$R/etc/systemd/journald.conf.d/keep.conf"
    mkdir -p "$R/etc/systemd/system.conf.d"   # an emulated machine is slow
    printf '[Manager]\nDefaultTimeoutStartSec=600s\nDefaultDeviceTimeoutSec=600s\nDefaultTimeoutStopSec=60s\n' >"$R/etc/systemd/system.conf.d/slow.conf"
    mkdir -p "$R/etc/systemd/system/user@.service.d" # what a rootless engine needs for limits to hold
    printf '[Service]\nDelegate=cpu cpuset io memory pids\n' >"$R/etc/systemd/system/user@.service.d/delegate.conf"
    echo 'UseDNS no' >"$R/etc/ssh/sshd_config.d/vm.conf"
    chroot "$R" useradd -m -s /bin/bash -G docker tester
    for h in root home/tester; do mkdir -p "$R/$h/.ssh"; cp "$D/key.pub" "$R/$h/.ssh/authorized_keys"; chmod 700 "$R/$h/.ssh"; done
    chroot "$R" chown -R tester: /home/tester
    # a small initrd: only what finds the disk
    sed -i 's/^MODULES=.*/MODULES=list/; s/^COMPRESS=.*/COMPRESS=zstd/' "$R/etc/initramfs-tools/initramfs.conf"
    printf 'virtio_pci\nvirtio_blk\next4\n' >>"$R/etc/initramfs-tools/modules"
    chroot "$R" update-initramfs -u >>"$D/debootstrap.log" 2>&1
    for u in systemd-networkd.service serial-getty@ttyS0.service; do chroot "$R" systemctl -q enable $u; done
    for u in apt-daily.timer apt-daily-upgrade.timer dpkg-db-backup.timer e2scrub_all.timer e2scrub_reap.service fstrim.timer man-db.timer; do chroot "$R" systemctl -q disable $u 2>/dev/null || :; done
    chroot "$R" systemctl -q mask systemd-networkd-wait-online.service
    rm -rf "$R/var/cache/apt/archives/"*.deb "$R/var/lib/apt/lists/"*
    touch "$R/.done"
  fi
  [ -z "${IMAGES:-}" ] || [ -f "$D/disk.raw" ] || preload $IMAGES
  cp "$D"/root/boot/vmlinuz-* "$D/vmlinuz"; cp "$D"/root/boot/initrd.img-* "$D/initrd"
  [ -f "$D/disk.raw" ] || { truncate -s "$DISK" "$D/disk.raw.new"; mkfs.ext4 -q -F -m 0 -E lazy_itable_init=1 -d "$D/root" "$D/disk.raw.new"; mv "$D/disk.raw.new" "$D/disk.raw"; }
}

# Loading an image inside the emulated machine takes minutes, here seconds: the tree's own dockerd
# writes into the tree, in mount and network namespaces of its own (it leaves docker0 of this machine alone).
preload() {
  docker save "$@" -o "$D/root/images.tar"
  unshare -nm --propagation private sh -eu -c '
    R=$1; mount --bind "$R" "$R"; for m in proc sys dev; do mount --rbind /$m "$R/$m"; done
    mount -t tmpfs tmpfs "$R/run"; mount -t tmpfs tmpfs "$R/tmp"; ip link set lo up
    chroot "$R" dockerd --bridge=none --iptables=false --storage-driver=overlay2 -H unix:///run/d.sock >"$2" 2>&1 & p=$!
    trap "kill $p; wait $p || :" EXIT
    d="chroot $R docker -H unix:///run/d.sock"; i=0
    until $d version >/dev/null 2>&1; do i=$((i+1)); [ $i -lt 60 ]; kill -0 $p; sleep 0.5; done
    $d load -q -i /images.tar' x "$D/root" "$D/preload.log"
  rm -f "$D/root/images.tar"
}

start() {
  alive && { say "already runs"; return; }
  acc=$ACCEL
  # kvm-pvm (no hardware virtualisation below) has /dev/kvm, but runs no ordinary kernel
  [ "$acc" != auto ] || { acc=tcg; grep -qwE 'vmx|svm' /proc/cpuinfo && [ -w /dev/kvm ] && acc=kvm; }
  case $acc in kvm) a='-accel kvm -cpu host';; *) a='-accel tcg,thread=multi,tb-size=1024 -cpu max,la57=off';; esac
  # restrict=on: the guest reaches no address at all; only the forwarded ssh port comes in
  qemu-system-x86_64 -nodefaults -no-user-config -machine q35 $a -m "$MEM" -smp "$CPUS" -display none -serial file:"$D/console.log" \
    -kernel "$D/vmlinuz" -initrd "$D/initrd" -append "root=/dev/vda rw console=ttyS0 mitigations=off random.trust_cpu=on net.ifnames=0 ${APPEND:-}" \
    -drive file="$D/disk.raw",format=raw,if=virtio,cache=unsafe,discard=unmap \
    -netdev user,id=n,restrict=on,hostfwd=tcp:127.0.0.1:"$PORT"-:22 -device virtio-net-pci,netdev=n,romfile= -device virtio-rng-pci >"$D/qemu.log" 2>&1 &
  echo $! >"$D/qemu.pid"; say "qemu ($acc) pid $(cat "$D/qemu.pid")"; wait_ssh
}

wait_ssh() {
  t0=$(date +%s)
  until in_vm true 2>/dev/null; do
    alive || { say "qemu ended"; cat "$D/qemu.log"; exit 1; }
    [ $(($(date +%s) - t0)) -lt "$WAIT" ] || { say "no ssh in $WAIT s"; tail "$D/console.log"; exit 1; }
    sleep 1
  done
  say "ssh after $(($(date +%s) - t0)) s"
}

reboot_vm() {
  b=/proc/sys/kernel/random/boot_id; t1=$(date +%s); USER_IN=root; old=$(in_vm cat $b); in_vm systemctl reboot || :
  until new=$(in_vm cat $b 2>/dev/null) && [ "$new" != "$old" ]; do
    alive && [ $(($(date +%s) - t1)) -lt "$WAIT" ] || { say "not back"; tail "$D/console.log"; exit 1; }
    sleep 1
  done
  say "back after $(($(date +%s) - t1)) s"
}

stop() {
  if alive; then
    USER_IN=root in_vm systemctl poweroff 2>/dev/null || :
    for i in $(seq 90); do alive || break; sleep 1; done
    ! alive || { say "killed by pid"; kill "$(cat "$D/qemu.pid")"; sleep 1; ! alive || kill -9 "$(cat "$D/qemu.pid")"; }
  fi
  rm -f "$D/qemu.pid"
}

c=${1:-}; [ $# -eq 0 ] || shift
case $c in
  build) build;; start) start;; alive) alive;; wait) wait_ssh;; reboot) reboot_vm;; stop) stop;;
  ssh) exec ssh -p "$PORT" $opts "$USER_IN@127.0.0.1" "$@";;
  put) to=$1; shift; exec scp -q -r -P "$PORT" $opts "$@" "$USER_IN@127.0.0.1:$to";;
  *) die "usage: vm.sh build | start | alive | wait | ssh COMMAND | put PATH FILE... | reboot | stop" ;;
esac
