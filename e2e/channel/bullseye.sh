# Debian bullseye's packages, for the recipes beside this file. Sourced after e2e/setup/lib.sh.
# shellcheck shell=bash

# bullseye is the one Debian release whose Python, 3.9, is crun's own default and has a PyTorch built for it.
# The machine's own apt settings stay as they are: lists, sources and status lie in a folder of ours.
BULLSEYE=$CACHE/work/bullseye

bullseye_apt() {
	# Two recipes at once take turns here.
	flock "$BULLSEYE/turn" apt-get -q -o Dir::Etc::sourcelist="$BULLSEYE/sources.list" -o Dir::Etc::sourceparts=- \
		-o Dir::State="$BULLSEYE/state" -o Dir::State::status="$BULLSEYE/status" -o Dir::Cache="$BULLSEYE/cache" \
		-o APT::Architecture=amd64 -o APT::Install-Recommends=false -o APT::Sandbox::User=root \
		-o APT::Update::Post-Invoke-Success::= "$@" 9>&-
}

bullseye_update() {
	local keys=/usr/share/keyrings/debian-archive-keyring.gpg mirror
	need $keys=debian-archive-keyring dpkg-deb=dpkg
	mkdir -p "$BULLSEYE/state/lists/partial" "$BULLSEYE/cache"
	: >"$BULLSEYE/status"
	mirror=$(debian_mirror)
	printf "%s [signed-by=$keys] $mirror bullseye main\n" deb deb-src >"$BULLSEYE/sources.list"
	bullseye_apt update
}

# bullseye_unpack ROOT PACKAGE...: unpacks the packages and all that they depend on. None is configured:
# no script of theirs runs, and a compiler or a library needs no more.
bullseye_unpack() {
	local root=$1 debs=$1.debs deb
	shift
	mkdir -p "$root" "$debs/partial"
	bullseye_apt install -y --download-only -o Dir::Cache::archives="$debs" "$@"
	for deb in "$debs"/*.deb; do
		dpkg-deb -x "$deb" "$root"
	done
	rm -rf "$debs"
}
