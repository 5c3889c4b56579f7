package cli

import (
	"context"
	"errors"
	"fmt"
	"io"

	"crun.dev/crun/internal/yamlfile"
)

// fromInput gives what read takes from standard input, or the error of ctx: a
// read of a terminal or a pipe cannot be ended, and Ctrl-C must not wait for it.
func fromInput[T any](ctx context.Context, read func() (T, error)) (T, error) {
	type result struct {
		value T
		err   error
	}
	done := make(chan result, 1)
	go func() {
		value, err := read()
		done <- result{value, err}
	}()
	select {
	case r := <-done:
		return r.value, r.err
	case <-ctx.Done():
		var none T
		return none, ctx.Err()
	}
}

// readInput gives an environment from standard input, of one that is refused
// for its length the beginning.
func (app *App) readInput(ctx context.Context) ([]byte, error) {
	text, err := fromInput(ctx, func() ([]byte, error) { return io.ReadAll(io.LimitReader(app.In, yamlfile.MaxSize+1)) })
	if ctx.Err() != nil {
		return nil, interrupted(errors.New("interrupted while standard input was read"))
	}
	if err != nil {
		return nil, fmt.Errorf("reading standard input: %w", err)
	}
	return text, nil
}
