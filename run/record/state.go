package record

import (
	"encoding/json"
	"fmt"
	"time"

	"crun.dev/crun/run/plan"
)

// StateVersion is the format of state.json. It grows when a field changes its
// meaning; every later crun reads all earlier versions.
const StateVersion = 1

// Phase is where a run stands.
type Phase string

// The phases of a run. The last three are ends.
const (
	Creating Phase = "creating" // the command has not been started
	Running  Phase = "running"
	Ended    Phase = "ended"  // the command ran and ended
	Failed   Phase = "failed" // the command never ran; Message says why
	Lost     Phase = "lost"   // the container vanished; how it ended is not known
)

// Over tells whether p is one of the ends.
func (p Phase) Over() bool { return p == Ended || p == Failed || p == Lost }

// State is how a run stands, as its monitor last knew it.
type State struct {
	Version int   `json:"version"`
	Phase   Phase `json:"phase"`

	// Run is what lists show of the plan; nil in a record of an early crun.
	Run *Summary `json:"run,omitempty"`

	// Engine is where the run's container is, in the form of whoever wrote
	// it: a later command goes there, whatever its own context is.
	Engine json.RawMessage `json:"engine,omitempty"`
	// Container is the engine's id, once there is one.
	Container string `json:"container,omitempty"`
	// Paused says that somebody has paused the container behind crun's back.
	Paused bool `json:"paused,omitempty"`
	// Monitor is the process that owns or owned the run. Whether it lives is
	// told by the lock alone.
	Monitor int `json:"monitor,omitempty"`

	// Boot names the boot of this machine in which the run was started, where
	// its engine is on this machine.
	Boot string `json:"boot,omitempty"`
	// Rebooted says that the machine was rebooted while the run went on.
	Rebooted bool `json:"rebooted,omitempty"`

	Created  time.Time `json:"created"`
	Started  time.Time `json:"started,omitzero"`
	Finished time.Time `json:"finished,omitzero"`

	// ExitCode is the command's own, or 128 + n for signal n. It is nil while
	// the run lasts and where it is not known.
	ExitCode *int `json:"exit_code,omitempty"`
	// Signal is what ended the command ("SIGKILL"), where init saw it.
	Signal string `json:"signal,omitempty"`
	// OOMKills counts processes of the run that the kernel killed for want of
	// memory within the run's limit.
	OOMKills int64 `json:"oom_kills,omitempty"`
	// OOMKilled is the engine's own word for the same.
	OOMKilled bool `json:"oom_killed,omitempty"`
	// TimedOut says that the time limit ended the run.
	TimedOut bool `json:"timed_out,omitempty"`
	// Full says, a sentence each, which places of the run were full at its end,
	// where it ended badly.
	Full []string `json:"full,omitempty"`
	// TmpdirUsed is what its tmpdir on disk took when the monitor ended the run
	// for it, in bytes; 0 where it did not.
	TmpdirUsed int64 `json:"tmpdir_used,omitempty"`
	// MemoryPeak and MemoryLimit are in bytes; 0 where not known or unlimited.
	MemoryPeak  int64 `json:"memory_peak,omitempty"`
	MemoryLimit int64 `json:"memory_limit,omitempty"`

	// Attempts are those before the one that the rest of the state tells of,
	// of a run that is started again after failures.
	Attempts []Attempt `json:"attempts,omitempty"`
	// LogBefore is how many bytes of output the attempts before have written.
	LogBefore int64 `json:"log_before,omitempty"`

	// Message is one sentence on a run that failed or was lost.
	Message string `json:"message,omitempty"`
	// Warnings are the engine's and the monitor's.
	Warnings []string `json:"warnings,omitempty"`

	// Removed says that the container is no longer there, or never was.
	Removed bool `json:"removed,omitempty"`
	// Complete says that nothing remains to be done: the container is removed
	// and the log compressed.
	Complete bool `json:"complete,omitempty"`
}

// Attempt is one that failed, and after which the command was started again.
type Attempt struct {
	Started  time.Time `json:"started"`
	Finished time.Time `json:"finished"`
	ExitCode int       `json:"exit_code"`
	Signal   string    `json:"signal,omitempty"`
}

// Summary is the part of a plan that a list of runs needs: a thousand plans
// take a while to read.
type Summary struct {
	Name        string   `json:"name"`
	Profile     string   `json:"profile"`
	Project     string   `json:"project,omitempty"`
	Image       string   `json:"image"` // as people name it
	Command     []string `json:"command"`
	MemoryLimit int64    `json:"memory_limit,omitempty"` // bytes; 0: none
	GPUs        string   `json:"gpus,omitempty"`
}

// Summarize gives what a list shows of p.
func Summarize(p *plan.Plan) *Summary {
	s := &Summary{Name: p.Name, Profile: p.Profile, Project: p.Project, Image: p.Image.Ref, GPUs: p.GPUs.String()}
	if p.Spec.Process != nil {
		s.Command = p.Spec.Process.Args
	}
	if linux := p.Spec.Linux; linux != nil && linux.Resources != nil && linux.Resources.Memory != nil && linux.Resources.Memory.Limit != nil {
		s.MemoryLimit = *linux.Resources.Memory.Limit
	}
	return s
}

// Elapsed is how long the command ran, up to now for one that still runs.
func (s *State) Elapsed(now time.Time) time.Duration {
	switch {
	case s.Started.IsZero():
		return 0
	case s.Finished.IsZero():
		return max(0, now.Sub(s.Started))
	}
	return max(0, s.Finished.Sub(s.Started))
}

func parseState(data []byte) (State, error) {
	var s State
	if err := json.Unmarshal(data, &s); err != nil {
		return State{}, err
	}
	if s.Version > StateVersion {
		return State{}, fmt.Errorf("written by a later crun (format %d, this one reads up to %d): update crun", s.Version, StateVersion)
	}
	if s.Version < 1 || s.Phase == "" {
		return State{}, fmt.Errorf("not a run's state")
	}
	return s, nil
}
