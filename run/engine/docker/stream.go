package docker

import (
	"context"
	"errors"
	"io"
	"net"
	"sync/atomic"

	"github.com/docker/docker/api/types"
	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/pkg/stdcopy"

	"crun.dev/crun/run/engine"
)

// Attach connects to the container's streams. The connection outlives ctx,
// until it is closed or the container ends.
func (e *Engine) Attach(ctx context.Context, id string, opts engine.AttachOptions) (engine.Stream, error) {
	if err := e.connect(ctx); err != nil {
		return nil, err
	}
	conn, err := e.attach(ctx, id, container.AttachOptions{Stream: true, Stdin: opts.Stdin, Stdout: true, Stderr: true, DetachKeys: opts.DetachKeys})
	if err != nil {
		return nil, e.explain(err, subject{container: id, plan: e.planOf(id)})
	}
	return &attached{conn: conn, tty: opts.TTY}, nil
}

// attach ends with ctx. The client heeds it while it dials alone: an engine that
// takes the connection and does not answer would hold up the caller for ever.
func (e *Engine) attach(ctx context.Context, id string, options container.AttachOptions) (types.HijackedResponse, error) {
	type answer struct {
		conn types.HijackedResponse
		err  error
	}
	done := make(chan answer, 1)
	go func() {
		conn, err := e.attachable(ctx, id, options)
		done <- answer{conn, err}
	}()
	select {
	case a := <-done:
		return a.conn, a.err
	case <-ctx.Done():
	}
	go func() {
		if late := <-done; late.err == nil {
			late.conn.Close()
		}
	}()
	return types.HijackedResponse{}, ctx.Err()
}

// Logs reads the engine's own copy of the output from its beginning, and with
// follow until the container or ctx ends.
func (e *Engine) Logs(ctx context.Context, id string, follow bool) (engine.Stream, error) {
	if err := e.connect(ctx); err != nil {
		return nil, err
	}
	tty, err := e.terminal(ctx, id)
	if err != nil {
		return nil, err
	}
	body, err := e.api.ContainerLogs(ctx, id, container.LogsOptions{ShowStdout: true, ShowStderr: true, Follow: follow})
	if err != nil {
		return nil, e.explain(err, subject{container: id, plan: e.planOf(id)})
	}
	return &logs{body: body, tty: tty}, nil
}

// terminal tells whether the container has one: its output is not framed then.
func (e *Engine) terminal(ctx context.Context, id string) (bool, error) {
	if p := e.planOf(id); p != nil {
		return p.Spec.Process.Terminal, nil
	}
	got, err := e.api.ContainerInspect(ctx, id)
	if err != nil {
		return false, e.explain(err, subject{container: id})
	}
	return got.Config != nil && got.Config.Tty, nil
}

// attached is a hijacked connection.
type attached struct {
	conn   types.HijackedResponse
	tty    bool
	closed atomic.Bool
}

func (a *attached) Demux(stdout, stderr io.Writer) error {
	err := demux(stdout, stderr, a.conn.Reader, a.tty)
	if a.closed.Load() && errors.Is(err, net.ErrClosed) {
		return nil // Close ended it, as it should
	}
	return err
}

func (a *attached) Write(data []byte) (int, error) { return a.conn.Conn.Write(data) }

func (a *attached) CloseWrite() error { return a.conn.CloseWrite() }

func (a *attached) Close() error {
	if a.closed.Swap(true) {
		return nil
	}
	return a.conn.Conn.Close()
}

// logs is the body of an answer.
type logs struct {
	body io.ReadCloser
	tty  bool
}

func (l *logs) Demux(stdout, stderr io.Writer) error { return demux(stdout, stderr, l.body, l.tty) }

// Write fails: nobody reads what is written to a log.
func (l *logs) Write([]byte) (int, error) { return 0, errors.ErrUnsupported }

func (l *logs) CloseWrite() error { return nil }

func (l *logs) Close() error { return l.body.Close() }

// demux copies output. On a terminal stdout and stderr are one.
func demux(stdout, stderr io.Writer, from io.Reader, tty bool) error {
	if tty {
		_, err := io.Copy(stdout, from)
		return err
	}
	_, err := stdcopy.StdCopy(stdout, stderr, from)
	return err
}
