package rules

import (
	"strings"

	"crun.dev/crun/run/why/evidence"
)

// userProcesses: RLIMIT_NPROC counts the processes of a uid over the whole
// host, other containers and logins included.
var userProcesses = evidence.Rule{
	Code:  "nproc",
	Title: "the user reached the host's limit on processes (nproc)",
	Mechanism: `RLIMIT_NPROC, or the user's slice of systemd, bounds all processes and threads of a uid on the host, those of other containers
too. crun sets none, so that it comes from the engine's own unit or from the host. The counter of the run's own limit stays at 0.
Source: getrlimit(2), RLIMIT_NPROC; nnUNet issue 1343.`,
	Find: func(c *evidence.Case) *evidence.Finding {
		refused := c.Counters().PidsMax
		m := c.Words(threadWords)
		if m == nil || !c.Recorded() || refused == nil || *refused > 0 || strings.Contains(m[0], "Cannot allocate") {
			return nil
		}
		return &evidence.Finding{
			Sure:  evidence.Likely,
			Signs: []evidence.Sign{said(m[0]), {What: "pids.events max", Value: "0 refused by the run's own limit"}},
			Cause: evidence.Say("the host refused a process or thread: a limit over all of the user's processes, not the run's own", "主机拒绝创建进程或线程：这是用户级限制，而非本运行的 pids 限制"),
			Fix:   evidence.Say("fewer workers and OMP_NUM_THREADS=1; on the host, TasksMax of the engine's unit and ulimit -u", "减少 workers 并设 OMP_NUM_THREADS=1；在主机上检查引擎单元的 TasksMax 和 ulimit -u"),
		}
	},
}
