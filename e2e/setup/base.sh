#!/usr/bin/env bash
# Makes the base image crun-local/bookworm:base the way Debian makes its own: debootstrap, then an import.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
. "$here/lib.sh"

# The image says which recipe made it, so that a change here makes another.
recipe=$(sha256sum <"$here/base.sh" | cut -c1-12)
present() { engine GET "/images/$BASE_IMAGE/json" 2>/dev/null | grep -q "\"dev.crun.base\":\"$recipe\""; }
present && exit 0
lock_cache
present && exit 0

# The tar is kept: another engine gets the image from it in seconds.
tar=$CACHE/base/bookworm-$recipe.tar
if [ ! -f "$tar" ]; then
	[ "$(id -u)" = 0 ] || die "debootstrap has to be run as root: run this script as root once"
	need debootstrap=debootstrap /usr/share/keyrings/debian-archive-keyring.gpg=debian-archive-keyring
	mirror=$(debian_mirror)
	tmp=$CACHE/base/root.tmp
	say "making a Debian bookworm root by debootstrap (about 50 s), log $CACHE/base/debootstrap.log"
	rm -rf --one-file-system "$tmp" "$CACHE"/base/*.tar "$CACHE"/base/*.tar.tmp
	mkdir -p "$tmp"
	chmod 755 "$tmp" # it becomes the image's /
	# A mirror behind https is of use in a build only with a certificate store.
	include=()
	case $mirror in https:*) include=(--include=ca-certificates) ;; esac
	debootstrap --variant=minbase "${include[@]}" --keyring=/usr/share/keyrings/debian-archive-keyring.gpg \
		bookworm "$tmp" "$mirror" >"$CACHE/base/debootstrap.log" 2>&1 9>&- || {
		tail -n 20 "$CACHE/base/debootstrap.log" >&2
		die "debootstrap failed; the whole log is $CACHE/base/debootstrap.log"
	}
	# What apt fetched, and what is this machine's own, stay out of the image.
	rm -rf "$tmp"/var/lib/apt/lists/* "$tmp"/var/cache/apt/*.bin "$tmp"/var/cache/apt/archives/*.deb \
		"$tmp"/var/log/bootstrap.log "$tmp"/var/log/apt/* "$tmp"/etc/hostname "$tmp"/etc/resolv.conf
	# Packages installed in a build leave nothing behind and start no service, as in Debian's own images.
	echo 'APT::Install-Recommends "false"; APT::Keep-Downloaded-Packages "false"; Acquire::Languages "none";' \
		>"$tmp/etc/apt/apt.conf.d/90crun-local"
	printf '#!/bin/sh\nexit 101\n' >"$tmp/usr/sbin/policy-rc.d"
	chmod 755 "$tmp/usr/sbin/policy-rc.d"
	tar -C "$tmp" --numeric-owner -cf "$tar.tmp" .
	mv "$tar.tmp" "$tar"
	rm -rf --one-file-system "$tmp"
fi

say "importing $BASE_IMAGE"
# The two changes, escaped for a query: CMD ["bash"] and LABEL dev.crun.base=RECIPE.
query="fromSrc=-&repo=${BASE_IMAGE%:*}&tag=${BASE_IMAGE##*:}"
query+="&changes=CMD%20%5B%22bash%22%5D&changes=LABEL%20dev.crun.base%3D$recipe"
answer=$(engine POST "/images/create?$query" -T "$tar" 2>&1) || die "the engine can't be reached: $answer"
# Podman gives what it imports no tag but latest.
id=$(grep -o 'sha256:[0-9a-f]*' <<<"$answer" | tail -n 1)
[ -z "$id" ] || engine POST "/images/$id/tag?repo=${BASE_IMAGE%:*}&tag=${BASE_IMAGE##*:}" >/dev/null
present || die "the engine didn't take the image: $answer"
