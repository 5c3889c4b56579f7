#!/usr/bin/env bash
# bench.sh [ARGUMENT...]: runs e2e/bench with bin/crun and the index that pip uses by itself.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
. "$here/lib.sh"
cd "$here/../.."

CRUN_E2E_PYPI=$("$CACHE/work/tools/bin/python" -c 'from pip._internal.models.index import PyPI; print(PyPI.simple_url)')
export CRUN_E2E_PYPI
exec "${GO:-go}" run ./e2e/bench -crun "$PWD/bin/crun" "$@"
