package evidence

import (
	"strings"

	"crun.dev/crun/internal/lazyregexp"
)

// Log is the end of what a run has printed, a line each.
type Log struct {
	Lines []string
}

// What is looked at of a log: more tells nothing about an end, and a record may
// have gigabytes.
const (
	MaxLines = 4000
	MaxLine  = 2000 // bytes
	MaxBytes = 1 << 20
)

// Tail is the end of a text that is written to it: the last MaxBytes at least.
type Tail struct{ text []byte }

// Write adds to the text. It gives no error.
func (t *Tail) Write(data []byte) (int, error) {
	t.text = append(t.text, data...)
	if len(t.text) > 4*MaxBytes { // seldom, so that little is copied
		t.text = append(t.text[:0], t.text[len(t.text)-MaxBytes:]...)
	}
	return len(data), nil
}

// Log takes the lines of the text.
func (t *Tail) Log() Log { return ParseLog(t.text) }

// colours are what terminals make of a text; they tell nothing here.
var colours = lazyregexp.New(`\x1b(?:\[[0-9;?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|[@-Z\\-_])`)

// frame is a line of a C++ stack. It tells nothing here, and there are often so
// many that what was said before would be out of sight.
var frame = lazyregexp.New(`^(?:\[rank\d+\]:)?\s*frame #\d+: `)

// ParseLog takes the lines of a text, its last ones where it is long, without
// C++ stacks. A line that was written over, as progress bars do, is what stood
// there last.
func ParseLog(text []byte) Log {
	var l Log
	if len(text) > MaxBytes {
		text = text[len(text)-MaxBytes:]
	}
	lines := strings.Split(strings.ToValidUTF8(string(text), "\uFFFD"), "\n")
	if n := len(lines); n > 0 && lines[n-1] == "" {
		lines = lines[:n-1]
	}
	if n := len(lines); n > MaxLines {
		lines = lines[n-MaxLines:]
	}
	for _, line := range lines {
		line = strings.TrimRight(line, "\r")
		if i := strings.LastIndexByte(line, '\r'); i >= 0 {
			line = line[i+1:]
		}
		line = strings.TrimRight(colours.ReplaceAllString(line, ""), " \t")
		if len(line) > MaxLine {
			line = strings.ToValidUTF8(line[:MaxLine], "")
		}
		if !frame.MatchString(line) {
			l.Lines = append(l.Lines, line)
		}
	}
	return l
}

// Exception is the last traceback of Python in a log.
type Exception struct {
	Type  string // "RuntimeError", "torch.OutOfMemoryError"
	Where string // "train.py:12", of the innermost frame; "" where not told
	Line  string // the line of the log that names it
	Text  string // that line, and some behind it
	After int    // how many lines stand behind that one
	// Launched says that a launcher's traceback stands behind it at the end.
	Launched bool
}

var (
	frameLine     = lazyregexp.New(`^[\s|]*File "([^"]+)", line (\d+)`)
	exceptionLine = lazyregexp.New(`^((?:[A-Za-z_]\w*\.)*[A-Za-z_]\w*)(?::(?: (.*))?)?$`)
)

// tracebackLine begins a traceback; IPython has no colon, and the exception's
// name before it.
const tracebackLine = "Traceback (most recent call last):"

var notebookLine = lazyregexp.New(`^[A-Za-z_][\w.]* {2,}Traceback \(most recent call last\)$`)

func begins(line string) bool {
	return strings.HasSuffix(line, tracebackLine) || notebookLine.MatchString(line)
}

// Exception gives the last traceback; nil where there is none. What a rank of
// torchrun prints behind a prefix ("[rank0]: ") counts too. A launcher's own
// counts where no process that it started has left one among the last words.
func (l *Log) Exception() *Exception {
	var launchers *Exception
	first, _ := l.end()
	for i := len(l.Lines) - 1; i >= 0 && (launchers == nil || i >= first); i-- {
		if !begins(l.Lines[i]) {
			continue
		}
		e := l.exceptionAt(i)
		if e == nil || !e.Launcher() {
			if launchers != nil && e == nil {
				break
			}
			if launchers != nil {
				e.Launched = launchers.After <= linesBefore
			}
			return e
		}
		if launchers == nil {
			launchers = e
		}
	}
	return launchers
}

// launcher fits what torchrun, accelerate, PyTorch's spawn and subprocess raise
// when a process that they started has failed: it says nothing of why.
var launcher = lazyregexp.New(`(?:^|\.)(?:ChildFailedError|CalledProcessError|ProcessExitedException|ProcessRaisedException)$`)

// Launcher tells whether the exception only says that another process failed.
func (e *Exception) Launcher() bool { return launcher.MatchString(e.Type) }

// exceptionAt reads the traceback that begins at line start.
func (l *Log) exceptionAt(start int) *Exception {
	prefix := strings.TrimSuffix(l.Lines[start], tracebackLine)
	if start+1 < len(l.Lines) && !strings.HasPrefix(l.Lines[start+1], prefix) {
		prefix = "" // a progress bar's, or PyTorch's word "Original"
	}
	e := &Exception{}
	i := start + 1
	for ; i < len(l.Lines); i++ {
		line, same := strings.CutPrefix(l.Lines[i], prefix)
		if !same {
			continue // another rank's
		}
		if m := frameLine.FindStringSubmatch(line); m != nil {
			e.Where = m[1] + ":" + m[2]
			continue
		}
		if line == "" || line[0] == ' ' || line[0] == '\t' {
			continue
		}
		m := exceptionLine.FindStringSubmatch(line)
		if m == nil {
			continue
		}
		e.Type, e.Line, e.After = m[1], line, len(l.Lines)-1-i
		break
	}
	if e.Type == "" {
		return nil
	}
	text := []string{e.Line}
	for i++; i < len(l.Lines) && len(text) < linesBefore; i++ {
		text = append(text, strings.TrimPrefix(l.Lines[i], prefix))
	}
	e.Text = strings.Join(text, "\n")
	return e
}

// chained are the lines between tracebacks of which one led to the next.
var chained = lazyregexp.New(`^(?:.*: )?(?:During handling of the above exception, another exception occurred:|The above exception was the direct cause of the following exception:)$`)

// What stands before an end belongs to it: libraries write their own message
// before the traceback that follows, and ranks write over one another.
const (
	linesBefore = 40
	linesChain  = 400
)

// end gives where the last words of a run begin: its last tracebacks, those that
// led to them and what stands right before; or its last lines.
func (l *Log) end() (first, raised int) {
	last, found := len(l.Lines), false
	launched := false
	for i, chain := len(l.Lines)-1, max(0, last-linesChain); i >= chain; i-- {
		line := l.Lines[i]
		if begins(line) && (!found || raised-i < linesChain) {
			if !found || launched || l.leads(i, raised) {
				raised, found = i, true
				e := l.exceptionAt(i)
				launched = e != nil && e.Launcher()
			}
		}
	}
	if !found {
		raised = max(0, last-linesBefore)
		return raised, raised
	}
	return max(0, raised-linesBefore), raised
}

// leads tells whether the traceback at line i led to the one at line next, or
// is that of another rank at the same time.
func (l *Log) leads(i, next int) bool {
	for _, line := range l.Lines[i:next] {
		if chained.MatchString(line) || strings.HasPrefix(line, "[rank") {
			return true
		}
	}
	return false
}

// Match gives the groups of the last line that an expression fits among the
// last words of a run; nil where none does. A run that went on for long behind
// a message did not end for it.
func (l *Log) Match(re *lazyregexp.Regexp) []string {
	first, _ := l.end()
	return l.match(re, first)
}

func (l *Log) match(re *lazyregexp.Regexp, first int) []string {
	for i := len(l.Lines) - 1; i >= first; i-- {
		if m := re.FindStringSubmatch(l.Lines[i]); m != nil {
			return m
		}
	}
	return nil
}

// Words is Match for a run that ended badly.
func (c *Case) Words(re *lazyregexp.Regexp) []string {
	if c.Clean() {
		return nil
	}
	return c.Log.Match(re)
}

// Raised is Words without what stands before the traceback: warnings do, and a
// script may have printed the same words for another reason.
func (c *Case) Raised(re *lazyregexp.Regexp) []string {
	if c.Clean() {
		return nil
	}
	_, raised := c.Log.end()
	return c.Log.match(re, raised)
}

// Quote shortens a line of a log for a sign.
func Quote(line string) string {
	line = strings.TrimSpace(line)
	if len(line) > 160 {
		line = strings.ToValidUTF8(line[:157], "") + "..."
	}
	return line
}
