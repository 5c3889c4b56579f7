#!/usr/bin/env bash
# What is too heavy for every day: 100 runs at once, and a run that writes 2 GiB.
# RUNS and MIB take other numbers. CRUN_CONFIG and CRUN_BINARY are set.
set -euo pipefail
runs=${RUNS:-100} mib=${MIB:-2048}
crun=${CRUN_BINARY:?}
image=${CRUN_E2E_BASE:-crun-local/bookworm:base}
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
export HOME=$dir XDG_STATE_HOME=$dir/state XDG_CACHE_HOME=$dir/cache XDG_CONFIG_HOME=$dir/config
mkdir -p "$dir/project" && cd "$dir/project" && : >environment.yml
failed=0
check() { # NAME EXPECTED GOT
	if [ "$2" = "$3" ]; then echo "passed: $1"; else echo "FAILED: $1: $3, not $2"; failed=1; fi
}

pids=()
for n in $(seq "$runs"); do
	"$crun" run -q --skip-check all --image "$image" --profile small --memory 32m --shm-size 8m --tmpdir 8m --cpus 0.1 --name "run-$n" \
		sh -c "echo $n; sleep 5; exit $((n % 7))" >"$dir/out-$n" 2>"$dir/err-$n" &
	pids+=($!)
done
wrong=0
for n in $(seq "$runs"); do
	code=0
	wait "${pids[n-1]}" || code=$?
	[ "$code" = $((n % 7)) ] && [ "$(cat "$dir/out-$n")" = "$n" ] || { wrong=$((wrong + 1)); head -2 "$dir/err-$n"; }
done
check "$runs runs at once end with their own exit codes and output" 0 "$wrong"
check "each has a record" "$runs" "$("$crun" ps -a -o '{{.ID}}' | wc -l)"

# What a run costs beside its container: the memory of its own that a process has.
largest=0
watch() { # the foreground and the monitor of the run that is started next
	local pid kib
	while [ -e "$dir/watching" ]; do
		for pid in $(pgrep -x crun) $(pgrep -f '^crun monitor '); do
			{ tr '\0' '\n' <"/proc/$pid/environ"; } 2>/dev/null | grep -qxF "XDG_STATE_HOME=$XDG_STATE_HOME" || continue
			kib=$(awk '/^RssAnon/ {print $2}' "/proc/$pid/status" 2>/dev/null) || continue
			[ "${kib:-0}" -le "$largest" ] || { largest=$kib; echo "$kib" >"$dir/largest"; }
		done
		sleep 1
	done
}
: >"$dir/watching"
echo 0 >"$dir/largest"
watch &
watcher=$!
sum=$("$crun" run -q --skip-check all --image "$image" --profile small --name loud \
	sh -c "yes 0123456789abcdefghijklmnopqrstuvwxyz | head -c ${mib}M; sleep 3" | cksum)
rm "$dir/watching"
wait "$watcher"
largest=$(cat "$dir/largest")
check "crun and its monitor hold less than 20 MiB (the larger one ${largest} KiB)" 1 $((largest > 0 && largest < 20480))
check "$mib MiB of output come through" "$(yes 0123456789abcdefghijklmnopqrstuvwxyz | head -c "${mib}M" | cksum)" "$sum"
kept=$("$crun" logs loud 2>"$dir/gaps" | wc -c)
if [ "$mib" -gt 1024 ]; then
	check "its log keeps at most 1 GiB" 1 $((kept <= 1 << 30 && kept > 1 << 29))
	check "and says what is missing" 1 "$(grep -c 'bytes of output are missing' "$dir/gaps")"
fi
# Monitors compress the logs behind the end.
left=1
for _ in $(seq 600); do
	left=0
	for state in "$XDG_STATE_HOME"/crun/runs/[0-9a-z]*/state.json; do
		grep -q '"complete": true' "$state" && flock -n "${state%/*}/lock" true || left=$((left + 1))
	done
	[ "$left" != 0 ] || break
	sleep 0.2
done
check "each record is complete, and no process holds its lock" 0 "$left"
check "no container is left" 0 "$(docker ps -aq --filter "label=dev.crun.project=$dir/project" | wc -l)"
exit "$failed"
