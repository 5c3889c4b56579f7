package buildkit

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	gatewaypb "github.com/moby/buildkit/frontend/gateway/pb"

	"crun.dev/crun/internal/lazyregexp"
)

// StepError is a step of a build that failed.
type StepError struct {
	// Step is what the step does, in a person's words.
	Step string
	// ExitCode is the command's, or -1 where it did not run or it is unknown.
	ExitCode int
	// Output are the last lines that the step printed, Shown tells whether
	// the progress has shown them.
	Output []string
	Shown  bool

	err error
}

// Error says what failed and, where the progress has not, shows the output.
func (e *StepError) Error() string {
	output, reason := slices.Clone(e.Output), ""
	// The installer's own last word; two streams may come in another order.
	for i, line := range slices.Backward(output) {
		if text, ok := strings.CutPrefix(line, "crun: "); ok {
			output, reason = slices.Delete(output, i, i+1), ": "+text
			break
		}
	}
	text := fmt.Sprintf("the step %q failed", e.Step)
	switch {
	case e.ExitCode == 137:
		text += " with exit code 137: it was killed, most likely because the engine's host ran out of memory (dmesg there says so for sure); " +
			"free memory, or build on a machine that has more"
	case e.ExitCode > 128 && e.ExitCode < 160:
		text += fmt.Sprintf(" with exit code %d: it was ended by signal %d", e.ExitCode, e.ExitCode-128)
	case e.ExitCode >= 0:
		text += fmt.Sprintf(" with exit code %d", e.ExitCode) + reason
	default:
		text += ": " + lastCause(e.err)
	}
	if full := diskFull(append(slices.Clone(e.Output), e.err.Error())...); full != "" {
		text += "; " + full
	}
	if e.Shown || len(output) == 0 {
		return text
	}
	return text + "; its last lines:\n  " + strings.Join(output, "\n  ")
}

// Unwrap gives BuildKit's error.
func (e *StepError) Unwrap() error { return e.err }

// failure makes a StepError of a build's error where a step is to blame.
func (w *watch) failure(ctx context.Context, title string, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	// Some steps may fail without harm; the one to blame is in the error.
	for _, s := range slices.Backward(w.failed) {
		if !strings.Contains(err.Error(), s.err) {
			continue
		}
		failed := &StepError{
			Step: stepPlace.ReplaceAllString(s.name, ""), ExitCode: exitCode(err, s.err),
			Output: s.output(), Shown: !w.quiet, err: err,
		}
		return fmt.Errorf("%s: %w", title, failed)
	}
	return explain(fmt.Errorf("%s: %w", title, err))
}

// gone says of an error that the connection to BuildKit has broken, where it
// has: the daemon was ended or started anew.
func (b *Builder) gone(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return err
	}
	for _, sign := range []string{"code = Unavailable", "error reading from server", "transport is closing"} {
		if strings.Contains(err.Error(), sign) {
			return fmt.Errorf("%s has gone in the middle of the build (%s); build again once it runs: what was finished is kept", b.where(), lastCause(err))
		}
	}
	return err
}

// baseError is a base image that cannot be had.
type baseError struct {
	name string
	// asked is the name at the mirror, or name.
	asked string
	err   error
}

func (e *baseError) Error() string {
	if e.asked != e.name {
		return fmt.Sprintf("the engine does not have the base image %s, and it cannot be fetched from the mirror as %s: %s; mirrors.registry in config.yaml names the mirror", e.name, e.asked, lastCause(e.err))
	}
	return fmt.Sprintf("the engine does not have the base image %s, and it cannot be fetched: %s; is the name right? --base, or base in config.yaml, names another one", e.name, lastCause(e.err))
}

func (e *baseError) Unwrap() error { return e.err }

var exitCodeText = lazyregexp.New(`exit code: (\d+)`)

// exitCode finds the code of the command that failed: BuildKit gives it as a
// number from 0.9 on and in its text before. -1 where there is none.
func exitCode(err error, text string) int {
	var exit *gatewaypb.ExitError
	if errors.As(err, &exit) && exit.ExitCode < 256 {
		return int(exit.ExitCode)
	}
	if found := exitCodeText.FindStringSubmatch(text); found != nil {
		if code, err := strconv.Atoi(found[1]); err == nil {
			return code
		}
	}
	return -1
}

// lastCause takes the chain of BuildKit's own steps off an error's text.
func lastCause(err error) string {
	text := err.Error()
	for _, prefix := range []string{"failed to solve: ", "failed to run Build function: ", "rpc error: code = Unknown desc = "} {
		text = strings.ReplaceAll(text, prefix, "")
	}
	return text
}

// diskFull is what to do about a full disk where one of texts tells of one.
func diskFull(texts ...string) string {
	if !slices.ContainsFunc(texts, func(text string) bool {
		text = strings.ToLower(text)
		return strings.Contains(text, "no space left on device") || strings.Contains(text, "errno 28") || strings.Contains(text, "disk quota exceeded")
	}) {
		return ""
	}
	return "the disk that holds the engine's data is full: crun prune frees what nobody needs of it, \"docker system df\" shows what takes the space"
}

// explain adds to an error what can be done about it, and takes BuildKit's own
// words off.
func explain(err error) error {
	remedy := diskFull(err.Error())
	if strings.Contains(err.Error(), "network.host") {
		remedy = "a mirror or proxy of this build listens on its host's loopback address: start buildkitd with --allow-insecure-entitlement network.host, or give an address that a container reaches"
	}
	if remedy == "" {
		return &plainError{text: lastCause(err), err: err}
	}
	return &plainError{text: lastCause(err) + "; " + remedy, err: err}
}

// plainError shows text for err.
type plainError struct {
	text string
	err  error
}

func (e *plainError) Error() string { return e.text }
func (e *plainError) Unwrap() error { return e.err }
