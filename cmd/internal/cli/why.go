package cli

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"crun.dev/crun/run/record"
	"crun.dev/crun/run/why"
)

// whyOptions are the flags of crun why.
type whyOptions struct {
	run     string
	output  string
	explain string
	all     bool
	fromLog string
	exit    int // of a log; -1 where it is not known
}

func newWhyCmd(app *App, runF func(*whyOptions) error) *cobra.Command {
	o := &whyOptions{}
	cmd := &cobra.Command{
		Use:   "why [flags] [RUN]",
		Short: "Say why a run ended: the cause, the evidence, the fix",
		Long: `Say why a run ended as it did: the last one, where none is named. The verdict is
drawn from the run's record alone: the counters of the kernel and the engine,
the wait status, who sent a signal, and what the run printed at its end.

How sure it is stands behind the cause: "certain" where a counter or the wait
status says so, "likely" where the program's own words or several signs do,
"unknown" where nothing does; then it says what would tell.

--from-log reads the log of a run that crun did not start: a file, or "-" for
standard input. Nothing is certain then.`,
		Example: `  crun why
  crun why train-7k2q --all
  crun why --explain shm-full
  docker logs train 2>&1 | crun why --from-log - --exit 137`,
		ValidArgsFunction: app.completeRuns(nil),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := o.check(cmd, args); err != nil {
				return err
			}
			if runF != nil {
				return runF(o)
			}
			switch {
			case o.explain != "":
				return app.explainCause(cmd, o.explain, o.output)
			case o.fromLog != "":
				return app.whyLog(o)
			}
			return app.why(o)
		},
	}
	addOutputFlag(cmd, &o.output)
	flags := cmd.Flags()
	flags.StringVar(&o.explain, "explain", "", "explain the cause with this `CODE`, without any run")
	flags.BoolVar(&o.all, "all", false, "show the other causes that fit too, and why each was dropped")
	flags.StringVar(&o.fromLog, "from-log", "", "read the log in `FILE` (- for standard input) instead of a run's record")
	flags.IntVar(&o.exit, "exit", -1, "with --from-log: the `CODE` that the run ended with, 0 to 255")
	_ = cmd.RegisterFlagCompletionFunc("explain", completeCauses)
	return cmd
}

func (o *whyOptions) check(cmd *cobra.Command, args []string) error {
	if err := checkOutput(cmd, o.output); err != nil {
		return err
	}
	changed := cmd.Flags().Changed
	alone := ""
	for _, flag := range []string{"explain", "from-log"} {
		if !changed(flag) {
			continue
		}
		if alone != "" {
			return usagef(cmd, "--%s and --%s do not go together", alone, flag)
		}
		alone = flag
		if text, _ := cmd.Flags().GetString(flag); text == "" {
			return usagef(cmd, "--%s needs a value", flag)
		}
	}
	switch {
	case len(args) > 1:
		return usagef(cmd, "%s takes one run, not %d", cmd.CommandPath(), len(args))
	case len(args) == 1 && alone != "":
		return usagef(cmd, "--%s takes no run; leave %q out", alone, args[0])
	case changed("exit") && alone != "from-log":
		return usagef(cmd, "--exit says how a log's run ended; the record of a run knows it: leave it out")
	case changed("exit") && (o.exit < 0 || o.exit > 255):
		return usagef(cmd, "--exit %d: an exit code is from 0 to 255", o.exit)
	case o.all && alone == "explain":
		return usagef(cmd, "--all and --explain do not go together")
	}
	if len(args) == 1 {
		o.run = args[0]
	}
	return nil
}

func completeCauses(_ *cobra.Command, _ []string, toComplete string) ([]string, cobra.ShellCompDirective) {
	var names []string
	for _, rule := range why.Rules() {
		if strings.HasPrefix(rule.Code, toComplete) {
			names = append(names, cobra.CompletionWithDesc(rule.Code, rule.Title))
		}
	}
	return names, cobra.ShellCompDirectiveNoFileComp
}

// why draws the verdict on a run.
func (app *App) why(o *whyOptions) error {
	r, err := app.runOrLast(o.run)
	if err != nil {
		return err
	}
	c, notes, err := why.Load(r)
	if err != nil {
		return err
	}
	for _, note := range notes {
		app.warn(note)
	}
	v := why.Draw(c)
	if o.output == "json" {
		return app.printJSON(newVerdictJSON(r.ID, c, v, o.all))
	}
	name, end := r.ID, ""
	if c.Plan != nil {
		name = c.Plan.Name
	}
	if c.State != nil && v.Code != why.Running {
		end = endText(c.State)
	}
	if v.Code == why.Clean || v.Code == why.Running {
		_, err := fmt.Fprintf(app.Out, "run %s%s: %s\n", name, end, v.Cause.In(app.chinese()))
		return errors.Join(err, app.printAsides(v))
	}
	fmt.Fprintf(app.Out, "run %s%s\n", name, end)
	return app.printVerdict(v, o.all)
}

// runOrLast gives the run that is named, or the one that began last.
func (app *App) runOrLast(name string) (*record.Record, error) {
	if name != "" {
		_, runs, err := app.namedRuns(name)
		if err != nil {
			return nil, err
		}
		return runs[0], nil
	}
	store, err := app.openStore()
	if err != nil {
		return nil, err
	}
	app.sweep(store)
	all, err := store.List()
	if err != nil {
		return nil, err
	}
	if len(all) == 0 {
		return nil, errors.New("there is no run yet: crun run starts one")
	}
	return all[len(all)-1], nil
}

// endText is how a run ended, and when: " ended by SIGKILL after 3 min 2 s, at 14:03:07".
func endText(s *record.State) string {
	text := " ended"
	switch {
	case s.Phase == record.Lost:
		text = " was lost"
	case s.Phase == record.Failed:
		text = " did not start"
	case s.Signal != "" || s.ExitCode != nil:
		text += " " + howEnded(s)
	}
	if !s.Started.IsZero() && s.Phase == record.Ended {
		text += " after " + formatTime(s.Elapsed(s.Finished))
	}
	if !s.Finished.IsZero() {
		text += ", " + s.Finished.Local().Format("2006-01-02 15:04:05")
	}
	return text
}
