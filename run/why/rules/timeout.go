package rules

import (
	"crun.dev/crun/internal/lazyregexp"
	"crun.dev/crun/run/why/evidence"
)

var timeoutWords = lazyregexp.New(`.*(?:DataLoader timed out after \d+ seconds|Watchdog caught collective operation timeout|ProcessGroupNCCL.*timeout|Timed out initializing process group|Timed out waiting \d+ms for|Timed out after \d+ seconds waiting for clients|wait timeout after \d+ms).*`)

// workerTimeout: somebody waited for a worker or a rank that did not come.
var workerTimeout = evidence.Rule{
	Code:  "timeout",
	Title: "a worker or a rank did not answer in time",
	Mechanism: `A DataLoader with a timeout, or a collective call of several ranks, gave up waiting. Somebody else hangs or died before: /dev/shm too
small, a rank with fewer batches, a network between machines.
Source: torch.utils.data.DataLoader, timeout; torch.distributed.init_process_group, timeout.`,
	Find: words(timeoutWords, func(c *evidence.Case, m []string) (cause, fix evidence.Text) {
		return evidence.Say("a worker or rank did not answer in time: it hung, had died before, or could not be reached", "某个 worker 或 rank 超时未响应：可能已挂起、早已退出，或网络不通"),
			evidence.Say("look for the first error in the log; --shm-size for DataLoader workers, NCCL_DEBUG=INFO for ranks", "在日志中找第一个错误；DataLoader worker 用 --shm-size，rank 用 NCCL_DEBUG=INFO")
	}),
}
