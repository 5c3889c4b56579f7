package docker

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/containerd/errdefs"

	"crun.dev/crun/internal/endpoint"
	"crun.dev/crun/run/engine"
	"crun.dev/crun/run/plan"
)

// failure is what the engine said, as a sentence with its remedy. kind is one
// of the engine package's errors, or nil.
type failure struct {
	message string
	kind    error
	cause   error
}

func (f *failure) Error() string        { return f.message }
func (f *failure) Unwrap() error        { return f.cause }
func (f *failure) Is(target error) bool { return f.kind != nil && target == f.kind }

// subject is what a call was about: messages name it.
type subject struct {
	plan      *plan.Plan // nil where it is not known
	image     string
	container string
	file      string // in the container
}

// rule explains one thing that engines say. The first rule whose pattern is
// found makes the sentence, from the pattern's groups.
type rule struct {
	pattern string
	kind    error
	say     func(c *ruleContext) string
}

// ruleContext is what a sentence is made from.
type ruleContext struct {
	subject
	ep endpoint.Endpoint
	// rootless says that the engine is known to be an ordinary user's.
	rootless bool
	text     string   // what the engine said
	m        []string // the whole match, then the pattern's groups
}

// daemonPrefix stands before what the engine itself has said.
const daemonPrefix = "Error response from daemon: "

// explain turns an error of the Docker client into a failure. It leaves nil,
// the end of a context, failures and errors of our own as they are. What no
// rule knows keeps the engine's text.
func (e *Engine) explain(err error, s subject) error {
	var done *failure
	if err == nil || errors.As(err, &done) || errors.Is(err, context.Canceled) {
		return err
	}
	var unreachable *endpoint.Error
	if errors.As(e.ep.Explain(err), &unreachable) {
		return &failure{message: unreachable.Error(), kind: engine.ErrUnreachable, cause: err}
	}
	if errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	text, fromEngine := strings.CutPrefix(err.Error(), daemonPrefix)
	c := ruleContext{subject: s, ep: e.ep, rootless: e.rootless.Load(), text: text}
	for _, r := range compiledRules() {
		if c.m = r.regexp.FindStringSubmatch(text); c.m != nil {
			return &failure{message: r.say(&c), kind: r.kind, cause: err}
		}
	}
	var kind error
	if errdefs.IsNotFound(err) {
		kind = engine.ErrNotFound
	}
	if fromEngine {
		return &failure{message: "the engine says: " + text, kind: kind, cause: err}
	}
	if kind != nil {
		return &failure{message: text, kind: kind, cause: err}
	}
	return err
}

// imageName is the image as the user knows it.
func (c *ruleContext) imageName() string {
	switch {
	case c.image != "":
		return c.image
	case c.plan != nil && c.plan.Image.Ref != "":
		return c.plan.Image.Ref
	case c.plan != nil:
		return c.plan.Image.ID
	}
	return "it was made from"
}

// command is the first word of what was to be started.
func (c *ruleContext) command() string {
	if c.plan != nil && c.plan.Spec.Process != nil && len(c.plan.Spec.Process.Args) > 0 {
		return c.plan.Spec.Process.Args[0]
	}
	return "the command"
}

// rlimits are the kernel's numbers of the limits that a plan can set.
var rlimits = map[string]struct{ field, name string }{
	"3": {"stack", "RLIMIT_STACK"},
	"4": {"core", "RLIMIT_CORE"},
	"7": {"nofile", "RLIMIT_NOFILE"},
	"8": {"memlock", "RLIMIT_MEMLOCK"},
	"9": {"address_space", "RLIMIT_AS"},
}

// rlimit finds the limit that a process may not raise, by number or name, and
// what was asked for, or "".
func (c *ruleContext) rlimit() (field, value string) {
	for number, limit := range rlimits {
		if c.m[1] != number && c.m[1] != limit.name {
			continue
		}
		field = limit.field
		if c.plan == nil {
			break
		}
		if n, ok := c.plan.Rlimit(limit.name); ok && field == "nofile" && n >= 0 {
			value = fmt.Sprint(n)
		} else if ok {
			value = plan.FormatBytes(n)
		}
	}
	return field, value
}

// compiledRules compiles the rules at the first error: a start of crun that
// meets none does not pay for them.
var compiledRules = sync.OnceValue(compileRules)
