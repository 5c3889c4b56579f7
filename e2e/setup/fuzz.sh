#!/usr/bin/env bash
# fuzz.sh [SECONDS] [PACKAGE...]: lets each fuzz test of the packages make up input for some seconds (4), after the cases that
# are written down. What fails is kept in the package's testdata/fuzz and is a case from then on.
set -euo pipefail
seconds=${1:-4}
shift || true
[ $# -gt 0 ] || set -- ./build/environment

for package in "$@"; do
	for name in $("${GO:-go}" test -list '^Fuzz' "$package" | grep '^Fuzz' || true); do
		log=$(mktemp)
		if ! "${GO:-go}" test "$package" -run '^$' -fuzz "^$name\$" -fuzztime "${seconds}s" -parallel 2 >"$log" 2>&1; then
			# Where the time ends between two inputs, go test itself may call that a failure.
			if grep -q 'Failing input written' "$log" || ! grep -q 'context deadline exceeded' "$log"; then
				cat "$log"
				rm -f "$log"
				exit 1
			fi
		fi
		rm -f "$log"
		echo "fuzzed ${package#./} $name for $seconds s"
	done
done
