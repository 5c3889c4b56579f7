#!/usr/bin/env bash
# Recipe: PyTorch 1.7.1 for CPUs from bullseye's python3-torch. Makes the tree $1, a conda prefix.
# shellcheck disable=SC2016 # $ORIGIN is the loader's, not the shell's
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
. "$here/../setup/lib.sh"
. "$here/bullseye.sh"
tree=$1 root=$CACHE/work/pytorch-root.tmp
rm -rf --one-file-system "$root" "$root.debs" "$tree"
bullseye_unpack "$root" python3-torch libopenblas0-pthread

# The Python side, without what only building against torch needs and without torch's own tests.
site=$tree/lib/python3.9/site-packages from=$root/usr/lib/python3/dist-packages
mkdir -p "$site" "$tree/info/licenses"
rm -rf "$from"/torch/{include,share,test} "$from"/torch/bin/test_* "$from"/torch/lib/libcaffe2_*
cp -a "$from/torch" "$site/"
find "$site" -name __pycache__ -prune -exec rm -rf {} +
cp "$root/usr/share/doc/libtorch1.7/copyright" "$tree/info/licenses/"
# Debian's build didn't know its own version: it says 1.7.0a0.
sed -i "s/^__version__ = .*/__version__ = '1.7.1'/" "$site/torch/version.py"

# The libraries: all that torch needs goes into lib/ and finds its neighbours there, wherever the prefix lies.
# ld.so itself lists them. OpenBLAS takes the place of the reference BLAS, some twenty times slower.
libs=/usr/lib/x86_64-linux-gnu
resolve() {
	chroot "$root" /lib64/ld-linux-x86-64.so.2 --library-path "$libs/openblas-pthread" --list "$1"
}
for link in "$site"/torch/lib/*.so; do
	name=$(basename "$(readlink "$link")")
	printf '%s => %s/%s\n' "$name" "$libs" "$name"
	resolve "$libs/$name"
	ln -sf "../../../../$name" "$link"
done >"$root/needed"
resolve "/usr/lib/python3/dist-packages/torch/bin/torch_shm_manager" >>"$root/needed"
glibc='^(ld-linux-x86-64\.so\.2|lib((c|m)\.so\.6|(mvec|nsl|anl)\.so\.1|(dl|rt|util|resolv)\.so\.[12]|pthread\.so\.0))$'
sed -nE 's/^[[:space:]]*([^ ]+) => (not found|[^ ]+).*/\1 \2/p' "$root/needed" | sort -u |
	# What is the C library's is the base image's; what python has in its lib/ comes with python.
	while read -r name path; do
		[ "$path" != 'not found' ] || die "pytorch needs $name, which isn't there"
		if [[ $name =~ $glibc ]] || grep -qxF "$name" "$here/pythonlibs.txt"; then continue; fi
		# Links of the system are absolute now and then, so they are followed inside the root.
		cp "$root$(chroot "$root" /bin/readlink -f "$path")" "$tree/lib/$name"
	done
chmod 644 "$tree"/lib/*.so*
for lib in "$tree"/lib/*.so*; do
	# A library opened through its link in torch/lib has the link's folder as $ORIGIN.
	patchelf --set-rpath '$ORIGIN:$ORIGIN/../../../..' "$lib"
done
patchelf --set-rpath '$ORIGIN/../../..' "$site"/torch/*.so
patchelf --set-rpath '$ORIGIN/../../../..' "$site/torch/bin/torch_shm_manager"

# Without this pip and uv think that torch is missing and fetch PyPI's.
mkdir "$site/torch-1.7.1.dist-info"
cat >"$site/torch-1.7.1.dist-info/METADATA" <<'END'
Metadata-Version: 2.1
Name: torch
Version: 1.7.1
Summary: Tensors and Dynamic neural networks in Python with strong GPU acceleration
License: BSD-3
Requires-Python: >=3.9,<3.10
Requires-Dist: numpy
Requires-Dist: typing-extensions
END
echo conda >"$site/torch-1.7.1.dist-info/INSTALLER"
# uv calls an installation without this file broken.
printf 'Wheel-Version: 1.0\nGenerator: crun\nRoot-Is-Purelib: false\nTag: cp39-cp39-linux_x86_64\n' \
	>"$site/torch-1.7.1.dist-info/WHEEL"
: >"$site/torch-1.7.1.dist-info/RECORD" # it names itself
(cd "$site" && find . ! -type d | sed 's|^\./||; s/$/,,/' | sort) >"$tree/record"
mv "$tree/record" "$site/torch-1.7.1.dist-info/RECORD"
cat >"$tree/info/index.json" <<'END'
{"name": "pytorch", "version": "1.7.1", "build": "py3.9_cpu_0", "build_number": 0, "subdir": "linux-64",
 "arch": "x86_64", "platform": "linux", "license": "BSD-3-Clause", "timestamp": 1607558400000,
 "depends": ["python >=3.9,<3.10.0a0", "numpy >=1.19,<2", "typing_extensions"]}
END
rm -rf --one-file-system "$root"
