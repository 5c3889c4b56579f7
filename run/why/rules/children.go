package rules

import (
	"crun.dev/crun/internal/lazyregexp"
	"crun.dev/crun/run/why/evidence"
)

// childSignal fits what launchers say of a process that a signal ended: torchrun,
// subprocess, loky, DeepSpeed, PyTorch's spawn. The groups are the signal's
// number or name.
var childSignal = lazyregexp.New(`.*(?:exitcode\s*: -(\d+)\b|Signal (\d+) \(SIG\w+\) received by PID|died with <Signals\.(SIG\w+):|\b(SIG\w+)\(-\d+\)|return code = -(\d+)\b|non-zero exit status -(\d+)\b|terminated with signal (SIG\w+)|exited with code -(\d+)\b|DataLoader worker \(pid \d+\) is killed by signal: (Aborted|Illegal instruction)).*|.*: (?:line|行) ?\d+: +\d+ (Killed|已杀死|Bus error|总线错误|Segmentation fault|段错误|Aborted|已放弃|已中止|Illegal instruction|非法指令).*|.*[Ee]xit code:\s+-(\d+)$|.*(?:internal compiler error: |fatal error: )(Killed)\b.*`)

// shellWords are a shell's names of signals, in the languages of its users.
var shellWords = map[string]string{
	"Killed": "SIGKILL", "已杀死": "SIGKILL", "Bus error": "SIGBUS", "总线错误": "SIGBUS", "Segmentation fault": "SIGSEGV", "段错误": "SIGSEGV",
	"Aborted": "SIGABRT", "已放弃": "SIGABRT", "已中止": "SIGABRT", "Illegal instruction": "SIGILL", "非法指令": "SIGILL",
}

// rootCause is where torchrun names the process that failed first; the others
// were ended by torchrun itself.
var rootCause = lazyregexp.New(`^Root Cause \(first observed failure\):`)

// childEnd gives the signal that ended a process of the run, and the line that
// says so; "" where none does. SIGTERM is how launchers end the others, and does
// not count.
func childEnd(c *evidence.Case) (signal, line string) {
	if c.Clean() || c.Signal != "" {
		return "", ""
	}
	log := c.Log
	for i := len(log.Lines) - 1; i >= 0; i-- {
		if rootCause.MatchString(log.Lines[i]) {
			log.Lines = log.Lines[i:]
			break
		}
	}
	if e := c.Log.Exception(); e != nil && !e.Launcher() && !childSignal.MatchString(e.Text) {
		return "", "" // its own words count
	}
	m := log.Match(childSignal)
	if m == nil {
		return "", ""
	}
	for _, group := range m[1:] {
		if group != "" {
			signal = signalName(group)
			if name := shellWords[group]; name != "" {
				signal = name
			}
		}
	}
	if signal == "SIGTERM" {
		return "", ""
	}
	return signal, m[0]
}

// died tells whether the run or a process of it ended by this signal; line is
// what a launcher says of it, or "".
func died(c *evidence.Case, signal string) (line string, ok bool) {
	if c.Died(signal) {
		return "", true
	}
	got, line := childEnd(c)
	return line, got == signal
}

// goneWords say that a process is gone, and not how.
var goneWords = lazyregexp.New(`.*(?:BrokenProcessPool: |TerminatedWorkerError: |KilledWorker: |One of the subprocesses has abruptly died|The actor died unexpectedly before finishing|WorkerCrashedError|worker died or was killed while executing).*`)

// ended tells whether the last words are of a signal that somebody else sent or
// that ended a process of the run, rather than of the program's own fault.
func ended(c *evidence.Case) bool {
	if signal, _ := childEnd(c); signal != "" {
		return true
	}
	return !c.Recorded() && (asked(c) != nil || gone(c) != nil)
}

var workerCodes = lazyregexp.New(`exit codes of the workers are`)

// gone gives the line that says so, where none says how.
func gone(c *evidence.Case) []string {
	if c.Words(workerCodes) != nil {
		return nil
	}
	return c.Raised(goneWords)
}

// ownWords tells whether a line is that of an exception by which a script, and no
// system, says that something is not as it should be: what it quotes is no word
// of the system.
func ownWords(c *evidence.Case, line string) bool {
	e := c.Log.Exception()
	return e != nil && e.Line == line && ownTypes.MatchString(e.Type)
}

var ownTypes = lazyregexp.New(`^(?:ValueError|AssertionError|TypeError)$`)
