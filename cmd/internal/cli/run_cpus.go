package cli

import (
	"context"
	"errors"
	"fmt"
	"time"

	"crun.dev/crun/internal/nvidia"
	"crun.dev/crun/internal/topology"
	"crun.dev/crun/internal/turn"
	"crun.dev/crun/run/plan"
)

// turnTime bounds the wait for others who choose CPUs. Each needs about a
// second, from its list of runs to its container.
const turnTime = time.Minute

// freeCPUs adds to host what a plan must know to choose free CPUs. From here on
// until the container is there nobody else on this machine chooses: two runs
// that start at once would take the same ones.
func (app *App) freeCPUs(ctx context.Context, j *job, host *plan.Host, gpus *nvidia.Host) (err error) {
	if !host.Remote {
		for _, core := range topology.Cores("/") {
			host.Cores = append(host.Cores, plan.Core(core))
		}
		if gpus != nil {
			for _, gpu := range gpus.GPUs {
				host.GPUs = append(host.GPUs, plan.HostGPU{UUID: gpu.UUID, Node: topology.NodeOf("/", gpu.PCI)})
			}
		}
	}
	if !j.options.dryRun {
		wait, cancel := context.WithTimeout(ctx, turnTime)
		defer cancel()
		j.leave, err = turn.Take(wait, topology.Lock, func() { app.note("waiting for another crun that chooses its CPUs") })
		if errors.Is(err, context.DeadlineExceeded) {
			return fmt.Errorf("another process has held its turn at choosing CPUs (the lock of %s) for %s: name the CPUs (--cpuset 0-3), or leave cpuset out", topology.Lock, turnTime)
		} else if err != nil {
			return err
		}
	}
	containers, err := j.engine.List(ctx)
	if err != nil {
		return err
	}
	for _, c := range containers {
		set := c.Labels[plan.LabelPrefix+"cpuset"]
		if set == "" || c.Status == "exited" || c.Status == "dead" || c.Status == "removing" {
			continue
		}
		// A label of another version that cannot be read holds nothing.
		if cpus, err := plan.ParseCPUSet(set); err == nil {
			host.Held = append(host.Held, plan.HeldCPUs{Run: c.Labels[plan.LabelPrefix+"name"], CPUs: cpus})
		}
	}
	return nil
}

// leaveTurn lets the next one choose.
func (j *job) leaveTurn() {
	if j.leave != nil {
		j.leave()
		j.leave = nil
	}
}
