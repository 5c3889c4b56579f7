// Package rules holds the causes that crun knows, one a file: each is a pure
// function from a case to what it finds there. Which of several findings is the
// verdict is not decided here.
package rules

import (
	"fmt"

	"crun.dev/crun/internal/lazyregexp"
	"crun.dev/crun/run/plan"
	"crun.dev/crun/run/why/evidence"
)

// Causes lists the rules that name a cause. Of findings that are equally sure
// the one that stands first is the verdict: a cause stands before what it leads
// to.
var Causes = []evidence.Rule{
	// The run never began, or ended by somebody's will.
	limitsRefused, noCommand, gpuToolkit, engineFailed, rebooted, lost,
	tmpdirDisk, timeLimit,
	// Memory.
	memorySwap, memoryTmpfs, memoryWorker, memory, kernelDied, memoryChild, memorySurvived, hostMemory, pressure,
	addressSpace, memoryLocked, forkMemory,
	// Places and counts.
	shmNCCL, shmFull, tmpFull, inotify, quota, inodes, diskFull,
	descriptors, processes, userProcesses,
	// Somebody's will, where no limit was reached.
	stopped, engineStopped,
	// GPUs.
	gpuNotAsked, gpuLost, driverMismatch, driverOld, kernelImage, cudaFragmented, cudaMemory, cudaVisible,
	// The environment.
	mklSymbol, torchABI, numpyTwo, libstdc, libGL, cublasLt, compiler, noPasswd, numbaCache, cacheHome, noEnvironment,
	illegal, hangup, workerTimeout, hostMemoryError,
}

// Ends lists the rules that only say how a run ended. They count where no cause
// is found.
var Ends = []evidence.Rule{segfault, aborted, busError, killed, terminated, traceback, exited}

// words is a rule that goes by what the program says alone, which is likely at
// most. find gives the cause and the fix from the groups of the expression.
func words(re *lazyregexp.Regexp, find func(c *evidence.Case, m []string) (cause, fix evidence.Text)) func(*evidence.Case) *evidence.Finding {
	return func(c *evidence.Case) *evidence.Finding {
		m := c.Raised(re)
		if m == nil {
			return nil
		}
		cause, fix := find(c, m)
		if cause.Empty() {
			return nil
		}
		return &evidence.Finding{Sure: evidence.Likely, Cause: cause, Fix: fix, Signs: []evidence.Sign{said(m[0])}}
	}
}

// said is a sign of the log.
func said(line string) evidence.Sign {
	return evidence.Sign{What: "log:", Value: evidence.Quote(line)}
}

func size(n int64) string { return plan.FormatBytes(n) }

// more gives a size to try next as a flag takes it: half as much again.
func more(n int64) string {
	const step = 256 << 20
	want := (n + n/2 + step - 1) / step * step
	if want%(1<<30) == 0 {
		return fmt.Sprintf("%dg", want>>30)
	}
	return fmt.Sprintf("%dm", want>>20)
}
