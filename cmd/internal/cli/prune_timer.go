package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"crun.dev/crun/internal/atomicfile"
)

// timerName is what the units are called, and what marks crun's line of a
// crontab.
const timerName = "crun-prune"

// timer is where crun prune can be made to run by itself. Tests make their own.
type timer struct {
	// units is the folder of systemd's units, "" where there is no systemd.
	units string
	// user tells that they are those of the user's own systemd.
	user bool
	// run runs a program with stdin and gives what it prints.
	run func(ctx context.Context, stdin string, program string, args ...string) (string, error)
}

// newTimer looks for systemd, and for cron where there is none.
func (app *App) newTimer() (timer, error) {
	t := timer{run: runProgram, user: app.account().UID != 0}
	switch info, err := os.Stat("/run/systemd/system"); {
	case err == nil && info.IsDir() && !t.user:
		t.units = "/etc/systemd/system"
		return t, nil
	case err == nil && info.IsDir() && app.Getenv("XDG_RUNTIME_DIR") != "":
		if dir := app.Getenv("XDG_CONFIG_HOME"); filepath.IsAbs(dir) {
			t.units = filepath.Join(dir, "systemd", "user")
		} else if home := app.Getenv("HOME"); filepath.IsAbs(home) {
			t.units = filepath.Join(home, ".config", "systemd", "user")
		}
		if t.units != "" {
			return t, nil
		}
	}
	if _, err := exec.LookPath("crontab"); err != nil {
		return t, errors.New("this machine has neither systemd nor crontab: have 'crun prune --yes' run once a week by what starts programs here")
	}
	return t, nil
}

func runProgram(ctx context.Context, stdin, program string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Stdin = strings.NewReader(stdin)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil {
		return out.String(), fmt.Errorf("%s %s: %w: %s", program, strings.Join(args, " "), err, strings.TrimSpace(errs.String()))
	}
	return out.String(), nil
}

// timerVariables are what decides which engine, records and configuration the
// command works with; a timer has nothing of the caller's environment.
var timerVariables = []string{"CRUN_CONFIG", "DOCKER_HOST", "DOCKER_CONTEXT", "DOCKER_CONFIG", "DOCKER_TLS_VERIFY", "DOCKER_CERT_PATH", "BUILDKIT_HOST",
	"HOME", "XDG_STATE_HOME", "XDG_CONFIG_HOME", "XDG_CACHE_HOME"}

// timerCommand is what the timer runs, as words, with the variables that it
// needs.
func (app *App) timerCommand(o pruneOptions) (variables []string, words []string, err error) {
	crun, err := os.Executable()
	if err != nil {
		return nil, nil, fmt.Errorf("finding where crun lies: %w", err)
	}
	for _, name := range timerVariables {
		if value := app.Getenv(name); value != "" {
			variables = append(variables, name+"="+value)
		}
	}
	words = []string{crun}
	if app.Host != "" {
		words = append(words, "--host", app.Host)
	}
	if app.Context != "" {
		words = append(words, "--context", app.Context)
	}
	words = append(words, "--quiet", "prune", "--yes", "--older-than", o.olderThan.String())
	if o.others {
		words = append(words, "--others")
	}
	if o.allCache {
		words = append(words, "--all-cache")
	}
	for _, word := range append(variables, words...) {
		if strings.ContainsAny(word, "\n\r\x00") {
			return nil, nil, fmt.Errorf("%q holds a line break, which no timer can hold", word)
		}
	}
	return variables, words, nil
}

func (app *App) installTimer(ctx context.Context, o pruneOptions) error {
	t, err := app.newTimer()
	if err != nil {
		return err
	}
	variables, words, err := app.timerCommand(o)
	if err != nil {
		return err
	}
	return app.putTimer(ctx, t, o, variables, words)
}

// putTimer shows what is written and writes it.
func (app *App) putTimer(ctx context.Context, t timer, o pruneOptions, variables, words []string) error {
	if t.units == "" {
		line := cronLine(variables, words)
		old, err := t.crontab(ctx)
		if err != nil {
			return err
		}
		fmt.Fprintf(app.Out, "a line for your crontab:\n%s\n", line)
		if o.dryRun {
			return nil
		}
		if err := app.confirm(ctx, "Add it?", "nothing was changed", o.yes); err != nil {
			return err
		}
		_, err = t.run(ctx, withoutCron(old)+line+"\n", "crontab", "-")
		return err
	}
	files := units(variables, words)
	for _, name := range []string{timerName + ".service", timerName + ".timer"} {
		fmt.Fprintf(app.Out, "%s:\n%s\n", filepath.Join(t.units, name), files[name])
	}
	if o.dryRun {
		return nil
	}
	if err := app.confirm(ctx, "Write these and start the timer?", "nothing was changed", o.yes); err != nil {
		return err
	}
	if err := os.MkdirAll(t.units, 0o755); err != nil {
		return fmt.Errorf("writing the timer: %w", err)
	}
	for name, text := range files {
		if err := atomicfile.Replace(filepath.Join(t.units, name), []byte(text), 0o644); err != nil {
			return fmt.Errorf("writing the timer: %w", err)
		}
	}
	if err := t.systemctl(ctx, "daemon-reload"); err != nil {
		return err
	}
	return t.systemctl(ctx, "enable", "--now", timerName+".timer")
}

func (app *App) removeTimer(ctx context.Context, o pruneOptions) error {
	t, err := app.newTimer()
	if err != nil {
		return err
	}
	return app.dropTimer(ctx, t, o)
}

// dropTimer removes what putTimer has written, and nothing else.
func (app *App) dropTimer(ctx context.Context, t timer, o pruneOptions) error {
	if t.units == "" {
		old, err := t.crontab(ctx)
		if err != nil {
			return err
		}
		kept := withoutCron(old)
		if kept == old {
			app.note("there is no timer to remove")
			return nil
		}
		if o.dryRun {
			fmt.Fprintln(app.Out, "would remove crun's line from your crontab")
			return nil
		}
		_, err = t.run(ctx, kept, "crontab", "-")
		return err
	}
	service, clock := filepath.Join(t.units, timerName+".service"), filepath.Join(t.units, timerName+".timer")
	if _, err := os.Stat(clock); errors.Is(err, fs.ErrNotExist) {
		app.note("there is no timer to remove")
		return nil
	}
	if o.dryRun {
		fmt.Fprintf(app.Out, "would stop the timer and remove %s and %s\n", service, clock)
		return nil
	}
	err := t.systemctl(ctx, "disable", "--now", timerName+".timer")
	for _, path := range []string{service, clock} {
		if removeErr := os.Remove(path); !errors.Is(removeErr, fs.ErrNotExist) {
			err = errors.Join(err, removeErr)
		}
	}
	return errors.Join(err, t.systemctl(ctx, "daemon-reload"))
}

func (t timer) systemctl(ctx context.Context, args ...string) error {
	if t.user {
		args = append([]string{"--user"}, args...)
	}
	_, err := t.run(ctx, "", "systemctl", args...)
	return err
}

// crontab gives the caller's, "" where there is none.
func (t timer) crontab(ctx context.Context) (string, error) {
	text, err := t.run(ctx, "", "crontab", "-l")
	if err != nil && strings.Contains(err.Error(), "no crontab") {
		return "", nil
	}
	return text, err
}

// withoutCron takes crun's line out of a crontab.
func withoutCron(text string) string {
	var kept strings.Builder
	for line := range strings.Lines(text) {
		if !strings.HasSuffix(strings.TrimRight(line, "\n"), "# "+timerName) {
			kept.WriteString(line)
		}
	}
	if text := kept.String(); text != "" && !strings.HasSuffix(text, "\n") {
		return text + "\n"
	}
	return kept.String()
}

// cronLine runs words once a week, Sunday morning. cron takes a % for the end
// of the line, and gives the rest to sh.
func cronLine(variables, words []string) string {
	var quoted []string
	for _, variable := range variables {
		name, value, _ := strings.Cut(variable, "=")
		quoted = append(quoted, name+"="+shellWord(value))
	}
	for _, word := range words {
		quoted = append(quoted, shellWord(word))
	}
	return "17 4 * * 0 " + strings.ReplaceAll(strings.Join(quoted, " "), "%", `\%`) + " # " + timerName
}

func shellWord(word string) string {
	if word != "" && !strings.ContainsFunc(word, func(r rune) bool {
		return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("_-./:=@", r))
	}) {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}

// units are systemd's files, by name.
func units(variables, words []string) map[string]string {
	var environment strings.Builder
	for _, variable := range variables {
		fmt.Fprintf(&environment, "Environment=%s\n", unitWord(variable))
	}
	quoted := make([]string, len(words))
	for i, word := range words {
		quoted[i] = unitWord(word)
	}
	// In ExecStart, not in Environment, $ names a variable.
	command := strings.ReplaceAll(strings.Join(quoted, " "), "$", "$$")
	return map[string]string{
		timerName + ".service": "# Written by crun prune --install-timer.\n[Unit]\nDescription=Remove images and caches of crun that nobody needs\n\n" +
			"[Service]\nType=oneshot\n" + environment.String() + "ExecStart=" + command + "\nNice=10\nIOSchedulingClass=idle\n",
		timerName + ".timer": "# Written by crun prune --install-timer.\n[Unit]\nDescription=Remove images and caches of crun once a week\n\n" +
			"[Timer]\nOnCalendar=Sun 04:17\nRandomizedDelaySec=1h\nPersistent=true\n\n[Install]\nWantedBy=timers.target\n",
	}
}

// unitWord quotes a word for a unit file.
func unitWord(word string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "%", "%%").Replace(word) + `"`
}
