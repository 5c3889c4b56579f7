#!/usr/bin/env bash
# Man pages, reference and completions must be what the commands' help makes.
set -euo pipefail
cd "$(dirname "$0")/../.."

fresh=$(mktemp -d)
trap 'rm -rf "$fresh"' EXIT
"${GO:-go}" run ./cmd/internal/gendocs -out "$fresh"
for folder in man reference completions; do
  diff -r "docs/$folder" "$fresh/$folder" >&2 ||
    { echo "docs/$folder is not what the help says now: run 'make docs'" >&2; exit 1; }
done
