package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"crun.dev/crun/run/inside"
)

// defaultPath is what Docker gives an image that sets no PATH.
const defaultPath = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

// lookup finds a command as execvp(3) does: a name with a slash is a path,
// any other is looked for in the folders of pathList, where an empty one is
// the current. On failure code is 126 (found, not executable) or 127.
func lookup(name, pathList string) (path string, code int, err error) {
	if name == "" {
		return "", inside.ExitMissing, errors.New("command not found: its name is empty")
	}
	if strings.Contains(name, "/") {
		if err := executable(name); err != nil {
			return "", codeOf(err), explain(name, err)
		}
		return name, 0, nil
	}
	if pathList == "" {
		pathList = defaultPath
	}
	var denied error
	for _, dir := range filepath.SplitList(pathList) {
		if dir == "" {
			dir = "."
		}
		path := dir + "/" + name // not Join: "./x" must keep its slash
		switch err := executable(path); {
		case err == nil:
			return path, 0, nil
		case codeOf(err) == inside.ExitNotExec && denied == nil:
			denied = explain(path, err)
		}
	}
	if denied != nil {
		return "", inside.ExitNotExec, denied
	}
	return "", inside.ExitMissing, fmt.Errorf("command not found: %s (looked for in PATH=%s)", name, pathList)
}

var errDirectory = errors.New("it is a folder")

// executable tells why path cannot be executed, as far as that can be seen.
func executable(path string) error {
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	if info.IsDir() {
		return errDirectory
	}
	return unix.Access(path, unix.X_OK)
}

// codeOf gives the exit code of an error of executable or of exec.
func codeOf(err error) int {
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
		return inside.ExitMissing
	}
	return inside.ExitNotExec
}

// explain makes the sentence about a command that cannot be started.
func explain(path string, err error) error {
	switch {
	case codeOf(err) == inside.ExitMissing:
		return fmt.Errorf("command not found: %s", path)
	case errors.Is(err, fs.ErrPermission):
		return fmt.Errorf("command not executable: %s: permission denied (chmod +x, and every folder above must be open to uid %d)", path, os.Getuid())
	case errors.Is(err, syscall.ENOEXEC):
		return fmt.Errorf("command not executable: %s: not a program of this architecture, nor a script with #! and its interpreter in the first line", path)
	}
	return fmt.Errorf("command not executable: %s: %w", path, cause(err))
}

// cause gives the system's own word for err, without path and operation.
func cause(err error) error {
	if errno := syscall.Errno(0); errors.As(err, &errno) {
		return errno
	}
	return err
}
