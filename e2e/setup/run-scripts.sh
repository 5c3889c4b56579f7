#!/usr/bin/env bash
# Runs the end-to-end scripts and says what was skipped. With CRUN_E2E=1, as in
# CI, a skipped script is a failure.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
cd "$here/../.."

. "$here/lib.sh"

log=$(mktemp)
trap 'rm -f "$log"; "$here/buildkitd.sh" stop' EXIT
CRUN_E2E_BUILDKITD=$("$here/buildkitd.sh" start)
export CRUN_E2E_BUILDKITD
# The address that pip uses by itself, from pip: a script adds a password to it.
CRUN_E2E_PYPI=$("$CACHE/work/tools/bin/python" -c 'from pip._internal.models.index import PyPI; print(PyPI.simple_url)')
export CRUN_E2E_PYPI

status=0
"${GO:-go}" test -count=1 -timeout 60m -v ./e2e "$@" >"$log" 2>&1 || status=$?
if [ "$status" != 0 ]; then
	cat "$log"
	exit "$status"
fi
grep -E '^ *--- (PASS|SKIP)|^ok' "$log"
skipped=$(grep -cE '^ *--- SKIP' "$log" || true)
echo "end-to-end scripts skipped: $skipped"
if [ "$skipped" != 0 ] && [ -n "${CRUN_E2E:-}" ]; then
	echo "CRUN_E2E is set: nothing may be skipped" >&2
	exit 1
fi
