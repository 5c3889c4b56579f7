package rules

import (
	"crun.dev/crun/internal/lazyregexp"
	"crun.dev/crun/run/why/evidence"
)

// hostMemoryError: Python could not have memory and said so; no kernel counter
// tells of it, since a refused allocation kills nobody.
var hostMemoryError = evidence.Rule{
	Code:  "memory-error",
	Title: "Python was refused memory (MemoryError)",
	Mechanism: `A single allocation asked for more than the kernel, an rlimit or the overcommit rule allows, and Python raised MemoryError. No
process is killed, and no counter of the cgroup moves. Most often one array is far larger than meant: the message of NumPy has its shape.
Source: NumPy, numpy.exceptions; Linux, Documentation/mm/overcommit-accounting.rst.`,
	Find: words(memoryErrorWords, func(c *evidence.Case, m []string) (cause, fix evidence.Text) {
		return evidence.Say("the program asked for more memory than it could have", "程序请求的内存超过可用内存"),
			evidence.Say("look at the size or shape in the message; if it is right, --memory", "检查消息中的大小或数组形状；若无误，增大 --memory")
	}),
}

var memoryErrorWords = lazyregexp.New(`(?:^|\.|\s)(?:MemoryError|CondaMemoryError|_ArrayMemoryError|ArrowMemoryError|numpy\..*ArrayMemoryError)\b.*|C error: out of memory.*|\[Errno 12\].*|std::bad_alloc.*|unable to mmap \d+ bytes from file .*Cannot allocate memory.*|memory allocation of \d+ bytes failed.*|DefaultCPUAllocator: (?:can't allocate memory|not enough memory).*`)
