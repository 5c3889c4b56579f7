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
	since      time.Time // zero: from the beginning
	until      time.Time // zero: to the end
	stdout     bool      // this stream alone
	stderr     bool
}

func newLogsCmd(app *App, runF func(*logsOptions) error) *cobra.Command {
	o := &logsOptions{}
	tail := "all"
	var since, until string
	cmd := &cobra.Command{
		Use:   "logs [flags] RUN",
		Short: "Print what a run wrote",
		Long: `Print what a run has written up to now, its stdout to stdout and its stderr to
stderr. The log is the record's: it is there after the container is gone. RUN
is a name (the newest run of it), an id, or the beginning of one.`,
		Example: `  crun logs train-7k2q
  crun logs -f train-7k2q
  crun logs --tail 20 --timestamps train-7k2q
  crun logs --since 10m --stderr train-7k2q
  crun logs --since "2026-03-01 08:00" --until "2026-03-01 09:00" night`,
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
			if o.stdout && o.stderr {
				o.stdout, o.stderr = false, false // both are what is printed anyway
			}
			var err error
			if o.since, err = parseMoment(since, time.Now()); err != nil {
				return usagef(cmd, "--since is %w", err)
			}
			if o.until, err = parseMoment(until, time.Now()); err != nil {
				return usagef(cmd, "--until is %w", err)
			}
			if !o.since.IsZero() && !o.until.IsZero() && o.until.Before(o.since) {
				return usagef(cmd, "--until %s is before --since %s", until, since)
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
	flags.StringVar(&since, "since", "", "leave out what is older than this `TIME`: 10m ago, or 2026-03-01 [15:04[:05]]")
	flags.StringVar(&until, "until", "", "leave out what is newer than this `TIME`")
	flags.BoolVar(&o.stdout, "stdout", false, "print what the run wrote to stdout alone")
	flags.BoolVar(&o.stderr, "stderr", false, "print what the run wrote to stderr alone")
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
	p := &logPrinter{out: app.Out, err: app.Err, options: o}
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
	out, err io.Writer
	options  *logsOptions
	tail     *lineTail // while the lines to begin with are gathered

	inLine [2]bool // stdout, stderr: the last piece ended within a line
}

// wants tells whether a piece is to be printed.
func (o *logsOptions) wants(frame record.Frame) bool {
	switch {
	case frame.Time.Before(o.since), !o.until.IsZero() && frame.Time.After(o.until):
		return false
	case frame.Gap != nil:
		return true
	case frame.Stderr:
		return !o.stdout
	}
	return !o.stderr
}

// parseMoment reads a point in time: how long ago it was, or when, in the
// caller's time zone. "" is the zero time.
func parseMoment(text string, now time.Time) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	if days, ok := strings.CutSuffix(text, "d"); ok {
		if n, err := strconv.Atoi(days); err == nil && n >= 0 {
			return now.AddDate(0, 0, -n), nil
		}
	}
	if ago, err := time.ParseDuration(text); err == nil && ago >= 0 {
		return now.Add(-ago), nil
	}
	for _, layout := range []string{time.RFC3339Nano, "2006-01-02T15:04:05", "2006-01-02 15:04:05", "2006-01-02T15:04", "2006-01-02 15:04", time.DateOnly} {
		if t, err := time.ParseInLocation(layout, text, time.Local); err == nil {
			return t, nil
		}
	}
	return time.Time{}, fmt.Errorf("%q; allowed are how long ago (30s, 10m, 2h, 3d) and a time (2026-03-01, \"2026-03-01 15:04\", 2026-03-01T15:04:05Z)", text)
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
		if !p.options.wants(frame) {
			continue
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
		case errors.Is(err, record.ErrGone), !p.options.until.IsZero() && time.Now().After(p.options.until):
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
	if !p.options.timestamps {
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
