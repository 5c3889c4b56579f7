#!/usr/bin/env bash
# faults.sh [ARGUMENT...]: runs e2e/faults with bin/crun.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
cd "$here/../.."
exec "${GO:-go}" run ./e2e/faults -crun "$PWD/bin/crun" "$@"
