#!/usr/bin/env bash
# Makes a conda channel in the cache folder: Python 3.9 and PyTorch of Debian bullseye, the rest from PyPI's wheels.
# Each package is made again when its own recipe has changed, and only then. Cold it takes about four minutes on two cores.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
. "$here/../setup/lib.sh"
. "$here/bullseye.sh"
work=$CACHE/work packages=$CACHE/work/packages channel=$CACHE/channel

hash_of() { sha256sum | cut -c1-16; }
# done_as NAME HASH: whether NAME was finished in this very form.
done_as() { [ -f "$work/stamps/$1" ] && [ "$(<"$work/stamps/$1")" = "$2" ]; }

all=$(cat "$here"/*.{sh,py,txt} | hash_of)
done_as all "$all" && exit 0
lock_cache
done_as all "$all" && exit 0
mkdir -p "$work"/{stamps,logs,trees,packages}
rm -f "$work/stamps/all"

# step NAME HASH COMMAND...: runs the command unless it was done before. Its output is shown if it fails.
step() {
	local name=$1 hash=$2
	shift 2
	done_as "$name" "$hash" && return
	rm -f "$work/stamps/$name"
	say "$name"
	# Not "command || die": bash ignores set -e inside a function called that way.
	local status=0
	set +e
	(set -e && "$@") >"$work/logs/$name.log" 2>&1 </dev/null
	status=$?
	set -e
	if [ $status != 0 ]; then
		tail -n 20 "$work/logs/$name.log" >&2
		die "$name failed; the whole log is $work/logs/$name.log"
	fi
	echo "$hash" >"$work/stamps/$name"
}

# tree NAME HASH COMMAND...: a step that makes a package's files; the command gets the folder as its last argument.
tree() { step "$1" "$2" into "$work/trees/$1" "${@:3}"; }
into() {
	rm -rf --one-file-system "$1.tmp"
	"${@:2}" "$1.tmp"
	rm -rf --one-file-system "$1"
	mv "$1.tmp" "$1"
}

# pack NAME: the package of a tree. A step of its own, so that a change in packing compiles nothing.
pack() {
	local hash
	hash=$(cat "$work/stamps/$1" "$here/pack.py" | hash_of)
	step "pack-$1" "$hash" "$python" "$here/pack.py" "$work/trees/$1" "$packages"
}

tools=$work/tools python=$work/tools/bin/python
export PATH=$tools/bin:$PATH PYTHONDONTWRITEBYTECODE=1
make_tools() {
	rm -rf "$tools"
	python3 -m venv "$tools"
	"$python" -m pip install --disable-pip-version-check --require-hashes -r "$here/tools.txt"
}
need python3=python3 "$(python3 -c 'import ensurepip; print(ensurepip.__file__)' 2>/dev/null || echo /absent)=python3-venv"
step tools "$(hash_of <"$here/tools.txt")" make_tools

# Python takes the longest, so it is compiled beside everything else. It has a process group of its own,
# for an interrupt to reach make and its compilers.
python_hash=$(cat "$here"/{python.sh,bullseye.sh,pythonlibs.txt} | hash_of)
pytorch_hash=$(cat "$here"/{pytorch.sh,bullseye.sh,pythonlibs.txt} | hash_of)
if ! done_as python "$python_hash" || ! done_as pytorch "$pytorch_hash"; then
	[ "$(id -u)" = 0 ] || die "Python is compiled in a root of its own: run this script as root once"
	step bullseye-lists "$all" bullseye_update
fi
set -m
tree python "$python_hash" nice "$here/python.sh" &
compiler=$!
set +m
trap 'kill -- -$compiler 2>/dev/null || true' EXIT

tree pytorch "$pytorch_hash" "$here/pytorch.sh"
pack pytorch

# repack_wheel LINE NAME TREE
repack_wheel() {
	local wheels
	wheels=$(mktemp -d "$work/wheel.XXXXXX")
	echo "$1" >"$wheels/requirement"
	"$python" -m pip download --disable-pip-version-check --quiet --no-deps --require-hashes --dest "$wheels" --only-binary :all: \
		--python-version 3.9 --platform manylinux2014_x86_64 --platform manylinux_2_17_x86_64 -r "$wheels/requirement"
	"$python" "$here/wheel.py" "$wheels"/*.whl "$2" "$3"
	rm -rf "$wheels"
}
now=(python pytorch)
while read -r line; do
	name=${line%%=*}
	version=${line#*==}
	version=${version%% *}
	tree "$name-$version" "$({ echo "$line" && cat "$here/wheel.py"; } | hash_of)" repack_wheel "$line" "$name"
	pack "$name-$version"
	now+=("$name-$version")
done < <(grep -v '^#' "$here/wheels.txt")

wait "$compiler"
trap - EXIT
pack python

# What wheels.txt no longer names goes.
for old in "$work"/trees/*; do
	old=${old##*/}
	[[ " ${now[*]} " != *" $old "* ]] || continue
	rm -rf "$work/trees/$old" "$work/stamps/$old" "$work/stamps/pack-$old" "$packages"/*/"$old"-*.conda
done

# The channel appears indexed and checked or not at all: it may be served at this moment.
publish() {
	rm -rf "$channel".{tmp,old}
	cp -al "$packages" "$channel.tmp"
	"$python" "$here/index.py" "$channel.tmp"
	"$here/check.sh" "$channel.tmp"
	[ ! -e "$channel" ] || mv "$channel" "$channel.old"
	mv "$channel.tmp" "$channel"
	rm -rf "$channel.old"
}
step channel "$all" publish
echo "$all" >"$work/stamps/all"
say "the channel is $channel, $(du -sh "$channel" | cut -f1)"
