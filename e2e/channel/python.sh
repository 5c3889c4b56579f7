#!/usr/bin/env bash
# Recipe: Python 3.9 from bullseye's source, compiled in a bullseye root. Makes the tree $1, a conda prefix.
# shellcheck disable=SC2016 # $ORIGIN is the loader's, not the shell's
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
. "$here/../setup/lib.sh"
. "$here/bullseye.sh"
tree=$1 root=$CACHE/work/python-root.tmp
rm -rf --one-file-system "$root" "$root.debs" "$tree"

# A compiler and what Python's modules are built against; bash to gcc are the tools of the build itself.
bullseye_unpack "$root" bash coreutils sed grep mawk tar xz-utils findutils diffutils make gcc \
	libc6-dev libssl-dev zlib1g-dev libbz2-dev liblzma-dev libffi-dev libsqlite3-dev libreadline-dev libncursesw5-dev uuid-dev
(cd "$root" && bullseye_apt source --download-only python3.9)
ln -s mawk "$root/usr/bin/awk" # the links that configuring the packages would have made
ln -s bash "$root/bin/sh"
mkdir -p "$root/dev" "$root/tmp" "$root/out"
mknod -m 666 "$root/dev/null" c 1 3
mknod -m 666 "$root/dev/urandom" c 1 9

cat >"$root/build.sh" <<'END'
set -eu
export PATH=/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C
tar -xJf /python3.9_*.orig.tar.xz
cd /Python-3.9.*
# PyTorch 1.7's autograd threads meet PyThread_exit_thread() when the interpreter ends after a backward pass:
# its pthread_exit unwinds through noexcept C++ and the process dies by SIGABRT. They wait for the end instead,
# as CPython does from 3.14 on.
[ "$(grep -c 'PyThread_exit_thread();' Python/ceval_gil.h)" = 3 ]
sed -i 's/PyThread_exit_thread();/for (;;) pause();/; 1i #include <unistd.h>' Python/ceval_gil.h
# No pip of its own: the channel's pip package is the only one.
# The root has neither /dev/shm nor /dev/ptmx, which configure would take for a system without them.
./configure -q ac_cv_posix_semaphores_enabled=yes ac_cv_broken_sem_getvalue=no ac_cv_file__dev_ptmx=yes \
	--prefix=/opt/prefix --without-ensurepip --enable-shared --enable-loadable-sqlite-extensions \
	LDFLAGS='-Wl,-rpath,\$$ORIGIN/../lib'
make -s -j2
make -s install DESTDIR=/out
END
# Of the environment nothing comes along: flags or a PYTHONHOME of the caller would be built in.
chroot "$root" /usr/bin/env -i /bin/bash /build.sh

# Without Python's own tests, its static library and Makefile, and compiled files, which the installer makes.
out=$root/out/opt/prefix libs=$root/usr/lib/x86_64-linux-gnu
rm -rf "$out"/lib/python3.9/{test,config-3.9*,idlelib/idle_test,lib2to3/tests} \
	"$out"/lib/python3.9/{ctypes,distutils,sqlite3,tkinter,unittest}/test{,s} "$out/share/man"
# nis alone would bring in Kerberos.
rm -f "$out"/lib/python3.9/lib-dynload/nis.*
find "$out" -name __pycache__ -prune -exec rm -rf {} +
ln -s python3.9 "$out/bin/python"

# The libraries that the modules were built against come along, so that no base image needs to have them.
while read -r name; do
	cp -L "$(find "$root/lib/x86_64-linux-gnu" "$libs" -maxdepth 1 -name "$name" | head -n 1)" "$out/lib/$name"
done <"$here/pythonlibs.txt"
chmod 644 "$out"/lib/lib*.so.*
chmod 755 "$out/lib/libpython3.9.so.1.0"
for lib in "$out"/lib/lib*.so.*; do
	patchelf --set-rpath '$ORIGIN' "$lib"
done
for module in "$out"/lib/python3.9/lib-dynload/*.so; do
	patchelf --set-rpath '$ORIGIN/../..' "$module"
done
for module in _ssl _sqlite3 _ctypes _bz2 _lzma zlib readline _curses _uuid _crypt; do
	compgen -G "$out/lib/python3.9/lib-dynload/$module.*" >/dev/null || die "Python was built without its module $module"
done

mkdir -p "$out/info/licenses"
cp "$root"/Python-3.9.*/LICENSE "$out/info/licenses/"
cat >"$out/info/index.json" <<'END'
{"name": "python", "version": "3.9.2", "build": "0_cpython", "build_number": 0, "subdir": "linux-64",
 "arch": "x86_64", "platform": "linux", "license": "PSF-2.0", "timestamp": 1613736000000, "depends": []}
END
mv "$out" "$tree"
rm -rf --one-file-system "$root"
