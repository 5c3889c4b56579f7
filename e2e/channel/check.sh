#!/usr/bin/env bash
# Checks a channel for what a first try got wrong: check.sh [CHANNEL]. check.py says what.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
. "$here/../setup/lib.sh"
[ -x "$CACHE/work/tools/bin/python" ] || die "run e2e/channel/make.sh first"
exec "$CACHE/work/tools/bin/python" "$here/check.py" "${1:-$CACHE/channel}"
