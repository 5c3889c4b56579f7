// Package engine is the seam between a run and what runs it. run/launch is
// written against Engine alone; run/engine/docker is the first one behind it.
package engine

import (
	"context"
	"errors"
	"io"
	"time"

	"crun.dev/crun/run/plan"
)

// Engine creates, starts, watches and removes the container of a run. All
// methods may be called concurrently. A method that fails leaves nothing
// behind that was not there before the call.
//
// The order of a run is Create, Attach, Wait, Start: whoever attaches or waits
// after Start can miss the output or the end of a short command.
type Engine interface {
	// Facts tells what the engine and its host are and can do.
	Facts(ctx context.Context) (Facts, error)
	// Image finds an image by reference or id; ErrNotFound where there is none.
	Image(ctx context.Context, ref string) (Image, error)
	// Create makes the container of p, named crun-ID, with files put into it,
	// and gives its id and the engine's warnings. secrets holds the values of
	// p.SecretEnv.
	Create(ctx context.Context, p *plan.Plan, secrets map[string]string, files []File) (id string, warnings []string, err error)
	// ReadFile reads a file of the container, which need not run.
	ReadFile(ctx context.Context, id, path string) ([]byte, error)
	// Attach connects to the container's streams.
	Attach(ctx context.Context, id string, opts AttachOptions) (Stream, error)
	// Wait gives the exit once the container has ended. It is registered when
	// Wait returns.
	Wait(ctx context.Context, id string) (<-chan Exit, error)
	Start(ctx context.Context, id string) error
	// Signal sends a signal, by name ("SIGTERM"), to the container's PID 1.
	Signal(ctx context.Context, id, signal string) error
	// Unpause lets a container run on that somebody has paused. One that is not
	// paused is no error.
	Unpause(ctx context.Context, id string) error
	// Resize sets the size of the container's terminal, in characters.
	Resize(ctx context.Context, id string, width, height uint) error
	// State tells how the container stands; ErrNotFound where it is gone.
	State(ctx context.Context, id string) (State, error)
	// Memory is what the run has in use, in bytes, without page cache that the
	// kernel gives back when it is needed; 0 for one that does not run.
	Memory(ctx context.Context, id string) (int64, error)
	// Exec starts one more command in a running container.
	Exec(ctx context.Context, id string, opts ExecOptions) (Execution, error)
	// Logs reads the engine's own copy of the output from its beginning, and
	// with follow until the container ends.
	Logs(ctx context.Context, id string, follow bool) (Stream, error)
	// Remove removes the container, running or not, and its anonymous
	// volumes. Removing one that is gone is no error.
	Remove(ctx context.Context, id string) error
	// List finds the containers of crun runs on this engine.
	List(ctx context.Context) ([]Container, error)
	// Events streams what happens to the container (oom, die, ...) until ctx
	// ends. It is subscribed when Events returns.
	Events(ctx context.Context, id string) (<-chan Event, error)
	Close() error
}

// Negotiated is an Engine that can be told the version of the API that another
// process has agreed on with it: it need not be asked first.
type Negotiated interface {
	UseAPI(version string)
}

// Remembering is an Engine that remembers what it has told.
type Remembering interface {
	// KnownFacts is Facts without what may have changed since the engine was
	// started: GPUs, which may be others, and the time, which is not there.
	KnownFacts(ctx context.Context) (Facts, error)
}

// Exporter is an Engine that can give an image's files.
type Exporter interface {
	// Export gives the image of p as a tar, with files put into it. Closing it
	// removes what was made for it.
	Export(ctx context.Context, p *plan.Plan, files []File) (io.ReadCloser, error)
}

// Errors that callers tell apart. Their messages already hold the remedy.
var (
	ErrNotFound    = errors.New("not found")
	ErrUnreachable = errors.New("engine not reachable")
	ErrNotExec     = errors.New("command not executable") // exit code 126
	ErrNoCommand   = errors.New("command not found")      // exit code 127
	ErrNotRunning  = errors.New("not running")            // a signal or a size came too late, or too early
)

// Facts are what a plan must know of an engine and its host.
type Facts struct {
	Endpoint        string   // as people know it: "unix:///var/run/docker.sock"
	Name            string   // "Docker Engine" or "Podman"
	Version         string   // "20.10.24"
	APIVersion      string   // negotiated
	Arch            string   // amd64 or arm64
	CPUs            int      // of the host
	Memory          int64    // bytes, of the host
	Swap            int64    // bytes, of the host; -1 where nobody knows
	CgroupVersion   int      // 1 or 2
	CgroupDriver    string   // cgroupfs or systemd
	SwapLimit       bool     // memory+swap can be limited
	CannotLimit     []string // ceilings that it cannot hold a run to: memory, cpus, cpuset, pids
	Rootless        bool
	SELinux         bool // it labels its containers
	Remote          bool // another machine's files: bind mounts are not ours
	ContainerdStore bool
	DefaultRuntime  string
	Runtimes        []string  // sorted
	StorageDriver   string    // overlay2, vfs, ...
	LogDriver       string    // json-file, journald, ...
	LiveRestore     bool      // containers outlive a restart of the engine
	Time            time.Time // the engine's clock when Facts were asked for; zero where it does not tell
	GPUDriver       string    // nvidia, cdi, amd or "" where no GPU can be asked for
	GPUDevices      []string  // CDI devices that the engine has discovered ("nvidia.com/gpu=0"), each name once
	AMD             *plan.AMD // AMD's GPUs of this machine, where the driver is amd
	DataRoot        string
	// MaxRlimits is what the engine may raise nofile, memlock and stack to, by
	// these names, with -1 for "at will"; a name that is missing is not known.
	// Of Podman, nproc is there too: where nobody asks, it asks for 1048576.
	MaxRlimits map[string]int64
}

// Image is an image of the engine.
type Image struct {
	ID           string
	Tags         []string
	Labels       map[string]string
	Env          []string
	Entrypoint   []string
	WorkingDir   string
	Architecture string // amd64, arm64
	Size         int64  // bytes
	Created      time.Time
}

// File is put into a container between create and start.
type File struct {
	Path string // absolute, in the container; its parent folders are made
	Mode int64  // permission bits
	UID  int
	GID  int
	Data []byte

	// Name, where it is not "", names content that is the same in every File of
	// this name, so that it can be kept and given to many containers. Load gives
	// it, in place of Data.
	Name string
	Load func() ([]byte, error)
}

// Content gives what is in the file.
func (f *File) Content() ([]byte, error) {
	if f.Load != nil {
		return f.Load()
	}
	return f.Data, nil
}

// AttachOptions says what to connect.
type AttachOptions struct {
	Stdin bool // the caller writes to the command's stdin
	// TTY says that the container has a terminal. The caller knows it from the
	// plan, and the engine need not be asked.
	TTY bool
	// DetachKeys are those that the caller heeds on a terminal: an engine has
	// keys of its own otherwise. "" leaves it those.
	DetachKeys string
}

// Stream is a connection to a container's streams.
type Stream interface {
	// Demux copies the output to stdout and stderr until it ends; with a
	// terminal everything is stdout. It may be called once.
	Demux(stdout, stderr io.Writer) error
	// Write writes to the command's stdin.
	io.Writer
	// CloseWrite ends the command's stdin.
	CloseWrite() error
	io.Closer
}

// ExecOptions is a command beside the run's own. It has the run's user,
// variables and limits.
type ExecOptions struct {
	Args  []string
	Env   []string // NAME=VALUE, besides the run's
	Dir   string   // "" for the run's
	User  string   // "" for the run's
	Stdin bool
	TTY   bool
}

// Execution is a command that Exec has started.
type Execution interface {
	Stream
	Resize(ctx context.Context, width, height uint) error
	// Signal sends a signal, by name, to the command and those that it has
	// started. Engines have no call for it: it works where the command is a
	// process of this machine and of this user. One that has ended gives
	// ErrNotRunning.
	Signal(ctx context.Context, signal string) error
	// Exit waits for the end, once the output has ended, and gives the code.
	Exit(ctx context.Context) (int, error)
}

// Exit is the end of a container as the engine tells it.
type Exit struct {
	Code int
	Err  error // the engine failed while waiting
}

// State is a container's state.
type State struct {
	Status    string // created, running, paused, exited, dead, ...
	ExitCode  int
	OOMKilled bool
	Error     string
	Started   time.Time
	Finished  time.Time
}

// Container is a crun container as List finds it.
type Container struct {
	ID     string
	Run    string // the run's id, from the label
	Status string
	Labels map[string]string
}

// Event is something that happened to a container.
type Event struct {
	Time   time.Time
	Action string // create, start, oom, kill, die, ...
	Attrs  map[string]string
}
