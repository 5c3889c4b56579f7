package plan

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/opencontainers/runtime-spec/specs-go"
)

// Make makes the plan of a run. It is pure: the same request gives the same
// plan, byte for byte. The warnings are sentences for people, each about one
// thing that is weaker or other than asked; the error joins all that is wrong
// with the request, and there is no plan then.
func Make(req Request) (*Plan, []string, error) {
	m := &maker{
		req:    &req,
		origin: maps.Clone(req.Origin),
		plan: &Plan{
			Version:     Version,
			ID:          req.ID,
			Name:        req.Name,
			Profile:     req.Profile,
			Project:     req.Project,
			Image:       req.Image.Image,
			Interactive: req.Interactive,
			Restarts:    req.Restarts,
			Grace:       Duration(req.Grace),
			Log:         defaultLog,
			Strict:      req.Limits.Strict != nil && *req.Limits.Strict,
		},
	}
	if m.origin == nil {
		m.origin = map[string]string{}
	}
	if m.plan.Grace == 0 {
		m.plan.Grace = Duration(DefaultGrace)
	}
	m.plan.Spec = specs.Spec{
		Version:  specs.Version,
		Hostname: req.Name,
		Process:  &specs.Process{Terminal: req.TTY},
		Linux:    &specs.Linux{Resources: &specs.LinuxResources{}},
	}

	m.checkRequest()
	m.memory()
	m.cpu()
	m.processes()
	m.holdable()
	m.gpus()
	m.network()
	m.account()
	m.command()
	m.ranks = m.ranksOf(req.Command)
	if m.ranks > 1 {
		m.plan.Ranks = m.ranks
	}
	m.mounts()
	m.environment()
	m.timeLimit()
	m.earlySignal()
	m.labels()
	m.plan.Origin = m.origin

	if err := errors.Join(m.errs...); err != nil {
		return nil, nil, err
	}
	return m.plan, m.warnings, nil
}

// defaultLog bounds the engine's copy of the output to 128 MiB a run; the
// record has the whole of it.
var defaultLog = Log{MaxSize: 32 << 20, MaxFiles: 4}

// maker carries a plan through the steps of Make.
type maker struct {
	req      *Request
	plan     *Plan
	origin   map[string]string
	warnings []string
	errs     []error

	env     map[string]string
	secrets map[string]bool

	cores int // CPUs that the run can keep busy, 0 where nothing bounds them
	ranks int // processes of a distributed training that share them, from 1
}

func (m *maker) warnf(format string, args ...any) {
	m.warnings = append(m.warnings, fmt.Sprintf(format, args...))
}

func (m *maker) errorf(format string, args ...any) {
	m.errs = append(m.errs, fmt.Errorf(format, args...))
}

// at begins a message about field with the place that its value came from:
// "profiles.yaml:12:5: ", or "" for a value of our own.
func (m *maker) at(field string) string {
	if origin := m.origin[field]; origin != "" {
		return origin + ": "
	}
	return ""
}

// host names the engine's host in messages.
func (m *maker) host() string {
	if m.req.Host.Name != "" {
		return "the host of " + m.req.Host.Name
	}
	return "the engine's host"
}

func (m *maker) checkRequest() {
	req := m.req
	if !ValidID(req.ID) {
		m.errorf("run id %q is not 12 base32 digits", req.ID)
	}
	if err := ValidName(req.Name); err != nil {
		m.errs = append(m.errs, err)
	}
	for _, path := range []struct{ what, path string }{
		{"project", req.Project}, {"working directory", req.Dir}, {"home", m.home()},
	} {
		if path.path != "" && !clean(path.path) {
			m.errorf("%s %q is not an absolute path without . and .. in it", path.what, path.path)
		}
	}
	if a, h := req.Image.Arch, req.Host.Arch; a != "" && h != "" && a != h {
		m.errorf("image %s is made for %s and %s is %s: build it there, or use another image", req.Image.Ref, a, m.host(), h)
	}
	if req.Grace < 0 {
		m.errorf("the grace time is %s: it cannot be negative", req.Grace)
	}
}

// timeLimit keeps to what the profile checked already, for flags.
func (m *maker) timeLimit() {
	limit := m.req.Limits.TimeLimit
	if limit == nil {
		return
	}
	if *limit <= 0 {
		m.errorf("%stime_limit is %s: it has to be longer than nothing", m.at("time_limit"), *limit)
	}
	d := Duration(*limit)
	m.plan.TimeLimit = &d
}

// earlySignal turns shares of the limits into numbers.
func (m *maker) earlySignal() {
	s := m.req.Limits.SignalBeforeKill
	if s == nil || s.Memory == 0 && s.Time == 0 {
		return
	}
	for part, share := range map[string]int{"memory": s.Memory, "time": s.Time} {
		if field := "signal_before_kill." + part; share < 0 || share > 99 {
			m.errorf("%s%s is %d%%: allowed are 1%% to 99%%", m.at(field), field, share)
		}
	}
	early := &EarlySignal{Signal: cmp.Or(s.Signal, "SIGUSR1")}
	if memory := m.resources().Memory; memory != nil && memory.Limit != nil {
		early.Memory = *memory.Limit / 100 * int64(s.Memory)
	}
	if limit := m.plan.TimeLimit; limit != nil {
		early.Time = *limit / 100 * Duration(s.Time)
	}
	if early.Memory == 0 && early.Time == 0 {
		m.warnf("signal_before_kill asks for a share of a limit that the run has not: no signal is sent (memory and time_limit are what it can be a share of)")
		return
	}
	m.plan.SignalBeforeKill = early
}

// account makes the run the caller's. Below a rootless engine the caller is
// root inside: any other uid there is one of the caller's subordinate ones,
// and files that it made would not be the caller's.
func (m *maker) account() {
	account := m.req.Account
	account.Home = m.home()
	user := specs.User{UID: account.UID, GID: account.GID, Umask: m.req.Umask}
	if m.req.Host.Rootless {
		account.UID, account.GID, account.Groups = 0, 0, nil
		user.UID, user.GID = 0, 0
	} else {
		for _, g := range account.Groups {
			if g.GID != account.GID {
				user.AdditionalGids = append(user.AdditionalGids, g.GID)
			}
		}
		if m.plan.GPUs != nil {
			for _, gid := range m.plan.GPUs.Groups {
				if gid != account.GID && !slices.Contains(user.AdditionalGids, gid) {
					user.AdditionalGids = append(user.AdditionalGids, gid)
				}
			}
		}
	}
	m.plan.Account = account
	m.plan.Spec.Process.User = user
}

// remoteHome is HOME on another machine, where crun makes no folders: init
// makes it, and it is gone with the run.
const remoteHome = TmpPath + "/home"

// home is HOME in the run: a folder of the host at its own path.
func (m *maker) home() string {
	if h := m.req.Limits.Home; m.req.Host.Remote && m.req.HomeDir != "" && (h == nil || *h == HomeOwn) {
		return remoteHome
	}
	if h := m.req.Limits.Home; h != nil && *h == HomeMine || m.req.HomeDir == "" {
		return m.req.Account.Home
	}
	return m.req.HomeDir
}

// command sets the arguments and the folder to start in.
func (m *maker) command() {
	req, process := m.req, m.plan.Spec.Process
	switch {
	case req.Project == "":
		process.Cwd = req.Image.WorkingDir
		if process.Cwd == "" {
			process.Cwd = "/"
		}
	case below(req.Dir, req.Project):
		process.Cwd = req.Dir
	default:
		process.Cwd = req.Project
	}

	args := slices.Clone(req.Command)
	if len(args) > 0 && strings.HasSuffix(args[0], ".py") {
		args[0] = m.fromDir(args[0])
		if strings.HasPrefix(args[0], "-") {
			args[0] = "./" + args[0] // python would take it for its own option
		}
		// Not -u: PYTHONUNBUFFERED reaches the workers too. Not -X: the same.
		args = append([]string{"python"}, args...)
	} else if len(args) > 0 && strings.Contains(args[0], "/") {
		args[0] = m.fromDir(args[0])
	}
	process.Args = append(slices.Clone(req.Image.Entrypoint), args...)
	m.plan.Entrypoint = len(req.Image.Entrypoint)
	switch {
	case len(process.Args) == 0:
		m.errorf("no command: name a script or a command to run")
	case process.Args[0] == "":
		m.errorf("the command is an empty word: name a script or a command to run")
	}
	for _, arg := range process.Args {
		if strings.ContainsRune(arg, 0) {
			m.errorf("argument %q has a NUL byte in it: no program can be given one", arg)
		}
	}
}

// fromDir keeps a path that is relative to the caller's folder true where the
// run starts in another.
func (m *maker) fromDir(path string) string {
	if filepath.IsAbs(path) || m.req.Project == "" || m.req.Dir == "" || m.plan.Spec.Process.Cwd == m.req.Dir {
		return path
	}
	return filepath.Join(m.req.Dir, path)
}

// clean tells whether path is absolute and has one form alone.
func clean(path string) bool { return filepath.IsAbs(path) && filepath.Clean(path) == path }

// below tells whether path is folder or lies in it. Both are clean.
func below(path, folder string) bool {
	return path == folder || folder == "/" || strings.HasPrefix(path, folder+"/")
}

// labels are the marks that an engine can list runs by.
func (m *maker) labels() {
	p := m.plan
	labels := map[string]string{
		"schema":  strconv.Itoa(Version),
		"run":     p.ID,
		"name":    p.Name,
		"uid":     strconv.FormatUint(uint64(m.req.Account.UID), 10),
		"profile": p.Profile,
		"project": p.Project,
		"lock":    p.Image.Lock,
		"gpus":    p.GPUs.String(),
	}
	if memory := p.Spec.Linux.Resources.Memory; memory != nil && memory.Limit != nil {
		labels["memory"] = strconv.FormatInt(*memory.Limit, 10)
	}
	if cpu := p.Spec.Linux.Resources.CPU; cpu != nil {
		labels["cpuset"] = cpu.Cpus
	}
	if nano := p.CPUs(); nano != 0 {
		labels["cpus"] = FormatCPUs(nano)
	}
	p.Spec.Annotations = map[string]string{}
	for name, value := range labels {
		if value != "" {
			p.Spec.Annotations[LabelPrefix+name] = value
		}
	}
}

// LabelPrefix begins every label of ours. A plan's labels are schema, run,
// name, uid, profile, project, lock, memory (bytes), cpus, cpuset and gpus; those that
// say nothing are left out.
const LabelPrefix = "dev.crun."
