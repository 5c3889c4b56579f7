package evidence

import (
	"fmt"
	"time"
)

// Sure is how sure a finding is.
type Sure string

// What is certain is said by a counter of the kernel or the engine, by the wait
// status, or by whoever did it; what is likely by the program's own words, or
// by several signs.
const (
	Certain Sure = "certain"
	Likely  Sure = "likely"
	Unknown Sure = "unknown"
)

// Text is a sentence in both languages that crun speaks, with one list of
// arguments for both.
type Text struct {
	English, Chinese string
	Args             []any
}

// Say makes a Text; both formats take the same arguments in the same order, or
// by their numbers (%[2]s).
func Say(english, chinese string, args ...any) Text { return Text{english, chinese, args} }

// In gives the sentence, in Chinese or not.
func (t Text) In(chinese bool) string {
	format := t.English
	if chinese && t.Chinese != "" {
		format = t.Chinese
	}
	if len(t.Args) == 0 {
		return format
	}
	return fmt.Sprintf(format, t.Args...)
}

// Empty tells whether nothing is said.
func (t Text) Empty() bool { return t.English == "" }

// Sign is one piece of evidence.
type Sign struct {
	// What is the counter, the file or the message: "memory.events oom_kill".
	What string `json:"what"`
	// Value is what it said: "1", or a line of the log.
	Value string `json:"value"`
	// Limit is what it is held against, or "".
	Limit string `json:"limit,omitempty"`
	// Time is when; zero where nobody knows.
	Time time.Time `json:"time,omitzero"`
}

// String is the sign in a line: "oom_kill 1 (limit 2 GiB) at 14:03:07 UTC".
func (s Sign) String() string {
	text := s.What + " " + s.Value
	if s.Limit != "" {
		text += " (limit " + s.Limit + ")"
	}
	if !s.Time.IsZero() {
		text += " at " + s.Time.UTC().Format("15:04:05 UTC")
	}
	return text
}

// Finding is what a rule has found: a cause that fits.
type Finding struct {
	Code  string // of the rule; whoever asks the rule sets it
	Sure  Sure
	Cause Text   // one sentence without its full stop
	Signs []Sign // never empty
	Fix   Text   // what to paste, or the one thing to do
	// Aside says that this happened, but did not end the run.
	Aside bool
}

// Rule is a pure function from a case to what it finds in it, or nil.
type Rule struct {
	// Code names the cause for machines, and never changes: "shm-full".
	Code string
	// Title is the cause in a few words; Mechanism tells how it comes about,
	// what shows it, and the source.
	Title, Mechanism string
	Find             func(*Case) *Finding
}
