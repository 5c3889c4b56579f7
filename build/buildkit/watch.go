package buildkit

import (
	"bytes"
	"context"
	"fmt"
	"strings"

	"github.com/moby/buildkit/client"
	"github.com/moby/buildkit/util/progress/progressui"

	"crun.dev/crun/internal/lazyregexp"
)

// Modes are the ways to show progress.
var Modes = []string{"auto", "tty", "plain", "rawjson", "quiet"}

// keptLines is how many last lines of a step's output a failure has, and
// keptLength how long each may be, in bytes.
const (
	keptLines  = 20
	keptLength = 500
)

// watch shows a build's progress and remembers what a failure needs.
type watch struct {
	display progressui.Display
	quiet   bool
	steps   map[string]*step // by BuildKit's digest
	failed  []*step
	hidden  hider
}

// step is one step of a build as far as it got.
type step struct {
	name  string
	err   string
	lines [][]byte
	part  []byte // of a line that has not ended
}

func newWatch(options Options, hidden []string) (*watch, error) {
	display, err := progressui.NewDisplay(options.Out, progressui.DisplayMode(options.Progress))
	if err != nil {
		return nil, fmt.Errorf("showing progress as %q: %w (allowed are %s)", options.Progress, err, strings.Join(Modes, ", "))
	}
	return &watch{display: display, quiet: options.Progress == "quiet", steps: map[string]*step{}, hidden: newHider(hidden)}, nil
}

// follow shows what comes from status until it is closed.
func (w *watch) follow(ctx context.Context, status <-chan *client.SolveStatus) {
	shown := make(chan *client.SolveStatus)
	done := make(chan struct{})
	go func() {
		defer close(done)
		_, _ = w.display.UpdateFrom(ctx, shown)
		for range shown { // a display that gave up must not hold the build up
		}
	}()
	for s := range status {
		w.hidden.status(s)
		w.note(s)
		shown <- s
	}
	if rest := w.hidden.rest(); rest != nil {
		w.note(rest)
		shown <- rest
	}
	close(shown)
	<-done
}

// stepTitle is how crun's Dockerfiles say what a step does: a no-op with the
// title as its argument, at the start of the command.
var stepTitle = lazyregexp.New(`^(\[[^\]]*\] )RUN (?:.*?[ "])?: '([^']*)' && .*$`)

// readable makes "[image 3/5] install the pip packages" of a step's name, and
// of a stage's step without a title what BuildKit says.
func readable(name string) string {
	return stepTitle.ReplaceAllString(strings.ReplaceAll(name, "\n", " "), "$1$2")
}

var stepPlace = lazyregexp.New(`^\[[^\]]*\] `)

func (w *watch) note(s *client.SolveStatus) {
	for _, v := range s.Vertexes {
		v.Name = readable(v.Name)
		known := w.steps[string(v.Digest)]
		if known == nil {
			known = &step{}
			w.steps[string(v.Digest)] = known
		}
		known.name, known.err = v.Name, v.Error
		if v.Error != "" && !strings.HasSuffix(v.Error, context.Canceled.Error()) {
			w.failed = append(w.failed, known)
		}
	}
	for _, l := range s.Logs {
		if known := w.steps[string(l.Vertex)]; known != nil {
			known.write(l.Data)
		}
	}
}

// write adds output and keeps the last lines of it.
func (s *step) write(data []byte) {
	for line := range bytes.Lines(data) {
		if len(s.part) < keptLength {
			s.part = append(s.part, line...)
		}
		// What a bar has written over itself is gone.
		if i := bytes.LastIndexByte(bytes.TrimRight(s.part, "\r\n"), '\r'); i >= 0 {
			s.part = s.part[i+1:]
		}
		if bytes.HasSuffix(line, []byte("\n")) {
			s.lines = append(s.lines, s.part)
			s.part = nil
		}
	}
	if n := len(s.lines) - keptLines; n > 0 {
		s.lines = s.lines[n:]
	}
}

// output gives the last lines without what terminals act on.
func (s *step) output() []string {
	var lines []string
	for _, line := range append(s.lines[:len(s.lines):len(s.lines)], s.part) {
		text := clean(string(line))
		if len(text) > keptLength {
			text = strings.ToValidUTF8(text[:keptLength], "") + "..."
		}
		if text != "" {
			lines = append(lines, text)
		}
	}
	return lines
}

var escapes = lazyregexp.New("\x1b\\[[0-9;?]*[A-Za-z]")

func clean(line string) string {
	line = strings.TrimRight(escapes.ReplaceAllString(line, ""), "\r\n ")
	if i := strings.LastIndexByte(line, '\r'); i >= 0 {
		line = line[i+1:] // what a progress bar shows last
	}
	return strings.Map(func(r rune) rune {
		if r < ' ' && r != '\t' || r == 0x7f {
			return -1
		}
		return r
	}, line)
}
