#!/usr/bin/env bash
# go-test.sh WHAT ARGUMENT...: runs go test with the arguments and says what it skipped, and why. With CRUN_E2E=1, as in
# CI, something skipped is a failure. All of the output is shown where a test fails, and the end of what failed once more
# behind it, where it is looked for.
set -euo pipefail
what=$1
shift

log=$(mktemp)
trap 'rm -f "$log"' EXIT
status=0
"${GO:-go}" test -v "$@" >"$log" 2>&1 || status=$?
if [ "$status" != 0 ]; then
	grep -vE '^ *(=== (RUN|PAUSE|CONT|NAME)|--- PASS)' "$log" || true
	awk '/^ *=== [A-Z]+ / {name = $3; next}
		/^ *--- FAIL/ {failed[++count] = $3}
		/^ *--- / {next}
		{line[name, ++lines[name]] = $0}
		END {
			for (i = 1; i <= count; i++) {
				name = failed[i]
				if (lines[name] == 0) continue
				print "\nFAILED " name ", its last lines:"
				for (n = lines[name] > 40 ? lines[name] - 39 : 1; n <= lines[name]; n++) print line[name, n]
			}
		}' "$log"
	exit "$status"
fi
grep -E '^ok' "$log" || true
skipped=$(grep -cE '^ *--- SKIP' "$log" || true)
# The reason is what a test said last, or a script's last line.
awk '/^ *=== [A-Z]+ / {name = $3}
	/_test\.go:[0-9]+: / || /^ +> .*skip / {reason[name] = $0}
	/^ *--- SKIP/ {print "SKIPPED " $3 ":" reason[$3]}' "$log" >&2
echo "$what skipped: $skipped"
if [ "$skipped" != 0 ] && [ -n "${CRUN_E2E:-}" ]; then
	echo "CRUN_E2E is set: nothing may be skipped" >&2
	exit 1
fi
