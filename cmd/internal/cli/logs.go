package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"crun.dev/crun/run/record"
)

// logsOptions are the flags of crun logs.
type logsOptions struct {
	run        string
	follow     bool
	tail       int // lines, -1 for all
	timestamps bool
}

func newLogsCmd(app *App, runF func(*logsOptions) error) *cobra.Command {
	o := &logsOptions{}
	tail := "all"
	cmd := &cobra.Command{
		Use:   "logs [flags] RUN",
		Short: "Print what a run wrote",
		Long: `Print what a run has written up to now, its stdout to stdout and its stderr to
stderr. The log is the record's: it is there after the container is gone. RUN
is a name (the newest run of it), an id, or the beginning of one.`,
		Example: `  crun logs train-7k2q
  crun logs -f train-7k2q
  crun logs --tail 20 --timestamps train-7k2q`,
		Args:              runArgs(1),
		ValidArgsFunction: app.completeRuns(nil),
		RunE: func(cmd *cobra.Command, args []string) error {
			o.run = args[0]
			o.tail = -1
			if tail != "all" {
				n, err := strconv.Atoi(tail)
				if err != nil || n < 0 {
					return usagef(cmd, "--tail is %q; allowed are a number of lines and all", tail)
				}
				o.tail = n
			}
			if runF != nil {
				return runF(o)
			}
			return app.logs(cmd.Context(), o)
		},
	}
	flags := cmd.Flags()
	flags.BoolVarP(&o.follow, "follow", "f", false, "print what is written from now on too, until the run ends")
	flags.StringVarP(&tail, "tail", "n", "all", "begin with the last `LINES`")
	flags.BoolVar(&o.timestamps, "timestamps", false, "begin each line with its time (UTC)")
	return cmd
}

func (app *App) logs(ctx context.Context, o *logsOptions) error {
	store, runs, err := app.namedRuns(o.run)
	if err != nil {
		return err
	}
	r := runs[0]
	log := r.ReadLog()
	defer log.Close()
	p := &logPrinter{out: app.Out, err: app.Err, timestamps: o.timestamps}
	if o.tail >= 0 {
		p.tail = &lineTail{lines: o.tail}
	}
	if err := p.copy(log); err != nil {
		return err
	}
	if p.tail != nil {
		if err := p.flushTail(); err != nil {
			return err
		}
	}
	if o.follow {
		if err := app.followLog(ctx, store, r, log, p); err != nil {
			return err
		}
	}
	return app.sayHowItEnded(r)
}

// sayHowItEnded ends a log with what its reader wants to know next, where that
// is more than that all went well.
func (app *App) sayHowItEnded(r *record.Record) error {
	state, err := r.State()
	if err != nil || !state.Phase.Over() {
		return nil // removed in this moment, or it goes on
	}
	p, err := r.Plan()
	if err != nil {
		return err
	}
	if text, clean := describeEnd(p, &state); !clean && text != "" {
		fmt.Fprintf(app.Err, "crun: %s\n", strings.TrimSuffix(text, logHint(p)))
	}
	return nil
}

// pollEvery is how often the log of a run is looked at for more.
const pollEvery = 100 * time.Millisecond

// logPrinter writes frames to the streams that they came from.
type logPrinter struct {
	out, err   io.Writer
	timestamps bool
	tail       *lineTail // while the lines to begin with are gathered

	inLine [2]bool // stdout, stderr: the last piece ended within a line
}

// copy prints what is there.
func (p *logPrinter) copy(log *record.LogReader) error {
	for {
		frame, err := log.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if p.tail != nil {
			p.tail.add(frame)
			continue
		}
		if err := p.print(frame); err != nil {
			return err
		}
	}
}

// followLog prints what comes until the run is over.
func (app *App) followLog(ctx context.Context, store *record.Store, r *record.Record, log *record.LogReader, p *logPrinter) error {
	for {
		// First whether it is over, then what it wrote.
		state, err := r.State()
		owned := r.Owned()
		if copied := p.copy(log); copied != nil {
			return copied
		}
		switch {
		case errors.Is(err, record.ErrGone):
			return nil
		case err != nil || state.Phase.Over():
			return err
		case !owned:
			app.sweep(store) // another monitor writes on
			if !r.Owned() {
				if state, err := r.State(); err == nil && !state.Phase.Over() {
					return fmt.Errorf("the log of run %s has ended, and the run has not: it has no monitor", r.ID)
				}
			}
		}
		select {
		case <-ctx.Done():
			return interrupted(nil)
		case <-time.After(pollEvery):
		}
	}
}

func (p *logPrinter) print(frame record.Frame) error {
	if frame.Gap != nil {
		_, err := fmt.Fprintf(p.err, "crun: %s\n", gapText(frame.Gap))
		return err
	}
	to, stream := p.out, 0
	if frame.Stderr {
		to, stream = p.err, 1
	}
	if !p.timestamps {
		_, err := to.Write(frame.Data)
		return err
	}
	stamp := frame.Time.Format("2006-01-02T15:04:05.000Z ")
	var b bytes.Buffer
	for line := range bytes.Lines(frame.Data) {
		if !p.inLine[stream] {
			b.WriteString(stamp)
		}
		b.Write(line)
		p.inLine[stream] = line[len(line)-1] != '\n'
	}
	_, err := to.Write(b.Bytes())
	return err
}

func (p *logPrinter) flushTail() error {
	frames := p.tail.frames
	p.tail = nil
	for _, frame := range frames {
		if err := p.print(frame); err != nil {
			return err
		}
	}
	return nil
}

func gapText(g *record.Gap) string {
	if g.Bytes == 0 {
		return "[" + g.Why + "]"
	}
	return fmt.Sprintf("[%d bytes of output are missing here: %s]", g.Bytes, g.Why)
}

// lineTail keeps the last lines of both streams together.
type lineTail struct {
	lines  int
	frames []record.Frame // of at most one line each
	count  int            // lines that have ended, in frames
}

func (t *lineTail) add(frame record.Frame) {
	if frame.Gap != nil {
		t.frames = append(t.frames, frame)
		return
	}
	for line := range bytes.Lines(frame.Data) {
		t.frames = append(t.frames, record.Frame{Time: frame.Time, Stderr: frame.Stderr, Data: bytes.Clone(line)})
		if line[len(line)-1] == '\n' {
			t.count++
		}
	}
	t.trim()
}

// trim drops the oldest lines. A last one that has not ended counts as one.
func (t *lineTail) trim() {
	open := 0
	if n := len(t.frames); n > 0 && t.frames[n-1].Gap == nil && !endsLine(t.frames[n-1]) {
		open = 1
	}
	drop := 0
	for drop < len(t.frames) && (t.count+open > t.lines || t.lines == 0) {
		if t.frames[drop].Gap == nil && endsLine(t.frames[drop]) {
			t.count--
		}
		drop++
	}
	t.frames = t.frames[drop:] // append copies what is left once in a while
}

func endsLine(f record.Frame) bool { return len(f.Data) > 0 && f.Data[len(f.Data)-1] == '\n' }
