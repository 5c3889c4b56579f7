// Package monitor is the process that owns a run: crun itself, started again
// in a session of its own (crun monitor ID), so that a closed terminal, a
// hang-up and the death of the command in the foreground mean nothing to it.
//
// The two talk over pipes in lines of JSON. Into the monitor's stdin go a
// [Request] and, once the foreground has attached its streams, "go"; should
// that pipe close before, the run is given up. Behind it "kill DURATION" may
// come: the grace time of a run that does not heed SIGTERM, which the monitor
// keeps because the foreground may be gone by then. On descriptor 3 the monitor
// answers with [Message]s. Descriptor 4 is the record's lock, which the
// monitor holds as long as it lives: whoever gets the lock of a record that is
// not complete knows that its monitor is dead, and starts another one that
// adopts the run (crun monitor --adopt ID).
package monitor

import (
	"crun.dev/crun/run/record"
)

// Descriptors that a monitor inherits.
const (
	messagesFD = 3
	lockFD     = 4
)

// goLine is the line that lets the command start.
const goLine = "go"

// killWord begins the line that asks for SIGKILL; the time until then follows,
// as time.Duration writes it.
const killWord = "kill"

// Request is what the monitor is told besides the plan in the record.
type Request struct {
	// Secrets are the values of the plan's SecretEnv. They are nowhere else.
	Secrets map[string]string `json:"secrets,omitempty"`
	// Arch is the image's architecture, for which init is chosen.
	Arch string `json:"arch"`
	// Share says that the engine is on this machine.
	Share bool `json:"share,omitempty"`
	// API is the version that the foreground has settled with the engine.
	API string `json:"api,omitempty"`
}

// Kinds of messages.
const (
	Created   = "created"   // the container is there; attach, and say go
	Started   = "started"   // the command runs, or runs on under a new monitor
	Noted     = "noted"     // something that whoever follows should know now; see Warnings
	Ended     = "ended"     // the run is over and its container removed; see State
	Abandoned = "abandoned" // given up before the start: nothing is left
	Failed    = "failed"    // the monitor could not do its work; see Error
)

// Message is what the monitor tells.
type Message struct {
	What      string        `json:"what"`
	Container string        `json:"container,omitempty"`
	Warnings  []string      `json:"warnings,omitempty"`
	State     *record.State `json:"state,omitempty"`
	// Error is a sentence with the remedy, and Code what crun ends with for it.
	Error string `json:"error,omitempty"`
	Code  int    `json:"code,omitempty"`
}
