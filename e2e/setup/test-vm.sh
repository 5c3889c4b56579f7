#!/usr/bin/env bash
# test-vm.sh [PIECE...]: runs in a machine with systemd and cgroup v2 (vm.sh); all pieces without names.
#   scripts   the scripts of runs and of doctor
#   limits    each limit dropped, changed or overridden, and caught
#   login     a login that ends with all its processes
#   lingers   the same, where the user's systemd stays
#   rootless  an engine of an ordinary user's own, with what systemd delegates to it and with less
#   reboot    a run that a reboot ends
# The machine is emulated: some minutes for each of the last four, half an hour and more for the others. One that runs already is
# taken as it is and left running. CRUN_E2E_SCRIPTS is an expression for the scripts' names, CRUN_E2E_LOGS a folder for logs.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
cd "$here/../.."
. "$here/lib.sh"
vm=$here/vm.sh

pieces=${*:-scripts limits login lingers rootless reboot}
for piece in $pieces; do
	case $piece in scripts | limits | login | lingers | rootless | reboot) ;; *) die "there is no piece $piece" ;; esac
done
work=$(mktemp -d)
stop=
trap '[ -z "$stop" ] || "$vm" stop; rm -rf "$work"' EXIT
"$vm" alive || stop=1
"$vm" build
"$vm" start
CGO_ENABLED=0 "${GO:-go}" test -c -o "$work/e2e.test" ./e2e
tar -czf "$work/tests.tgz" -C e2e testdata -C setup vm-rootless.sh -C "$work" e2e.test -C "$PWD/bin" crun
"$vm" put /root "$work/tests.tgz"
"$vm" ssh 'systemctl is-system-running --wait >/dev/null || :; rm -rf /opt/crun; mkdir -p /opt/crun/e2e && tar -xzf /root/tests.tgz -C /opt/crun/e2e && mv /opt/crun/e2e/crun /usr/local/bin/'

failed=0
# go_test NAME EXPRESSION
go_test() {
	"$vm" ssh "cd /opt/crun/e2e && CRUN_E2E_PATIENCE=10m CRUN_BINARY=/usr/local/bin/crun ./e2e.test -test.v -test.parallel 1 -test.timeout 3h -test.run '$2'" >"$work/log" 2>&1 || failed=1
	printf 'systemd, cgroup v2, %s: %s passed, %s failed, %s skipped\n' "$1" "$(grep -c '^ *--- PASS: Test.*/' "$work/log" || true)" \
		"$(grep -c '^ *--- FAIL: Test.*/' "$work/log" || true)" "$(grep -c '^ *--- SKIP: Test.*/' "$work/log" || true)"
	grep -E '^ *--- (FAIL|SKIP)|^        FAIL: ' "$work/log" | sed 's/^ */  /' || true
	[ -z "${CRUN_E2E_LOGS:-}" ] || { mkdir -p "$CRUN_E2E_LOGS"; cp "$work/log" "$CRUN_E2E_LOGS/vm-$1"; }
}
# as USER COMMAND: in a login of its own, which ends with the command and takes all its processes along.
as() { USER_IN=$1 "$vm" ssh "$2"; }
# until USER COMMAND: until the command succeeds.
until_as() {
	local end=$((SECONDS + 600))
	until as "$1" "$2" >/dev/null 2>&1; do [ $SECONDS -lt $end ] || return 0; done # what is expected then says what is there
}
# fresh: no container, no record and no lingering of one that ended early.
fresh() {
	as root "[ ! -f /root/delegate.conf ] || mv /root/delegate.conf $conf"
	as root 'loginctl disable-linger tester; docker ps -aq | xargs -r docker rm -f >/dev/null; rm -rf /home/tester/.local/state/crun /home/tester/project'
	as tester 'mkdir project && cd project && : >environment.yml && printf "echo begin; until [ -e go ]; do sleep 0.1; done; echo end; exit 3\n" >long.sh'
}
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
conf=/etc/systemd/system/user@.service.d/delegate.conf
run="crun run -q -d --image $BASE_IMAGE --profile small"

scripts() { go_test scripts '^TestScripts$/^('"${CRUN_E2E_SCRIPTS:-run_(exit|limits|refused|hangup|signals|terminal|stdin|killed|dryrun|pipe|user|life|full|bundle|data|settle|faults|cpuset|checks|mistakes|bad_input)|doctor}"')$'; }

limits() { go_test limits '^Test(FalseLimits|LimitsBehindTheBack|ImageOverridesLimits)$'; }

# shellcheck disable=SC2016
login() {
	fresh
	as tester 'cd project && '"$run"' --name long sh long.sh'
	expect "logind has ended the login and all that was in it" '^gone$' "$(as root 'n=0; while pgrep -u tester -f ^crun.monitor >/dev/null && [ $n -lt 300 ]; do sleep 1; n=$((n+1)); done; pgrep -u tester -af ^crun.monitor || echo gone')"
	expect "the run goes on" '^1$' "$(as root 'docker ps -q --filter label=dev.crun.name=long | wc -l')"
	as root 'touch /home/tester/project/go; n=0; while docker ps -q --filter label=dev.crun.name=long | grep -q . && [ $n -lt 300 ]; do sleep 1; n=$((n+1)); done'
	until_as tester 'crun ps -a | grep "long .* exit 3"'
	expect "its end is in the record" 'long .* exit 3' "$(as tester 'crun ps -a')"
	expect "the whole log is" '^end$' "$(as tester 'crun logs long' 2>&1)"
	expect "no container is left" '^0$' "$(as tester 'docker ps -aq | wc -l')"
}

# The monitor lives on and completes the record; nobody else is there to.
# shellcheck disable=SC2016
lingers() {
	fresh
	as root 'loginctl enable-linger tester'
	as tester 'cd project && '"$run"' --name lingers sh long.sh'
	expect "its monitor is in a unit of its own" '/user@[0-9]+\.service/.*/crun-.*\.scope$' "$(as root 'cat /proc/$(pgrep -u tester -f ^crun.monitor)/cgroup')"
	as root 'touch /home/tester/project/go; n=0; while pgrep -u tester -f ^crun.monitor >/dev/null && [ $n -lt 300 ]; do sleep 1; n=$((n+1)); done'
	expect "it has completed the record" '"complete": true' "$(as root 'cat $(grep -l lingers /home/tester/.local/state/crun/runs/*/plan.json | sed s/plan.json/state.json/)')"
	as root 'loginctl disable-linger tester'
}

rootless() {
	fresh
	inner='/opt/crun/e2e/vm-rootless.sh'
	as root 'loginctl enable-linger tester; ln -sf /usr/bin/docker /usr/share/docker.io/contrib/docker'
	as tester "$inner start" || { echo "FAILED: a rootless engine starts"; failed=1; return; }
	held=$(as tester "$inner held" 2>&1)
	for line in 'memory.max 100663296' 'memory.swap.max 0' 'memory.low 50331648' 'cpu.max 50000 100000' 'cpuset.cpus 1' 'pids.max 100' 'oom_score_adj 300'; do
		expect "a rootless engine holds $line" "^$line\$" "$held"
	done
	expect "the signal comes at half of the memory" '^saved$' "$held"
	expect "and the script's exit code is the run's" '^exit code 3$' "$held"
	expect "what it writes is the caller's" '^out belongs to tester$' "$held"
	for row in 'memory +96 MiB +96 MiB' 'memory_swap +96 MiB +96 MiB' 'memory_reservation +48 MiB +48 MiB' 'oom_score_adj +300 +300' 'cpus +0.5 +0.5' 'cpuset +1 +1' 'shm_size +64 MiB +64 MiB' 'pids +100 +100'; do
		expect "crun inspect has ${row%% *} as asked and held" "^$row" "$held"
	done
	# With what systemd delegates by itself there is no cpuset.
	as root "mv $conf /root/delegate.conf; systemctl daemon-reload; systemctl restart user@\$(id -u tester)"
	as tester "$inner start"
	less=$(as tester "$inner less" 2>&1)
	expect "a limit that is not delegated is refused before the start" 'cannot hold a run to its cpuset' "$less"
	expect "with 125" '^exit code 125$' "$less"
	as root "mv /root/delegate.conf $conf; systemctl daemon-reload; systemctl restart user@\$(id -u tester); loginctl disable-linger tester"
}

reboot() {
	fresh
	as tester 'cd project && '"$run"' --name cut sh -c "echo before; exec sleep 6000"'
	"$vm" reboot
	as root 'systemctl is-system-running --wait >/dev/null || :'
	until_as tester 'crun ps -a | grep "cut .* rebooted" && ! crun inspect cut -o json | grep "\"complete\": false"'
	expect "a run that a reboot has ended says so" 'cut .* rebooted' "$(as tester 'crun ps -a')"
	expect "why is in its record" 'went down while the run went on|rebooted while the run went on' "$(as tester 'crun inspect cut')"
	expect "what it had written is in its log" '^before$' "$(as tester 'crun logs cut' 2>&1)"
	expect "no container is left of it" '^0$' "$(as tester 'docker ps -aq | wc -l')"
}

for piece in $pieces; do "$piece"; done
exit "$failed"
