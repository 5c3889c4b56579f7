package rules

import (
	"crun.dev/crun/internal/lazyregexp"
	"crun.dev/crun/run/why/evidence"
)

var pressureWords = lazyregexp.New(`systemd-oomd\[\d+\]: Killed .*|earlyoom\[\d+\]: (?:sending SIG\w+|low memory!).*`)

// pressure: a daemon of the host ends whole groups while the kernel still has
// memory to give: no counter of the kernel moves.
var pressure = evidence.Rule{
	Code:  "oomd",
	Title: "a daemon of the host (systemd-oomd, earlyoom) killed the run for memory pressure",
	Mechanism: `systemd-oomd and earlyoom watch the pressure or the free memory of the host and kill before the kernel would. The run ends by
SIGKILL (earlyoom: SIGTERM first), oom_kill stays at 0, and only the journal tells.
Source: systemd-oomd.service(8); systemd issue 32304.`,
	Find: words("oomd", pressureWords, func(*evidence.Case, []string) (cause, fix evidence.Text) {
		return evidence.Say("a daemon of the host killed the run because memory was short", "主机上的守护进程因内存紧张杀死了该运行"),
			evidence.Say("fewer or smaller runs at once; an administrator can exempt the slice (ManagedOOMPreference=avoid)", "减少同时运行的任务；管理员可豁免该 slice（ManagedOOMPreference=avoid）")
	}),
}
