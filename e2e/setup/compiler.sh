#!/usr/bin/env bash
# Go's race detector needs a C compiler; nothing else in this project does.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
. "$here/lib.sh"

need gcc=gcc /usr/include/stdlib.h=libc6-dev
