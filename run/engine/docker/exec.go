package docker

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/docker/docker/api/types/container"
	"golang.org/x/sys/unix"

	"crun.dev/crun/internal/lazyregexp"
	"crun.dev/crun/run/engine"
)

var _ engine.Execution = (*execution)(nil)

// Exec starts one more command in a running container. What cannot be executed
// is told by its output and its exit code, 126 or 127.
func (e *Engine) Exec(ctx context.Context, id string, opts engine.ExecOptions) (engine.Execution, error) {
	if err := e.connect(ctx); err != nil {
		return nil, err
	}
	made, err := e.api.ContainerExecCreate(ctx, id, container.ExecOptions{
		Cmd: opts.Args, Env: opts.Env, WorkingDir: opts.Dir, User: opts.User, Tty: opts.TTY,
		AttachStdin: opts.Stdin, AttachStdout: true, AttachStderr: true,
	})
	if err != nil {
		return nil, e.explain(err, subject{container: id})
	}
	conn, err := e.api.ContainerExecAttach(ctx, made.ID, container.ExecAttachOptions{Tty: opts.TTY})
	if err != nil {
		return nil, e.explain(err, subject{container: id})
	}
	return &execution{attached: attached{conn: conn, tty: opts.TTY}, engine: e, container: id, id: made.ID}, nil
}

type execution struct {
	attached
	engine        *Engine
	container, id string
	head          head
}

// head keeps the beginning of what is written through it.
type head struct {
	to   io.Writer
	text []byte
}

func (h *head) Write(data []byte) (int, error) {
	if room := 1024 - len(h.text); room > 0 {
		h.text = append(h.text, data[:min(room, len(data))]...)
	}
	return h.to.Write(data)
}

func (x *execution) Demux(stdout, stderr io.Writer) error {
	x.head.to = stdout
	return x.attached.Demux(&x.head, stderr)
}

// notFound is what an engine writes in the place of a command that is not
// there. Before Docker 28 the exit code is 126, as for one that is no program.
var notFound = lazyregexp.New(`^OCI runtime exec failed: [^\n]*(executable file not found|no such file or directory)`)

func (x *execution) Resize(ctx context.Context, width, height uint) error {
	return x.engine.api.ContainerExecResize(ctx, x.id, container.ResizeOptions{Width: width, Height: height})
}

func (x *execution) Signal(ctx context.Context, name string) error {
	got, err := x.engine.api.ContainerExecInspect(ctx, x.id)
	switch {
	case err != nil:
		return x.engine.explain(err, subject{container: x.container})
	case !got.Running:
		return engine.ErrNotRunning
	}
	// The number is of the engine's machine, which may be another one.
	group, err := os.ReadFile(fmt.Sprintf("/proc/%d/cgroup", got.Pid))
	if err != nil || got.Pid <= 1 || !strings.Contains(string(group), x.container) {
		return fmt.Errorf("sending %s: %w", name, errors.ErrUnsupported)
	}
	pid := got.Pid
	if leader, err := unix.Getpgid(pid); err == nil && leader == pid {
		pid = -pid
	}
	switch err := unix.Kill(pid, unix.SignalNum(name)); {
	case errors.Is(err, unix.ESRCH):
		return engine.ErrNotRunning
	case err != nil:
		return fmt.Errorf("sending %s: %w", name, err)
	}
	return nil
}

// Exit waits for the end: an engine ends the output a moment before.
func (x *execution) Exit(ctx context.Context) (int, error) {
	for pause := time.Millisecond; ; pause = min(2*pause, 200*time.Millisecond) {
		got, err := x.engine.api.ContainerExecInspect(ctx, x.id)
		if err != nil {
			return 0, x.engine.explain(err, subject{container: x.container})
		}
		if !got.Running {
			if got.ExitCode == 126 && notFound.Match(x.head.text) {
				return 127, nil
			}
			return got.ExitCode, nil
		}
		select {
		case <-ctx.Done():
			return 0, ctx.Err()
		case <-time.After(pause):
		}
	}
}

// Memory is what the container has in use, in bytes, as the docker command
// counts it: without the inactive part of its page cache.
func (e *Engine) Memory(ctx context.Context, id string) (int64, error) {
	if err := e.connect(ctx); err != nil {
		return 0, err
	}
	answer, err := e.api.ContainerStatsOneShot(ctx, id)
	if err != nil {
		return 0, e.explain(err, subject{container: id})
	}
	defer answer.Body.Close()
	var stats container.StatsResponse
	if err := json.NewDecoder(answer.Body).Decode(&stats); err != nil {
		return 0, fmt.Errorf("reading the memory of container %.12s: %w", id, err)
	}
	cache := stats.MemoryStats.Stats["total_inactive_file"] // cgroup v1
	if v2, ok := stats.MemoryStats.Stats["inactive_file"]; ok && cache == 0 {
		cache = v2
	}
	if cache > stats.MemoryStats.Usage {
		cache = 0
	}
	return int64(stats.MemoryStats.Usage - cache), nil
}
