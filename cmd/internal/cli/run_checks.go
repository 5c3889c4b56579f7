package cli

import (
	"context"
	"errors"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"crun.dev/crun/cmd/internal/config"
	"crun.dev/crun/internal/nvidia"
	"crun.dev/crun/run/engine"
	"crun.dev/crun/run/plan"
	"crun.dev/crun/run/precheck"
)

// checkSkips refuses names that no check has.
func checkSkips(cmd *cobra.Command, names []string) error {
	empty := cmd.Flags().Changed("skip-check") && len(names) == 0
	if name := precheck.Unknown(names); name != "" || empty || slices.Contains(names, "") {
		return usagef(cmd, "--skip-check is %q; there are %s, and %s", name, strings.Join(precheck.Names(), ", "), precheck.All)
	}
	return nil
}

// precheck looks at what a run needs and the machine has. Where it should not
// start the error joins all that speaks against it; --dry-run warns of that.
func (app *App) precheck(j *job, machine *config.Config, facts engine.Facts, running []engine.Container, host *nvidia.Host) error {
	t := machine.Checks.Thresholds()
	t.Skip = append(slices.Clone(t.Skip), j.options.skipChecks...)
	found := precheck.Check(precheckFacts(j.plan, facts, running, host, machine.Scratch), needOf(j.plan, host), t)
	var refused []error
	for _, f := range found {
		switch {
		case !f.Refused:
			j.found = append(j.found, f)
		case j.options.dryRun:
			j.warnings = append(j.warnings, "the run would be refused: "+f.Error())
		default:
			refused = append(refused, f)
		}
	}
	return errors.Join(refused...)
}

// precheckFacts asks this machine, where it is the engine's, for what is
// looked at. p is nil outside of a run.
func precheckFacts(p *plan.Plan, facts engine.Facts, running []engine.Container, host *nvidia.Host, scratch string) precheck.Facts {
	f := precheck.Facts{Available: -1, HostMemory: facts.Memory}
	for _, c := range running {
		if c.Status != "running" {
			continue
		}
		f.Running++
		if n, err := strconv.ParseInt(c.Labels[plan.LabelPrefix+"memory"], 10, 64); err == nil && n > 0 {
			f.RunsMemory += n
		} else {
			f.Unbounded++
		}
	}
	if facts.Remote {
		return f
	}
	f.Available = precheck.Available()
	places := [][2]string{{precheck.StorePlace, facts.DataRoot}}
	if facts.ContainerdStore {
		places = append(places, [2]string{precheck.StorePlace, containerdRoot})
	}
	switch {
	case p == nil:
		places = append(places, [2]string{precheck.TmpdirPlace, scratch})
	case p.Scratch != "":
		places = append(places, [2]string{precheck.TmpdirPlace, filepath.Dir(p.Scratch)})
	}
	if p != nil {
		places = append(places, [2]string{precheck.ProjectPlace, p.Project})
	}
	f.Places = precheck.Places(append(places, [2]string{"", "/"})...)
	if host != nil {
		for i, g := range host.GPUs {
			gpu := precheck.GPU{Index: i, Name: g.Name, Free: g.Free, Total: g.Total}
			if g.Total == 0 {
				gpu.Free = -1
			}
			f.GPUs = append(f.GPUs, gpu)
		}
	}
	return f
}

// containerdRoot is where containerd keeps images by default, which engines
// with its image store do.
const containerdRoot = "/var/lib/containerd"

// needOf is what a plan asks for.
func needOf(p *plan.Plan, host *nvidia.Host) precheck.Need {
	n := precheck.Need{Scratch: p.ScratchSize}
	if m := p.Spec.Linux.Resources.Memory; m != nil && m.Limit != nil {
		n.Memory = *m.Limit
	}
	n.Shm, _ = p.TmpfsSize(plan.ShmPath)
	if workers, ok := p.Getenv(plan.WorkersVar); ok && trains(p.Spec.Process.Args) {
		n.Workers, _ = strconv.Atoi(workers)
		n.Ranks = p.Ranks
	}
	if p.GPUs == nil || host == nil {
		return n
	}
	n.GPUCount = p.GPUs.Count
	limit := &plan.GPULimit{Count: p.GPUs.Count, All: p.GPUs.All, IDs: p.GPUs.IDs}
	for i, g := range host.GPUs {
		if asksFor(limit, i, g) {
			n.GPUs = append(n.GPUs, i)
		}
	}
	return n
}

// trains tells whether a command is Python's, which may have a DataLoader.
func trains(args []string) bool {
	return slices.ContainsFunc(args[:min(len(args), 2)], func(arg string) bool {
		base := filepath.Base(arg)
		return strings.HasPrefix(base, "python") || base == "torchrun" || base == "accelerate" || base == "deepspeed"
	})
}

// sayFindings says what the checks found: each once in a project, and again
// when what there is has halved.
func (app *App) sayFindings(j *job) {
	for _, f := range j.found {
		app.warnOnceAs(j.plan.Project, "precheck "+f.Key, f.Warning())
	}
}

// runningRuns are the containers of runs, for the sum of their memory. An
// engine that does not tell is no reason to start nothing.
func runningRuns(ctx context.Context, e engine.Engine) []engine.Container {
	all, err := e.List(ctx)
	if err != nil {
		return nil
	}
	return all
}
