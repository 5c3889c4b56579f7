package main

import "crun.dev/crun/run/plan"

// threadsJob multiplies small matrices, as a small network does, so that the
// threads of a product meet often.
const threadsJob = `import torch
a = torch.ones(160, 160)
for i in range(6000):
    a = (a @ a).clamp(0, 1)
`

// threads is a job with many threads under a quota of one CPU: with crun's
// variables, and without them, so that each library starts a thread for every
// CPU of the host.
func (s *suite) threads() error {
	run := []string{s.crun, "run", "-q", "--profile", "small", "--cpus", "1"}
	without := append(append([]string{}, run...), "env")
	for _, name := range plan.ThreadVars() {
		without = append(without, "-u", name)
	}
	job := []string{"python", "-c", threadsJob}
	r, err := pair(
		command{name: "with crun's variables", args: append(append([]string{}, run...), job...), dir: s.project},
		command{name: "without them", args: append(without, job...), dir: s.project},
		min(s.pairs, 10))
	if err == nil {
		row("torch under `--cpus 1`", "the same without thread variables", r, "1.0")
	}
	return err
}
