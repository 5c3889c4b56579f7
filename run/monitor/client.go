package monitor

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"

	"crun.dev/crun/run/record"
)

// Client is the foreground's end of a monitor.
type Client struct {
	stdin    *os.File
	messages chan Message
}

// executable is the running binary, also when its file has been replaced by a
// newer one.
const executable = "/proc/self/exe"

// Start starts the monitor of a run that is to be, in the reserved place of its
// record, whose lock it takes over. It waits for Send.
func Start(place *record.Record, lock *record.Lock) (*Client, error) {
	return spawn(place, lock, "monitor", place.ID)
}

// Send tells the monitor that the record is there and what is not in it.
func (c *Client) Send(request Request) error {
	line, err := json.Marshal(request)
	if err == nil {
		_, err = c.stdin.Write(append(line, '\n'))
	}
	if err != nil && !errors.Is(err, syscall.EPIPE) { // its messages tell that it is gone
		return fmt.Errorf("telling the monitor: %w", err)
	}
	return nil
}

// Adopt starts a monitor for the run of one that died. It takes over the lock.
func Adopt(r *record.Record, lock *record.Lock) (*Client, error) {
	return spawn(r, lock, "monitor", "--adopt", r.ID)
}

// spawn starts crun with args in a session of its own. The lock is the child's
// from then on, or nobody's.
func spawn(r *record.Record, lock *record.Lock, args ...string) (c *Client, err error) {
	defer lock.Unlock()
	var open []*os.File
	defer func() {
		for _, f := range open {
			f.Close()
		}
	}()
	fail := func(err error) (*Client, error) { return nil, fmt.Errorf("starting the monitor: %w", err) }

	stdin, toStdin, err := os.Pipe()
	if err != nil {
		return fail(err)
	}
	open = append(open, stdin)
	messages, toMessages, err := os.Pipe()
	if err != nil {
		toStdin.Close()
		return fail(err)
	}
	open = append(open, toMessages)
	// What a crash of the monitor prints is found here.
	stderr, err := os.OpenFile(filepath.Join(r.Dir(), "monitor.log"), os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		stderr, err = os.OpenFile(os.DevNull, os.O_WRONLY, 0)
	}
	if err == nil {
		open = append(open, stderr)
		cmd := exec.Command(executable, args...)
		cmd.Args[0] = "crun"
		cmd.Dir = "/"
		cmd.Stdin, cmd.Stderr = stdin, stderr
		cmd.ExtraFiles = []*os.File{toMessages, lock.File()}
		cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
		if err = cmd.Start(); err == nil {
			go cmd.Wait() // or it stays a zombie for as long as this process lives
		}
	}
	if err != nil {
		toStdin.Close()
		messages.Close()
		return fail(err)
	}
	c = &Client{stdin: toStdin, messages: make(chan Message, 8)}
	go c.read(messages)
	return c, nil
}

func (c *Client) read(from *os.File) {
	defer close(c.messages)
	defer from.Close()
	lines := bufio.NewReader(from)
	for {
		line, err := lines.ReadBytes('\n')
		if err != nil {
			return
		}
		var m Message
		if json.Unmarshal(line, &m) == nil {
			c.messages <- m
		}
	}
}

// Messages gives what the monitor tells. The channel is closed when the
// monitor has ended.
func (c *Client) Messages() <-chan Message { return c.messages }

// Go lets the command start.
func (c *Client) Go() error {
	_, err := io.WriteString(c.stdin, goLine+"\n")
	if errors.Is(err, syscall.EPIPE) {
		return nil // the monitor is gone, as its messages will tell
	}
	return err
}

// KillAfter has the monitor send SIGKILL to the run after grace, also when this
// process has ended by then. The error says that the monitor is gone.
func (c *Client) KillAfter(grace time.Duration) error {
	_, err := fmt.Fprintf(c.stdin, "%s %s\n", killWord, grace)
	return err
}

// Abandon gives the run up if it has not been started yet.
func (c *Client) Abandon() { c.stdin.Close() }
