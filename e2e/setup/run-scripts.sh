#!/usr/bin/env bash
# Runs the end-to-end scripts, with a buildkitd beside the engine.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
cd "$here/../.."

. "$here/lib.sh"

if [ "$(id -u)" = 0 ]; then
	trap '"$here/buildkitd.sh" stop; "$here/registry.sh" stop' EXIT
	CRUN_E2E_BUILDKITD=$("$here/buildkitd.sh" start)
	CRUN_E2E_REGISTRY=$("$here/registry.sh" start)
	export CRUN_E2E_BUILDKITD CRUN_E2E_REGISTRY
else
	say "a buildkitd has to be run as root: what needs one, or a registry, is skipped"
fi
# The address that pip uses by itself, from pip: a script adds a password to it.
CRUN_E2E_PYPI=$("$CACHE/work/tools/bin/python" -c 'from pip._internal.models.index import PyPI; print(PyPI.simple_url)')
export CRUN_E2E_PYPI

"$here/go-test.sh" "end-to-end scripts" -count=1 -parallel 1 -timeout 60m ./e2e "$@"
