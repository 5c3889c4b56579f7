#!/usr/bin/env bash
# fuzz.sh SECONDS [NAME]: lets each fuzz test of the parser (or the one of that name) make up input for some seconds, after the
# cases that are written down. What fails is kept in testdata/fuzz and is a case from then on.
set -euo pipefail
seconds=$1
package=./build/environment
log=$(mktemp)
trap 'rm -f "$log"' EXIT

for name in $("${GO:-go}" test -list "^${2:-Fuzz}" "$package" | grep '^Fuzz'); do
	if ! "${GO:-go}" test "$package" -run '^$' -fuzz "^$name\$" -fuzztime "${seconds}s" -parallel 2 >"$log" 2>&1; then
		# Where the time ends between two inputs, go test itself may call that a failure.
		if grep -q 'Failing input written' "$log" || ! grep -q 'context deadline exceeded' "$log"; then
			cat "$log"
			exit 1
		fi
	fi
	echo "fuzzed ${package#./} $name for $seconds s"
done
