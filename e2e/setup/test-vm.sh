#!/usr/bin/env bash
# The scripts of runs in a machine with systemd and cgroup v2 (vm.sh), then what only such a machine can show: a login that
# ends with all its processes, and a reboot. Emulated, so it takes some ten minutes.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
cd "$here/../.."
. "$here/lib.sh"
vm=$here/vm.sh

work=$(mktemp -d)
trap '"$vm" stop; rm -rf "$work"' EXIT
"$vm" build
"$vm" start
CGO_ENABLED=0 "${GO:-go}" test -c -o "$work/e2e.test" ./e2e
tar -czf "$work/tests.tgz" -C e2e testdata -C "$work" e2e.test -C "$PWD/bin" crun
"$vm" put /root "$work/tests.tgz"
"$vm" ssh 'systemctl is-system-running --wait >/dev/null || :; rm -rf /opt/crun; mkdir -p /opt/crun/e2e && tar -xzf /root/tests.tgz -C /opt/crun/e2e && cp /opt/crun/e2e/crun /usr/local/bin/'

failed=0
scripts=${CRUN_E2E_SCRIPTS:-'run_(exit|limits|refused|hangup|signals|terminal|stdin|killed|dryrun|pipe)'}
"$vm" ssh "cd /opt/crun/e2e && CRUN_BINARY=/usr/local/bin/crun ./e2e.test -test.v -test.parallel 1 -test.timeout 40m -test.run '^TestScripts\$/^($scripts)\$'" >"$work/log" 2>&1 || failed=1
printf 'systemd, cgroup v2: %s passed, %s failed\n' "$(grep -c '^    --- PASS' "$work/log" || true)" "$(grep -c '^    --- FAIL' "$work/log" || true)"
grep -E '^        FAIL: ' "$work/log" || true

# as USER COMMAND: in a login of its own, which ends with the command and takes all its processes along.
as() { USER_IN=$1 "$vm" ssh "$2"; }
# expect WHAT PATTERN TEXT
expect() {
	if grep -qE -- "$2" <<<"$3"; then
		echo "passed: $1"
	else
		echo "FAILED: $1: no match for $2 in:"
		echo "$3"
		failed=1
	fi
}
image=$BASE_IMAGE
# shellcheck disable=SC2016
as tester 'mkdir -p project && cd project && : >environment.yml && printf "echo begin; i=0; while [ \$i -lt 12 ]; do sleep 5; i=\$((i+1)); done; echo end; exit 3\n" >long.sh
	crun run -q -d --image '"$image"' --profile small --name long sh long.sh'
sleep 15
expect "the run goes on when logind has ended the login" '^1$' "$(as tester 'docker ps -q | wc -l')"
sleep 90
expect "its end is in the record" 'long .* exit 3' "$(as tester 'crun ps -a')"
expect "the whole log is" '^end$' "$(as tester 'crun logs long' 2>&1)"
expect "no container is left" '^0$' "$(as tester 'docker ps -aq | wc -l')"

as tester 'cd project && crun run -q -d --image '"$image"' --profile small --name cut sh -c "echo before; sleep 600"'
"$vm" reboot
as root 'systemctl is-system-running --wait >/dev/null || :'
expect "a run that a reboot has ended says so" 'cut .* (lost|reboot|failed|exit)' "$(as tester 'crun ps -a')"
expect "no container is left of it" '^0$' "$(as tester 'docker ps -aq | wc -l')"
exit "$failed"
