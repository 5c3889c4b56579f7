package cli

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"crun.dev/crun/cmd/internal/config"
	"crun.dev/crun/internal/nvidia"
	"crun.dev/crun/run/gpucheck"
	"crun.dev/crun/run/plan"
	"crun.dev/crun/run/precheck"
	"crun.dev/crun/run/record"
)

// gpuCheckTime ends a check that hangs: a driver can.
const gpuCheckTime = "5m"

// checkGPUsOnce tries the run's GPUs with a short run of its own, where this
// image has not been tried with this driver and these GPUs before. What does
// not work is refused.
func (app *App) checkGPUsOnce(ctx context.Context, j *job) error {
	skips := j.options.skipChecks
	if j.plan.GPUs == nil || j.plan.GPUs.Driver == "" || !j.share || j.options.isGPUCheck ||
		slices.Contains(skips, precheck.GPUs) || slices.Contains(skips, precheck.All) {
		return nil
	}
	host := app.nvidiaHost(ctx)
	if host == nil || len(host.GPUs) == 0 {
		return nil // whether something has changed could not be told later
	}
	mark := app.gpuMark(j.plan, host)
	if _, err := os.Stat(mark); mark == "" || err == nil {
		return nil
	}
	app.note("trying %s on this machine's GPUs, once for each image and driver", shortImage(j.plan.Image))
	o := runOptions{name: "gpu-check-" + j.plan.ID[len(j.plan.ID)-4:], image: j.plan.Image.ID, profile: j.plan.Profile}
	if cpu := j.plan.Spec.Linux.Resources.CPU; cpu != nil && cpu.Cpus != "" {
		// The run's own: it holds the turn at choosing others.
		o.limits = append(o.limits, limitFlag{flag: "cpuset", field: "cpuset", value: cpu.Cpus})
	}
	report, err := app.gpuCheck(ctx, o, gpusFlag(j.plan.GPUs))
	if err != nil {
		return fmt.Errorf("trying %s on the GPUs: %w; --skip-check %s starts the run without", shortImage(j.plan.Image), err, precheck.GPUs)
	}
	if problem := report.Problem(); problem != "" {
		return fmt.Errorf("%s does not work with driver %s: %s; crun check --gpu %s tries it again, --skip-check %s starts the run all the same",
			shortImage(j.plan.Image), host.Driver, problem, shortImage(j.plan.Image), precheck.GPUs)
	}
	if os.MkdirAll(filepath.Dir(mark), 0o700) == nil {
		_ = os.WriteFile(mark, []byte(report.Summary()+"\n"), 0o600) // or it is tried again
	}
	return nil
}

// gpuMark is the file that says that an image has been tried with a driver and
// GPUs of these models, or "" where there is no place for one.
func (app *App) gpuMark(p *plan.Plan, host *nvidia.Host) string {
	dir, err := record.DefaultDir(app.Getenv)
	if err != nil {
		return ""
	}
	words := []string{p.Image.ID, host.Driver.String(), p.GPUs.String()}
	for _, gpu := range host.GPUs {
		words = append(words, gpu.Name)
	}
	sum := sha256.Sum256([]byte(strings.Join(words, "\x00")))
	return filepath.Join(filepath.Dir(dir), "gpu-checked", hex.EncodeToString(sum[:16]))
}

// gpusFlag writes what a run got as --gpus takes it.
func gpusFlag(g *plan.GPUs) string {
	if len(g.IDs) > 0 {
		return "device=" + strings.Join(g.IDs, ",")
	}
	return g.String()
}

// gpuCheck runs the check in an image. Its output is read and not shown.
func (app *App) gpuCheck(ctx context.Context, o runOptions, gpus string) (*gpucheck.Report, error) {
	var out, said bytes.Buffer
	sub := *app
	sub.In, sub.Out, sub.Err, sub.Quiet = strings.NewReader(""), &out, &said, true
	o.command, o.project, o.noTTY, o.isGPUCheck = gpucheck.Command(), "none", true, true
	o.skipChecks = []string{precheck.All}
	o.limits = append(o.limits,
		limitFlag{flag: "gpus", field: "gpus", value: gpus},
		limitFlag{flag: "time-limit", field: "time_limit", value: gpuCheckTime})
	err := sub.run(ctx, &o)
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	how := ""
	if coded := (*exitError)(nil); errors.As(err, &coded) && coded.err == nil {
		how = fmt.Sprintf("with exit code %d", coded.code)
		if coded.code > 128 {
			how += " (128 and the signal's number)"
		}
	} else if err != nil {
		return nil, err
	}
	report, err := gpucheck.Parse(out.String(), how)
	if err != nil {
		return nil, fmt.Errorf("%w\n%s", err, strings.TrimSpace(said.String()))
	}
	return report, nil
}

// printGPUCheck is crun check --gpu IMAGE.
func (app *App) printGPUCheck(ctx context.Context, image, output string) error {
	if err := app.hasGPUs(ctx); err != nil {
		return err
	}
	report, err := app.gpuCheck(ctx, runOptions{image: image}, "all")
	if err != nil {
		return err
	}
	if output == "json" {
		err = app.printJSON(report)
	} else if report.OK {
		_, err = fmt.Fprintln(app.Out, report.Summary())
	}
	if problem := report.Problem(); problem != "" {
		return errors.Join(err, errors.New(problem))
	}
	return err
}

// hasGPUs is an error where the engine has none that it could give.
func (app *App) hasGPUs(ctx context.Context) error {
	machine, err := config.Load(app.Getenv)
	if err != nil {
		return err
	}
	e, _, err := app.openEngine(ctx, machine)
	if err != nil {
		return err
	}
	defer e.Close()
	facts, err := e.Facts(ctx)
	if err == nil && facts.GPUDriver == "" {
		err = fmt.Errorf("there is no GPU to try: %s has none that it can give; install the GPU's driver and nvidia-container-toolkit there, run 'nvidia-ctk runtime configure' and restart the engine (crun doctor looks)", facts.Endpoint)
	}
	return err
}
