package rules

import (
	"crun.dev/crun/internal/lazyregexp"
	"crun.dev/crun/run/why/evidence"
)

var pressureWords = lazyregexp.New(`systemd-oomd\[\d+\]: Killed .*|earlyoom\[\d+\]: (?:sending SIG\w+|low memory!).*|.*(?:killed due to the node running low on memory|Ray killed this worker).*`)

// pressure: a daemon of the host ends whole groups while the kernel still has
// memory to give: no counter of the kernel moves.
var pressure = evidence.Rule{
	Code:  "oomd",
	Title: "a daemon of the host (systemd-oomd, earlyoom) killed the run for memory pressure",
	Mechanism: `systemd-oomd, earlyoom and Ray watch the pressure or the free memory of the host and kill before the kernel would. The run ends by
SIGKILL (earlyoom: SIGTERM first), oom_kill stays at 0, and only the journal tells.
Source: systemd-oomd.service(8); systemd issue 32304.`,
	Find: words(pressureWords, func(_ *evidence.Case, m []string) (cause, fix evidence.Text) {
		if rayWords.MatchString(m[0]) {
			return evidence.Say("Ray killed a worker because memory was short on its node", "节点内存紧张，Ray 杀死了一个 worker"),
				evidence.Say("fewer or smaller workers at once, or --memory", "减少同时运行的 worker 数量或每个 worker 的用量，或增大 --memory")
		}
		return evidence.Say("a daemon of the host killed the run because memory was short", "主机上的守护进程因内存紧张杀死了该运行"),
			evidence.Say("fewer or smaller runs at once; an administrator can exempt the slice (ManagedOOMPreference=avoid)", "减少同时运行的任务；管理员可豁免该 slice（ManagedOOMPreference=avoid）")
	}),
}

var rayWords = lazyregexp.New(`node running low on memory|Ray killed`)
