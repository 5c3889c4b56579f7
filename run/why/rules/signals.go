package rules

import (
	"fmt"
	"strconv"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"crun.dev/crun/internal/lazyregexp"
	"crun.dev/crun/run/plan"
	"crun.dev/crun/run/why/evidence"
)

// signalName gives "SIGKILL" for an engine's "9".
func signalName(text string) string {
	if n, err := strconv.Atoi(text); err == nil {
		if name := unix.SignalName(syscall.Signal(n)); name != "" {
			return name
		}
	}
	return text
}

func timeText(d plan.Duration) string {
	return plan.FormatDuration(time.Duration(d).Round(time.Second))
}

func durationOf(c *evidence.Case) plan.Duration {
	if c.Report != nil && c.Report.Duration > 0 {
		return c.Report.Duration
	}
	if c.State != nil && !c.State.Finished.IsZero() {
		return plan.Duration(c.State.Finished.Sub(c.State.Started))
	}
	return 0
}

// throttled is the share of the scheduler's periods in which the run had to wait
// for its quota, in percent.
func throttled(c *evidence.Case) int64 {
	n := c.Counters()
	if n.CPUPeriods == nil || n.ThrottledPeriods == nil || *n.CPUPeriods < 100 {
		return 0
	}
	return *n.ThrottledPeriods * 100 / *n.CPUPeriods
}

func percentText(n int64) string { return fmt.Sprintf("%d %%", n) }

// status is the wait status as a sign.
func status(c *evidence.Case) evidence.Sign {
	sign := evidence.Sign{What: "ended", Value: "how is not known", Time: c.Ended()}
	switch {
	case c.Signal != "":
		sign.Value = "by " + c.Signal
	case c.ExitCode != nil:
		sign.Value = fmt.Sprintf("with exit code %d", *c.ExitCode)
	}
	return sign
}

var hangupWords = lazyregexp.New(`.*(?:closing signal SIGHUP|Received 1 death signal|got signal: 1\b).*`)

// hangup: the terminal went away, and took the program with it.
var hangup = evidence.Rule{
	Code:  "hangup",
	Title: "a terminal or login was closed, and the program ended with it (SIGHUP)",
	Mechanism: `When a terminal closes, the kernel sends SIGHUP to what runs in it. torchrun installs a handler of its own, so that nohup does not
keep it. A run of crun goes on: its container is in no terminal.
Source: signal(7); pytorch issue 67538.`,
	Find: func(c *evidence.Case) *evidence.Finding {
		m := c.Words(hangupWords)
		if m == nil && !c.Died("SIGHUP") || c.Clean() {
			return nil
		}
		f := &evidence.Finding{
			Code: "hangup", Sure: evidence.Likely, Signs: []evidence.Sign{status(c)},
			Cause: evidence.Say("the program ended by SIGHUP: the terminal or login that it ran in was closed", "程序因 SIGHUP 结束：其终端或登录会话被关闭"),
			Fix:   evidence.Say("crun run -d: the run stays when you log out", "crun run -d：退出登录后运行仍会继续"),
		}
		if m != nil {
			f.Signs = append(f.Signs, said(m[0]))
		}
		if c.Signal == "SIGHUP" {
			f.Sure = evidence.Certain
		}
		return f
	},
}

// terminated: SIGTERM from somebody that no record names.
var terminated = evidence.Rule{
	Code:  "terminated",
	Title: "the program got SIGTERM or SIGINT from somebody unknown",
	Mechanism: `SIGTERM asks a program to end. crun and the engine note theirs, so that this one came from inside the container or from a user of
the host who may signal the process: a supervisor, a shutdown, earlyoom.
Source: kill(2).`,
	Find: func(c *evidence.Case) *evidence.Finding {
		for _, signal := range []string{"SIGTERM", "SIGINT", "SIGQUIT"} {
			if c.Signal == signal || c.Signal == "" && c.Died(signal) {
				return &evidence.Finding{
					Code: "terminated", Sure: evidence.Unknown, Signs: []evidence.Sign{status(c)},
					Cause: evidence.Say("somebody asked the program to end (%s); neither crun nor the engine did", "有人要求程序结束（%s）；并非 crun 或引擎所为", signal),
					Fix:   evidence.Say("a supervisor, a shutdown or earlyoom on the host: its journal would tell", "可能是监控程序、关机或主机上的 earlyoom：查看其日志"),
				}
			}
		}
		return nil
	},
}

var illegalWords = lazyregexp.New(`.*(?:Illegal instruction|SIGILL|died with <Signals\.SIGILL).*`)

// illegal: the program uses instructions that this CPU does not have.
var illegal = evidence.Rule{
	Code:  "illegal-instruction",
	Title: "the program uses instructions that this CPU does not have",
	Mechanism: `A package was compiled for a newer CPU (AVX, AVX-512), or the machine is virtual with a CPU model that hides them. The process gets
SIGILL.
Source: signal(7); docker-mozillatts issue 17.`,
	Find: func(c *evidence.Case) *evidence.Finding {
		m := c.Words(illegalWords)
		if c.Clean() || m == nil && !c.Died("SIGILL") {
			return nil
		}
		f := &evidence.Finding{
			Code: "illegal-instruction", Sure: evidence.Likely, Signs: []evidence.Sign{status(c)},
			Cause: evidence.Say("the program used an instruction that this CPU does not have", "程序使用了该 CPU 不支持的指令"),
			Fix:   evidence.Say("grep -o avx[^ ]* /proc/cpuinfo shows what it has; another host, or an older build of the package that the traceback names", "用 grep -o 'avx[^ ]*' /proc/cpuinfo 查看支持的指令；换主机，或用较旧的软件包"),
		}
		if m != nil {
			f.Signs = append(f.Signs, said(m[0]))
		}
		if c.Signal == "SIGILL" {
			f.Sure = evidence.Certain
		}
		return f
	},
}

// busError: SIGBUS with room in /dev/shm.
var busError = evidence.Rule{
	Code:  "bus-error",
	Title: "a page of a mapped file could not be had (Bus error)",
	Mechanism: `A process that touches a page of a mapped file gets SIGBUS where the file has become shorter, its disk fails or is full, or huge
pages are asked for that the cgroup does not give. /dev/shm had room at the end, so that it is not the usual cause.
Source: mmap(2), "Errors"; kubernetes issue 71233.`,
	Find: func(c *evidence.Case) *evidence.Finding {
		if c.Clean() || !c.Died("SIGBUS") {
			return nil
		}
		return &evidence.Finding{
			Code: "bus-error", Sure: evidence.Unknown, Signs: []evidence.Sign{status(c)},
			Cause: evidence.Say("a page of a mapped file could not be had (SIGBUS)", "无法取得映射文件的某一页（SIGBUS）"),
			Fix:   evidence.Say("a file that was cut while it was mapped (numpy.memmap, LMDB), or its disk; -e PYTHONFAULTHANDLER=1 shows the line", "映射期间文件被截断（numpy.memmap、LMDB）或磁盘故障；-e PYTHONFAULTHANDLER=1 可显示代码行"),
		}
	},
}

var segfaultWords = lazyregexp.New(`.*(?:Segmentation fault|SIGSEGV|Unexpected segmentation fault encountered in worker).*`)

// segfault: a wild pointer in compiled code.
var segfault = evidence.Rule{
	Code:  "segfault",
	Title: "compiled code touched memory that is not its own (segmentation fault)",
	Mechanism: `A bug in a compiled library, libraries that do not fit one another, or a failure that a library did not check (a thread that could
not be started). Python's fault handler prints the line of the script.
Source: signal(7), SIGSEGV; Python, faulthandler.`,
	Find: func(c *evidence.Case) *evidence.Finding {
		m := c.Words(segfaultWords)
		if c.Clean() || m == nil && !c.Died("SIGSEGV") {
			return nil
		}
		f := &evidence.Finding{
			Code: "segfault", Sure: evidence.Likely, Signs: []evidence.Sign{status(c)},
			Cause: evidence.Say("compiled code crashed (segmentation fault)", "编译代码崩溃（段错误）"),
			Fix:   evidence.Say("-e PYTHONFAULTHANDLER=1 shows the line; num_workers=0 shows whether a worker does it; crun check looks at the libraries", "-e PYTHONFAULTHANDLER=1 显示代码行；num_workers=0 判断是否在 worker 中；crun check 检查库"),
		}
		if m != nil {
			f.Signs = append(f.Signs, said(m[0]))
		}
		if c.Recorded() { // whose Python has the fault handler
			f.Fix = evidence.Say("num_workers=0 shows whether a worker does it; crun check looks at the libraries", "num_workers=0 判断是否在 worker 中；crun check 检查库")
		}
		if at := faultLine(c); at != "" {
			f.Signs = append(f.Signs, evidence.Sign{What: "at", Value: at})
		}
		if c.Signal == "SIGSEGV" {
			f.Sure = evidence.Certain
		}
		return f
	},
}

var faultFrame = lazyregexp.New(`^\s+File "([^"]+)", line (\d+)(?: in (\S+))?`)

// faultLine is the innermost line of Python's fault handler.
func faultLine(c *evidence.Case) string {
	for i, line := range c.Log.Lines {
		if fatalLine.MatchString(line) {
			for _, next := range c.Log.Lines[i+1:] {
				if m := faultFrame.FindStringSubmatch(next); m != nil {
					return m[1] + ":" + m[2]
				}
			}
		}
	}
	return ""
}

var fatalLine = lazyregexp.New(`^Fatal Python error: `)

// aborted: a library found something wrong and gave up.
var aborted = evidence.Rule{
	Code:  "aborted",
	Title: "a library gave up (abort)",
	Mechanism: `abort() sends SIGABRT to its own process: a failed assertion, a C++ exception that nobody caught, glibc's check of the heap. The
line before says which.
Source: abort(3).`,
	Find: func(c *evidence.Case) *evidence.Finding {
		if c.Clean() || !c.Died("SIGABRT") {
			return nil
		}
		f := &evidence.Finding{
			Code: "aborted", Sure: evidence.Likely, Signs: []evidence.Sign{status(c)},
			Cause: evidence.Say("a library gave up (SIGABRT); its last words are above", "某个库中止了程序（SIGABRT）；原因见其最后输出"),
			Fix:   evidence.Say("read the last lines: crun logs --tail 20", "查看最后几行：crun logs --tail 20"),
		}
		if c.Signal == "SIGABRT" {
			f.Sure = evidence.Certain
		}
		if n := len(c.Log.Lines); n > 0 {
			f.Signs = append(f.Signs, said(c.Log.Lines[n-1]))
		}
		return f
	},
}

// killed: SIGKILL, and nobody who would say so.
var killed = evidence.Rule{
	Code:  "killed",
	Title: "the run was killed (SIGKILL), by whom is not known",
	Mechanism: `SIGKILL leaves no word. The kernel's counter of kills for want of memory did not move, and neither crun nor the engine sent it: a
user of the host or root did, systemd-oomd, or the program itself.
Source: signal(7).`,
	Find: func(c *evidence.Case) *evidence.Finding {
		if c.Clean() || !c.Died("SIGKILL") {
			return nil
		}
		f := &evidence.Finding{
			Code: "killed", Sure: evidence.Unknown, Signs: []evidence.Sign{status(c)},
			Cause: evidence.Say("the run was killed (SIGKILL), and nothing here says by whom", "运行被杀死（SIGKILL），没有迹象表明是谁所为"),
			Fix:   evidence.Say("dmesg -T | grep -i kill and journalctl -u systemd-oomd on the host would tell", "在主机上查看 dmesg -T | grep -i kill 和 journalctl -u systemd-oomd"),
		}
		if n := c.Counters().OOMKills; n != nil {
			f.Signs = append(f.Signs, evidence.Sign{What: "oom_kill", Value: fmt.Sprint(*n)})
			f.Cause = evidence.Say("the run was killed (SIGKILL), not by the kernel for memory, and neither crun nor the engine did it", "运行被杀死（SIGKILL）；内核没有因内存而杀进程，也不是 crun 或引擎所为")
		}
		return f
	},
}

var kernelDiedWords = lazyregexp.New(`.*(?:AsyncIOLoopKernelRestarter: restarting kernel|KernelRestarter: restarting kernel|[Kk]ernel (?:appears to have )?died|DeadKernelError|Kernel Restarting).*`)

// kernelDied: a notebook's kernel is a child of the server.
var kernelDied = evidence.Rule{
	Code:  "kernel-died",
	Title: "a notebook's kernel died, while its server went on",
	Mechanism: `The kernel is a process beside Jupyter's server; the server sees that it is gone and starts another, and knows no more. With
oom_kill above 0 it was memory (see memory-child); otherwise its last output tells.
Source: jupyter help issue 418.`,
	Find: func(c *evidence.Case) *evidence.Finding {
		m := c.Log.Match(kernelDiedWords)
		if m == nil {
			return nil
		}
		f := &evidence.Finding{
			Code: "kernel-died", Sure: evidence.Likely, Signs: []evidence.Sign{said(m[0])},
			Cause: evidence.Say("a notebook's kernel died; why is not in the server's log", "notebook 的内核死亡；服务器日志中没有原因"),
			Fix:   evidence.Say("run the cell's code with crun run: its verdict says more", "用 crun run 运行该代码：会给出更多信息"),
			Aside: c.Clean(),
		}
		if c.OOMKills() > 0 {
			f.Sure, f.Signs = evidence.Certain, append(oomSigns(c), f.Signs...)
			limit, _ := c.Memory()
			f.Cause = evidence.Say("a notebook's kernel was killed at the run's memory limit of %s", "notebook 的内核因达到内存上限 %s 被杀死", size(limit))
			f.Fix = moreMemory(c)
		}
		return f
	},
}

var timeoutWords = lazyregexp.New(`.*(?:DataLoader timed out after \d+ seconds|Watchdog caught collective operation timeout|ProcessGroupNCCL.*timeout|Timed out initializing process group).*`)

// workerTimeout: somebody waited for a worker or a rank that did not come.
var workerTimeout = evidence.Rule{
	Code:  "timeout",
	Title: "a worker or a rank did not answer in time",
	Mechanism: `A DataLoader with a timeout, or a collective call of several ranks, gave up waiting. Somebody else hangs or died before: /dev/shm too
small, a rank with fewer batches, a network between machines.
Source: torch.utils.data.DataLoader, timeout; torch.distributed.init_process_group, timeout.`,
	Find: words("timeout", timeoutWords, func(c *evidence.Case, m []string) (cause, fix evidence.Text) {
		return evidence.Say("a worker or rank did not answer in time, so that another had hung or died before", "某个 worker 或 rank 超时未响应，说明另一个早已挂起或死亡"),
			evidence.Say("look for the first error in the log; --shm-size for DataLoader workers, NCCL_DEBUG=INFO for ranks", "在日志中找第一个错误；DataLoader worker 用 --shm-size，rank 用 NCCL_DEBUG=INFO")
	}),
}
