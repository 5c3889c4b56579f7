package rules

import (
	"fmt"

	"crun.dev/crun/internal/lazyregexp"
	"crun.dev/crun/run/why/evidence"
)

var threadWords = lazyregexp.New(`.*(?:can't start new thread|pthread_create(?: failed)?.*Resource temporarily unavailable|Thread creation failed: Resource temporarily unavailable|\[Errno 11\] Resource temporarily unavailable|fork: (?:retry: )?(?:Resource temporarily unavailable|资源暂时不可用)|OMP: System error #11|failed to spawn thread: Os \{ code: 11|ThreadPoolBuildError.*code: 11\b|^\s*what\(\):\s+Resource temporarily unavailable|newosproc|cannot fork).*`)

// processes: the run's limit on processes and threads, which the kernel counts
// in pids.events each time it refuses one.
var processes = evidence.Rule{
	Code:  "pids",
	Title: "the run reached its limit on processes and threads (pids)",
	Mechanism: `pids bounds processes and threads together. At the limit fork and pthread_create fail with EAGAIN, "Resource temporarily
unavailable"; Python says "can't start new thread", OpenBLAS and libgomp have words of their own, and some die of a segfault behind them.
Thread pools that count the host's cores are the usual reason: 8 workers of 64 threads are 512.
Source: Linux, Documentation/admin-guide/cgroup-v2.rst, "pids.events"; fork(2), EAGAIN.`,
	Find: func(c *evidence.Case) *evidence.Finding {
		if c.Clean() {
			return nil
		}
		refused := c.Counters().PidsMax
		m := c.Words(threadWords)
		if m != nil && againWords.MatchString(m[0]) && c.Words(forkCalls) == nil {
			m = nil // a socket or a lock that is not ready has the same number
		}
		counted := refused != nil && *refused > 0
		if !counted && (m == nil || c.Recorded() && refused != nil) {
			return nil
		}
		f := &evidence.Finding{Sure: evidence.Likely}
		limit := ""
		if c.Limits != nil && c.Limits.Pids != nil && *c.Limits.Pids > 0 {
			limit = fmt.Sprint(*c.Limits.Pids)
		}
		if counted {
			f.Signs = append(f.Signs, evidence.Sign{What: "pids.events max", Value: fmt.Sprint(*refused) + " refused", Limit: limit})
		}
		if m != nil {
			f.Signs = append(f.Signs, said(m[0]))
		}
		if counted && m != nil {
			f.Sure = evidence.Certain
		} else if counted && c.ByException() {
			f.Aside = true
		}
		f.Cause = evidence.Say("no more processes or threads could be started", "无法再启动进程或线程")
		f.Fix = evidence.Say("--pids 4096, or fewer workers and OMP_NUM_THREADS=1", "--pids 4096，或减少 workers 并设 OMP_NUM_THREADS=1")
		if limit != "" {
			f.Cause = evidence.Say("the run reached its limit of %s processes and threads", "进程和线程数达到上限 %s", limit)
			f.Fix = evidence.Say("--pids %d, or fewer workers and OMP_NUM_THREADS=1", "--pids %d，或减少 workers 并设 OMP_NUM_THREADS=1", 2**c.Limits.Pids)
		}
		return f
	},
}

// EAGAIN is also what a socket or a file lock says that is not ready: only where
// something was started it is a refused process.
var (
	againWords = lazyregexp.New(`\[Errno 11\] Resource temporarily unavailable`)
	forkCalls  = lazyregexp.New(`fork|Popen|subprocess\.py|start_new_thread|_launch|pthread_create|spawn`)
)
