package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"syscall"
	"testing"
	"time"
)

// TestSignalBeforeTheStart ends a command that waits by a real signal: the exit
// code is that signal's, as a shell shows it.
func TestSignalBeforeTheStart(t *testing.T) {
	for _, sent := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP} {
		ctx, stop := interruptible(t.Context())
		if err := syscall.Kill(os.Getpid(), sent); err != nil {
			t.Fatal(err)
		}
		select {
		case <-ctx.Done():
		case <-time.After(10 * time.Second):
			t.Fatalf("%s does not end the context", sent)
		}
		if got := signalOf(ctx); got != sent {
			t.Errorf("the context was ended by %d, want %d", got, sent)
		}
		stop()
	}
	app := &App{In: blocked{}, Out: io.Discard, Err: io.Discard, Getenv: func(string) string { return "" }, Dir: t.TempDir()}
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(bySignal(syscall.SIGTERM))
	if code := app.Run(ctx, []string{"lint", "-"}); code != 143 {
		t.Errorf("a lint that SIGTERM has ended gives %d, want 143", code)
	}
	for err, want := range map[error]bool{
		interrupted(nil):           true,
		runError(context.Canceled): true,
		runError(fmt.Errorf("asking the engine: %w", bySignal(syscall.SIGHUP))): true, // as net/http has it
		&exitError{code: exitSIGINT}:          false, // the run's own
		withCode(exitEngine, errors.New("x")): false,
	} {
		if got := wasInterrupted(err); got != want {
			t.Errorf("%v was interrupted: %v, want %v", err, got, want)
		}
	}
}

// blocked is a terminal at which nobody types.
type blocked struct{}

func (blocked) Read([]byte) (int, error) { select {} }
