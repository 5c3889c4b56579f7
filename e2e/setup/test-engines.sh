#!/usr/bin/env bash
# test-engines.sh [NAME...]: runs the scripts of runs and builds against other engines (engines.sh list), all without
# names, and prints a line for each. Needs what all.sh makes; CRUN_CONFIG and CRUN_BINARY are set.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
cd "$here/../.."
. "$here/lib.sh"

[ "$(id -u)" = 0 ] || die "other engines have to be started as root"
# What the scripts mount the engines see, too: in mounts of our own, which theirs are fed from.
[ -n "${CRUN_OWN_MOUNTS:-}" ] || CRUN_OWN_MOUNTS=1 exec unshare --mount --propagation slave bash "$0" "$@"
mount --make-rshared /
scripts=${CRUN_E2E_SCRIPTS:-'run_.*|doctor|init_make|build_(image|apt|bases|same|limits|compiled|interrupt|clean|twice|files|local)|prune'}
names=("$@")
[ $# -gt 0 ] || mapfile -t names < <("$here/engines.sh" list)
logs=$(mktemp -d)
engine=
trap '[ -z "$engine" ] || "$here/engines.sh" "$engine" stop; "$here/registry.sh" stop; "$here/buildkitd.sh" stop; rm -rf "$logs"' EXIT
CRUN_E2E_REGISTRY=$("$here/registry.sh" start)
CRUN_E2E_BUILDKITD=$("$here/buildkitd.sh" start)
CRUN_E2E_PYPI=$("$CACHE/work/tools/bin/python" -c 'from pip._internal.models.index import PyPI; print(PyPI.simple_url)')
# The address at which the engines reach this machine's servers: that of its own engine's bridge.
CRUN_E2E_ADDRESS=$(ip -4 -o address show docker0 | grep -o 'inet [0-9.]*' | cut -d' ' -f2)
export CRUN_E2E_REGISTRY CRUN_E2E_BUILDKITD CRUN_E2E_PYPI CRUN_E2E_ADDRESS
"${GO:-go}" test -c -o "$logs/e2e.test" ./e2e

failed=0
for engine in "${names[@]}"; do
	DOCKER_HOST=$("$here/engines.sh" "$engine" start)
	export DOCKER_HOST
	# Podman has no BuildKit: a buildkitd builds for it. What is rootless has scripts of its own.
	run=$scripts limits='TestFalseLimits|TestLimitsBehindTheBack|TestImageOverridesLimits' folder=
	case $engine in
	# Whoever stands before Podman's socket hides from crun what Podman may give a process.
	# It gives no run an NVIDIA GPU, so there is none to be checked.
	podman) run=${CRUN_E2E_SCRIPTS:-'run_[^g].*|doctor|init_make|build_standalone'} limits='' ;;
	*-rootless) run='.*' limits='' folder=testdata/rootless ;;
	docker-ssh) run='.*' limits='' folder=testdata/remote PATH=$CACHE/engines/docker-ssh/bin:$PATH ;;
	esac
	[ -z "${CRUN_E2E_SCRIPTS:-}" ] || limits=
	version=$([ "$engine" = docker-ssh ] || engine GET /version | grep -o '"Version":"[^"]*"' | head -n 1 | cut -d'"' -f4)
	log=$logs/$engine
	(cd e2e && CRUN_E2E_DIR=$folder "$logs/e2e.test" -test.v -test.parallel 1 -test.timeout 40m -test.run "^TestScripts\$/^($run)\$") >"$log" 2>&1 || failed=1
	# GPUs by CDI; Podman's service drops what is asked for of them.
	case $engine in docker-2*)
		[ -n "${CRUN_E2E_SCRIPTS:-}" ] || (cd e2e && CRUN_E2E_DIR=testdata/cdi CRUN_E2E_CDI=$(dirname "${DOCKER_HOST#unix://}")/cdi \
			"$logs/e2e.test" -test.v -test.timeout 10m -test.run '^TestScripts$') >>"$log" 2>&1 || failed=1 ;;
	esac
	[ -z "$limits" ] || (cd e2e && "$logs/e2e.test" -test.v -test.timeout 10m -test.run "^($limits)\$") >>"$log" 2>&1 || failed=1
	printf '%s (%s): %s passed, %s failed, %s skipped\n' "$engine" "$version" \
		"$(grep -c '^    --- PASS' "$log" || true)" "$(grep -c '^    --- FAIL' "$log" || true)" "$(grep -c '^    --- SKIP' "$log" || true)"
	grep -E '^        FAIL: |^    --- SKIP|^ *--- FAIL: Test(False|Limits|Image)' "$log" | sed 's/^ */  /' || true
	[ -z "${CRUN_E2E_LOGS:-}" ] || { mkdir -p "$CRUN_E2E_LOGS"; cp "$log" "$CRUN_E2E_LOGS/"; }
	unset DOCKER_HOST
	"$here/engines.sh" "$engine" stop
	engine=
done
exit "$failed"
