# What the scripts of e2e/setup and e2e/channel share. Sourced, not run.
# shellcheck shell=bash

# Everything that is made lies in this folder and can be made again: removing it is always safe.
CACHE=${CRUN_CACHE_DIR:-${XDG_CACHE_HOME:-$HOME/.cache}/crun-dev}
# shellcheck disable=SC2034
BASE_IMAGE=crun-local/bookworm:base

say() { printf '%s: %s\n' "${0##*/}" "$*" >&2; }
die() { say "$*"; exit 1; }

# Two runs at once take turns. all.sh holds the lock for the scripts that it starts.
# Whatever is started to stay must close descriptor 9 (9>&-), or it would keep the lock.
lock_cache() {
	[ -z "${CRUN_SETUP_LOCKED:-}" ] || return 0
	mkdir -p "$CACHE"
	exec 9>"$CACHE/.lock"
	if ! flock -n 9; then
		say "waiting for another run to leave $CACHE"
		flock 9
	fi
	export CRUN_SETUP_LOCKED=1
}

# need COMMAND=PACKAGE...: installs the packages whose command is missing.
# A COMMAND with a slash is a file that has to be there.
need() {
	local pair what missing=()
	for pair in "$@"; do
		what=${pair%%=*}
		case $what in
		*/*) [ -e "$what" ] && continue ;;
		*) command -v "$what" >/dev/null && continue ;;
		esac
		missing+=("${pair#*=}")
	done
	[ ${#missing[@]} -gt 0 ] || return 0
	command -v apt-get >/dev/null || die "needs ${missing[*]} (names of Debian's packages): install them and try again"
	[ "$(id -u)" = 0 ] || die "needs ${missing[*]}: run apt-get install ${missing[*]} as root and try again"
	say "installing ${missing[*]} by apt-get"
	apt_install "${missing[@]}"
}

apt_install() {
	local log=$CACHE/apt.log
	mkdir -p "$CACHE"
	{
		apt-get update -q &&
			DEBIAN_FRONTEND=noninteractive apt-get install -q -y --no-install-recommends "$@"
	} >"$log" 2>&1 9>&- || {
		tail -n 20 "$log" >&2
		die "apt-get install $* failed; the whole log is $log"
	}
}

# The Debian mirror that this machine uses itself, from its apt configuration.
debian_mirror() {
	if [ -n "${CRUN_DEBIAN_MIRROR:-}" ]; then
		echo "$CRUN_DEBIAN_MIRROR"
		return
	fi
	local id='' codename='' mirror=''
	# shellcheck disable=SC1091
	[ -r /etc/os-release ] && . /etc/os-release && id=${ID:-} codename=${VERSION_CODENAME:-}
	if [ "$id" = debian ] && command -v apt-get >/dev/null; then
		# The format is apt's own, not the shell's.
		# shellcheck disable=SC2016
		mirror=$(apt-get indextargets --format '$(RELEASE) $(COMPONENT) $(REPO_URI)' 'Created-By: Packages' |
			awk -v r="$codename" '$1 == r && $2 == "main" && $3 ~ /^https?:/ {print $3; exit}')
	fi
	[ -n "$mirror" ] || die "no Debian mirror in this machine's apt configuration: name one in CRUN_DEBIAN_MIRROR"
	echo "${mirror%/}"
}

# engine METHOD PATH [curl's arguments]: one call of the Engine API. curl, because the client may be missing.
engine() {
	local method=$1 path=$2 host=${DOCKER_HOST:-unix:///var/run/docker.sock}
	shift 2
	case $host in
	unix://*) curl -sS --noproxy '*' --unix-socket "${host#unix://}" -X "$method" "$@" "http://engine$path" ;;
	tcp://* | http://*)
		local tls=() scheme=http
		if [ -n "${DOCKER_TLS_VERIFY:-}" ]; then
			scheme=https
			local certs=${DOCKER_CERT_PATH:-$HOME/.docker}
			tls=(--cacert "$certs/ca.pem" --cert "$certs/cert.pem" --key "$certs/key.pem")
		fi
		curl -sS "${tls[@]}" -X "$method" "$@" "$scheme://${host#*://}$path"
		;;
	*) die "DOCKER_HOST is $host: these scripts speak to unix:// and tcp:// alone" ;;
	esac
}

engine_answers() { engine GET /_ping -f -m 5 >/dev/null 2>&1; }
