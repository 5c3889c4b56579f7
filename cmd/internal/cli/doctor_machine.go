package cli

import (
	"cmp"
	"context"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"crun.dev/crun/cmd/internal/config"
	"crun.dev/crun/internal/lazyregexp"
	"crun.dev/crun/internal/nvidia"
	"crun.dev/crun/internal/shellword"
	"crun.dev/crun/run/doctor"
	"crun.dev/crun/run/engine"
	"crun.dev/crun/run/precheck"
	"crun.dev/crun/run/record"
)

// machineLines are the lines about the engine's limits and its machine. An
// engine that does not answer has its line already.
func (x *examination) machineLines(ctx context.Context) []doctor.Line {
	app := x.app
	f := doctor.Facts{Thresholds: x.cfg.Checks.Thresholds()}
	f.Thresholds.Skip = nil // a question is no run
	ep, err := app.findEndpoint(x.cfg)
	if err != nil {
		return nil
	}
	host := make(chan *nvidia.Host, 1)
	var hostErr error
	go func() {
		h, err := hostOnce()
		if err != nil && !errors.Is(err, nvidia.ErrNone) {
			hostErr = err
		}
		host <- h
	}()
	var running []engine.Container
	if e, _, err := app.openEngine(ctx, x.cfg); err == nil {
		defer e.Close()
		if f.Engine, err = e.Facts(ctx); err == nil {
			f.Now = time.Now()
			running = runningRuns(ctx, e)
		}
	}
	if f.Engine.Version == "" { // its machine is looked at all the same, where that is this one
		f.Engine.Remote, f.Engine.Memory = ep.Remote, precheck.Total()
	}
	f.Precheck = precheckFacts(nil, f.Engine, running, nil, x.cfg.Scratch)
	if f.Engine.Remote {
		return doctor.Lines(f)
	}
	ask := doctor.Ask{Getenv: app.Getenv, User: app.account().User, Socket: strings.TrimPrefix(ep.Host, "unix://")}
	folder := func(what, path string, private bool) {
		if path != "" {
			ask.Folders = append(ask.Folders, doctor.AskFolder{What: what, Path: path, Private: private})
		}
	}
	if state := app.Getenv("XDG_STATE_HOME"); filepath.IsAbs(state) {
		folder("records", filepath.Join(state, "crun", "runs"), true)
	} else if home := app.Getenv("HOME"); filepath.IsAbs(home) {
		folder("records", filepath.Join(home, ".local", "state", "crun", "runs"), true)
	} else if dir, err := record.DefaultDir(app.Getenv); err == nil {
		folder("records", dir, true)
	}
	folder("project", app.Dir, false)
	folder("tmpdir", x.cfg.Scratch, false)
	if home, err := app.ownHome(); err == nil {
		folder("home of runs", home, false)
	}
	f.Machine = doctor.Read(ask)
	select {
	case h := <-host:
		if hostErr != nil {
			f.Machine.NvidiaError = hostErr.Error()
		}
		if h != nil {
			f.Machine.NvidiaDriver, f.Machine.NvidiaGPUs = h.Driver.String(), len(h.GPUs)
			f.Precheck = precheckFacts(nil, f.Engine, running, h, x.cfg.Scratch)
		}
	case <-ctx.Done():
	}
	return doctor.Lines(f)
}

// credentials are a user and password, or a token, in front of a host.
var credentials = lazyregexp.New(`://[^/\s"']+@`)

// files looks at what crun reads: config.yaml, profiles.yaml and certificates.
func (x *examination) files() {
	names := []string{filepath.Join(config.SystemDir, config.FileName)}
	if dir := config.UserDir(x.app.Getenv); dir != "" {
		names = append(names, filepath.Join(dir, config.FileName))
	}
	if alone := x.app.Getenv("CRUN_CONFIG"); alone != "" {
		names = []string{alone}
	}
	found := []string{}
	for _, name := range names {
		info, err := os.Stat(name)
		if err != nil {
			continue
		}
		found = append(found, name)
		data, err := os.ReadFile(name)
		if err != nil || !credentials.MatchString(string(data)) || info.Mode().Perm()&0o004 == 0 {
			continue
		}
		fix := &doctor.Fix{Say: "chmod o-rwx " + shellword.Quote(name), Path: name, Mode: uint32(info.Mode().Perm() &^ 0o007)}
		x.add(check{What: "config", Level: levelWarning, Text: name + " holds a password, and everybody may read it", Remedy: fix.Say, Fix: fix.Say, fix: fix})
	}
	x.add(check{What: "config", Level: levelOK, Text: cmp.Or(strings.Join(found, ", "), "none: there is no config.yaml, and none is needed")})
	if _, warnings, err := x.app.loadProfiles(); err != nil {
		x.add(check{What: "profiles", Level: levelError, Text: err.Error(), Remedy: "crun profiles validate"})
	} else if len(warnings) > 0 {
		x.add(check{What: "profiles", Level: levelWarning, Text: warnings[0].String(), Remedy: "crun profiles validate"})
	} else {
		x.add(check{What: "profiles", Level: levelOK, Text: "are valid"})
	}
	x.certificates(time.Now())
}

// certificates counts what the bundle holds that builds are given.
func (x *examination) certificates(now time.Time) {
	if x.cfg.CA == "" {
		x.add(check{What: "ca", Level: levelWarning, Text: "this machine has no bundle of certificates: builds trust those of the base image alone",
			Remedy: "install ca-certificates, or name a bundle: ca: /PATH/TO/AUTHORITIES.pem in " + x.app.configFile()})
		return
	}
	data, err := os.ReadFile(x.cfg.CA)
	if err != nil {
		var path *fs.PathError
		if errors.As(err, &path) {
			err = path.Err
		}
		x.add(check{What: "ca", Level: levelError, Text: fmt.Sprintf("%s (%s): %v", x.cfg.CA, x.cfg.Origin["ca"], err), Remedy: "name a bundle that you may read: ca: /PATH/TO/AUTHORITIES.pem"})
		return
	}
	good, expired := 0, 0
	for block, rest := pem.Decode(data); block != nil; block, rest = pem.Decode(rest) {
		if block.Type != "CERTIFICATE" {
			continue
		}
		if c, err := x509.ParseCertificate(block.Bytes); err == nil && now.Before(c.NotAfter) {
			good++
		} else if err == nil {
			expired++
		}
	}
	text := fmt.Sprintf("%d authorities in %s (%s)", good, x.cfg.CA, x.cfg.Origin["ca"])
	if expired > 0 {
		text += fmt.Sprintf(", and %d that have expired", expired)
	}
	c := check{What: "ca", Level: levelOK, Text: text}
	if good == 0 {
		c.Level, c.Remedy = levelError, "no https server will be trusted: name a bundle in PEM: ca: /PATH/TO/AUTHORITIES.pem"
	}
	x.add(c)
}

// fixAll does what is safe, where that was asked for.
func (x *examination) fixAll(ctx context.Context) error {
	var todo []*check
	for i := range x.checks {
		if x.checks[i].fix != nil {
			todo = append(todo, &x.checks[i])
		}
	}
	switch {
	case len(todo) == 0 && x.o.fix:
		x.app.note("there is nothing that could be fixed without harm")
		return nil
	case !x.o.fix:
		if len(todo) > 0 && x.o.output == "" {
			x.app.note("crun doctor --fix would do: %s", says(todo))
		}
		return nil
	}
	x.app.note("this would be done: %s", says(todo))
	if err := x.app.confirm(ctx, "Do it?", "nothing was changed", x.o.yes); err != nil {
		return err
	}
	var errs []error
	for _, c := range todo {
		if err := apply(ctx, c.fix); err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", c.Fix, err))
			continue
		}
		c.Fixed = true
	}
	return errors.Join(errs...)
}

func says(todo []*check) string {
	var all []string
	for _, c := range todo {
		all = append(all, c.Fix)
	}
	return strings.Join(all, "; ")
}

func apply(ctx context.Context, f *doctor.Fix) error {
	if len(f.Command) == 0 {
		return os.Chmod(f.Path, os.FileMode(f.Mode))
	}
	out, err := exec.CommandContext(ctx, f.Command[0], f.Command[1:]...).CombinedOutput()
	if text := strings.TrimSpace(string(out)); err != nil && text != "" {
		return fmt.Errorf("%w: %s", err, text)
	}
	return err
}
