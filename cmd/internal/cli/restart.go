package cli

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"crun.dev/crun/run/engine"
	"crun.dev/crun/run/plan"
)

func newRestartCmd(app *App, runF func(*restartOptions) error) *cobra.Command {
	o := &restartOptions{}
	cmd := &cobra.Command{
		Use:   "restart [flags] RUN",
		Short: "Run again what a run was",
		Long: `Start a new run of the same plan: the same image, command, limits and folders,
in the background. A run that goes on is stopped first. The old record stays
until crun rm removes it; the name is the new run's from then on.

Values that came from your environment (-e NAME, --env-file) are in no record:
they are taken from your environment again, and one that is missing is named.`,
		Example: `  crun restart train-7k2q
  WANDB_API_KEY=... crun restart train-7k2q`,
		Args:              runArgs(1),
		ValidArgsFunction: app.completeRuns(nil),
		RunE: func(cmd *cobra.Command, args []string) error {
			o.run = args[0]
			if runF != nil {
				return runF(o)
			}
			return runError(app.restart(cmd.Context(), o))
		},
	}
	cmd.Flags().Var((*timeFlag)(&o.grace), "grace", "`TIME` between SIGTERM and SIGKILL for a run that goes on (default: the run's own)")
	return cmd
}

// restartOptions are the flags of crun restart.
type restartOptions struct {
	run   string
	grace time.Duration // 0: the run's own
}

func (app *App) restart(ctx context.Context, o *restartOptions) error {
	_, runs, err := app.namedRuns(o.run)
	if err != nil {
		return err
	}
	old := runs[0]
	p, err := old.Plan()
	if err != nil {
		return err
	}
	state, err := old.State()
	if err != nil {
		return err
	}
	secrets, err := app.secretsAgain(p)
	if err != nil {
		return err
	}
	var random [3]byte
	rand.Read(random[:]) // never fails
	p = p.Renew(plan.NewID(time.Now(), random))
	p.Interactive, p.Spec.Process.Terminal = false, false
	j := &job{
		options: &runOptions{detach: true}, plan: p, secrets: secrets, engineRef: state.Engine, home: homeOf(p),
	}
	if j.engine, err = app.engineAt(ctx, state.Engine); err != nil {
		return err
	}
	facts, image, err := app.sameImage(ctx, j.engine, p)
	if err != nil {
		return errors.Join(err, j.engine.Close())
	}
	j.arch, j.share = image.Architecture, !facts.Remote
	if !state.Phase.Over() {
		grace := o.grace
		if grace == 0 {
			grace = -1
		}
		if err := app.stopRun(ctx, old, "crun restart", grace); err != nil {
			return errors.Join(err, j.engine.Close())
		}
	}
	if err := app.spawn(j, p.ID); err != nil {
		return errors.Join(err, j.engine.Close())
	}
	defer j.engine.Close()
	return app.start(ctx, j)
}

// sameImage finds the image that the plan names by its id.
func (app *App) sameImage(ctx context.Context, e engine.Engine, p *plan.Plan) (engine.Facts, engine.Image, error) {
	facts, err := e.Facts(ctx)
	if err != nil {
		return facts, engine.Image{}, err
	}
	image, err := e.Image(ctx, p.Image.ID)
	if errors.Is(err, engine.ErrNotFound) {
		err = fmt.Errorf("the image of run %s (%s) is no longer on the engine: crun run builds it anew", p.Name, shortImage(p.Image))
	}
	return facts, image, err
}

// secretsAgain takes the values that no record has from the environment.
func (app *App) secretsAgain(p *plan.Plan) (map[string]string, error) {
	secrets := make(map[string]string)
	var missing []string
	for _, name := range slices.Clone(p.SecretEnv) {
		if app.Getenv(name) == "" && strings.HasPrefix(p.Origin["env."+name], plan.PassedOrigin) {
			p.SecretEnv = slices.DeleteFunc(p.SecretEnv, func(n string) bool { return n == name })
			continue
		}
		if secrets[name] = app.Getenv(name); secrets[name] == "" {
			missing = append(missing, name)
		}
	}
	if len(missing) > 0 {
		return nil, fmt.Errorf("run %s had %s from the environment or an env file, and no record has their values: set them, or start it with crun run", p.Name, strings.Join(missing, ", "))
	}
	return secrets, nil
}

// homeOf is the folder of crun's that is HOME in the run, to be made where it
// was removed, or "".
func homeOf(p *plan.Plan) string {
	for _, m := range p.Spec.Mounts {
		if m.Type == "bind" && m.Destination == p.Account.Home && strings.HasSuffix(m.Source, "/crun/home") {
			return m.Source
		}
	}
	return ""
}
