package cli

import (
	"os"

	"golang.org/x/sys/unix"
	"golang.org/x/term"
)

// streams decides whether the run has a terminal and whether its stdin is
// open: a terminal where stdin and stdout are one and this command is in the
// foreground of it, stdin where it is no terminal or the run has one.
func (app *App) streams(o *runOptions) (tty, interactive bool) {
	if o.detach {
		return false, false
	}
	in, out := terminal(app.In), terminal(app.Out)
	tty = in != nil && out != nil && inForeground(in)
	switch {
	case o.tty:
		tty = true
	case o.noTTY:
		tty = false
	}
	interactive = o.interactive || tty || in == nil && app.In != nil
	return tty, interactive
}

// terminal gives the terminal behind a stream, or nil.
func terminal(stream any) *os.File {
	if f, ok := stream.(*os.File); ok && term.IsTerminal(int(f.Fd())) {
		return f
	}
	return nil
}

// inForeground tells whether this process may use its terminal: a background
// job (crun run ... &) is stopped when it tries.
func inForeground(terminal *os.File) bool {
	group, err := unix.IoctlGetInt(int(terminal.Fd()), unix.TIOCGPGRP)
	return err == nil && group == unix.Getpgrp()
}
