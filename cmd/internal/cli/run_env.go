package cli

import (
	"bufio"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"os/user"
	"slices"
	"strconv"
	"strings"

	"crun.dev/crun/internal/names"
	"crun.dev/crun/profiles"
	"crun.dev/crun/run/plan"
)

// runVars are the variables of a run.
type runVars struct {
	limits  plan.Limits
	env     []plan.EnvVar
	secrets map[string]string
}

// runEnv gathers the variables of the profile, the env files and the command
// line, later ones winning. Values that come from the caller's environment or
// a file are secrets.
func (app *App) runEnv(o *runOptions, profile *profiles.Profile) (*runVars, error) {
	vars := &runVars{limits: limitsOf(profile), secrets: make(map[string]string)}
	// A variable that the profile passes on and the caller has not is none.
	var kept []plan.EnvVar
	for _, v := range vars.limits.Env {
		if v.FromHost {
			value := app.Getenv(v.Name)
			if value == "" {
				continue
			}
			vars.secrets[v.Name] = value
		}
		kept = append(kept, v)
	}
	vars.limits.Env = kept

	var errs []error
	for _, file := range o.envFiles {
		values, err := app.readEnvFile(file)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		for _, v := range values {
			vars.secret(v.Name, v.Value)
		}
	}
	for _, arg := range o.env {
		name, value, given := strings.Cut(arg, "=")
		if err := checkVarName(name, given); err != nil {
			errs = append(errs, fmt.Errorf("-e: %w", err))
			continue
		}
		if given {
			vars.set(plan.EnvVar{Name: name, Value: value})
			delete(vars.secrets, name)
			continue
		}
		if value = app.Getenv(name); value == "" {
			errs = append(errs, fmt.Errorf("-e %s: %s is not set here: export it, or write -e %s=VALUE", name, name, name))
			continue
		}
		vars.secret(name, value)
	}
	errs = append(errs, vars.tooLong()...)
	return vars, errors.Join(errs...)
}

// maxVar is what the kernel takes for one variable, NAME=VALUE and the zero
// behind it, in bytes (MAX_ARG_STRLEN, execve(2)).
const maxVar = 128 << 10

// tooLong names the variables with which no program can be started.
func (v *runVars) tooLong() (errs []error) {
	for _, one := range slices.Concat(v.limits.Env, v.env) {
		value := one.Value
		if one.FromHost {
			value = v.secrets[one.Name]
		}
		if n := len(one.Name) + len(value) + 2; n > maxVar {
			errs = append(errs, fmt.Errorf("variable %s: %d bytes are more than the 128 KiB that the kernel takes for one: put the value into a file of the project", one.Name, n))
		}
	}
	return errs
}

func (v *runVars) secret(name, value string) {
	v.set(plan.EnvVar{Name: name, FromHost: true})
	v.secrets[name] = value
}

func (v *runVars) set(one plan.EnvVar) {
	for i := range v.env {
		if v.env[i].Name == one.Name {
			v.env[i] = one
			return
		}
	}
	v.env = append(v.env, one)
}

// readEnvFile reads lines of NAME=VALUE, or NAME for the caller's own. Empty
// lines and those that begin with # say nothing; quotes are part of a value,
// as docker run has it.
func (app *App) readEnvFile(name string) ([]plan.EnvVar, error) {
	if name == "" {
		return nil, errors.New("--env-file is empty: name one, or leave the flag out")
	}
	path := app.abs(name)
	// A shell's <(command) is a pipe below /dev; opening another one would
	// wait for a writer, deaf to signals.
	if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() && !strings.HasPrefix(path, "/dev/fd/") && !strings.HasPrefix(path, "/proc/") {
		return nil, fmt.Errorf("--env-file %s: is no file; it has lines of NAME=VALUE", name)
	}
	file, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("--env-file %s: %w", name, errors.Unwrap(err))
	}
	defer file.Close()
	var all []plan.EnvVar
	lines := bufio.NewScanner(file)
	lines.Buffer(nil, 1<<20)
	for n := 1; lines.Scan(); n++ {
		line := strings.TrimLeft(strings.TrimPrefix(lines.Text(), "\ufeff"), " \t")
		if line == "" || line[0] == '#' {
			continue
		}
		key, value, given := strings.Cut(line, "=")
		if err := checkVarName(key, given); err != nil {
			return nil, fmt.Errorf("%s:%d: %w", name, n, err)
		}
		if !given {
			if value = app.Getenv(key); value == "" {
				return nil, fmt.Errorf("%s:%d: %s is not set here: export it, or write %s=VALUE", name, n, key, key)
			}
		}
		all = append(all, plan.EnvVar{Name: key, Value: value})
	}
	if err := lines.Err(); errors.Is(err, bufio.ErrTooLong) {
		return nil, fmt.Errorf("--env-file %s: a line is longer than 1 MiB", name)
	} else if err != nil {
		return nil, fmt.Errorf("--env-file %s: %w", name, err)
	}
	return all, nil
}

// checkVarName holds a variable to what every program can read. What may be a
// value is not repeated: one without a name before it, or all of a text that
// was not given as NAME=VALUE.
func checkVarName(name string, given bool) error {
	switch {
	case names.IsVariable(name):
		return nil
	case name == "":
		return errors.New("the name of the variable is empty: write NAME=VALUE, or NAME")
	case !given:
		return errors.New("a text without = is no name of a variable (it is not shown, for it may be a value): write NAME=VALUE, or NAME, of letters, digits and _, no digit first")
	}
	if _, exported := strings.CutPrefix(name, "export "); exported {
		return errors.New("leave the word export out: write NAME=VALUE")
	}
	return fmt.Errorf("%q is no name of a variable: letters, digits and _, no digit first", name)
}

// limitsOf converts a profile to what a plan is made from; its fields have
// their namesakes there.
func limitsOf(p *profiles.Profile) plan.Limits {
	l := plan.Limits{
		Memory: (*plan.Amount)(p.Memory), MemorySwap: p.MemorySwap, MemoryReservation: p.MemoryReservation,
		SignalBeforeKill: (*plan.SignalShares)(p.SignalBeforeKill), OOMScoreAdj: p.OOMScoreAdj,
		CPUs: (*plan.Amount)(p.CPUs), CPUSet: p.CPUSet, GPUs: (*plan.GPULimit)(p.GPUs),
		ShmSize: p.ShmSize, TmpDir: (*plan.TmpDir)(p.TmpDir), Pids: p.Pids, NoFile: p.NoFile,
		MemLock: p.MemLock, Stack: p.Stack, Core: p.Core, AddressSpace: p.AddressSpace,
		Threads: (*plan.Threads)(p.Threads), Home: p.Home, Network: p.Network, TimeLimit: p.TimeLimit, Strict: p.Strict,
	}
	for _, v := range p.Env {
		l.Env = append(l.Env, plan.EnvVar(v))
	}
	return l
}

// parsePorts reads [[IP:]HOST:]PORT[/PROTOCOL]. A port alone is published
// under its own number.
func parsePorts(publish []string) ([]plan.Port, error) {
	var ports []plan.Port
	var errs []error
	for _, text := range publish {
		p, err := parsePort(text)
		if err != nil {
			errs = append(errs, fmt.Errorf("-p %s: %w", text, err))
			continue
		}
		ports = append(ports, p)
	}
	return ports, errors.Join(errs...)
}

func parsePort(text string) (p plan.Port, err error) {
	rest, protocol, given := strings.Cut(text, "/")
	p = plan.Port{HostIP: "127.0.0.1", Protocol: "tcp"}
	if given {
		if p.Protocol = protocol; protocol != "tcp" && protocol != "udp" {
			return p, fmt.Errorf("protocol %q is not tcp or udp", protocol)
		}
	}
	host, container := rest, rest
	if i := strings.LastIndex(rest, ":"); i >= 0 {
		host, container = rest[:i], rest[i+1:]
		if i := strings.LastIndex(host, ":"); i >= 0 {
			ip := strings.Trim(host[:i], "[]")
			address, err := netip.ParseAddr(ip)
			if err != nil {
				return p, fmt.Errorf("%q is no IP address", ip)
			}
			p.HostIP, host = address.String(), host[i+1:]
		}
	}
	if p.Container, err = parsePortNumber(container, 1); err != nil {
		return p, err
	}
	p.Host, err = parsePortNumber(host, 0)
	return p, err
}

func parsePortNumber(text string, least int) (int, error) {
	n, err := strconv.Atoi(text)
	if err != nil || n < least || n > 65535 {
		return 0, fmt.Errorf("%q is no port: %d to 65535", text, least)
	}
	return n, nil
}

// account is the caller as the run is to know him.
func (app *App) account() plan.Account {
	a := plan.Account{UID: uint32(os.Getuid()), GID: uint32(os.Getgid()), Home: app.Getenv("HOME")}
	a.User = app.Getenv("USER")
	if u, err := user.LookupId(strconv.Itoa(os.Getuid())); err == nil {
		a.User = u.Username
		if a.Home == "" {
			a.Home = u.HomeDir
		}
	}
	if a.User == "" {
		a.User = "user"
	}
	groups := map[uint32]bool{}
	add := func(gid uint32) {
		if groups[gid] {
			return
		}
		groups[gid] = true
		name := fmt.Sprintf("group%d", gid)
		if g, err := user.LookupGroupId(strconv.FormatUint(uint64(gid), 10)); err == nil {
			name = g.Name
		}
		a.Groups = append(a.Groups, plan.Group{Name: name, GID: gid})
	}
	add(a.GID)
	others, _ := os.Getgroups()
	for _, gid := range others {
		add(uint32(gid))
	}
	return a
}

// umask is the caller's, or nil where the kernel does not tell.
func umask() *uint32 {
	data, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return nil
	}
	for line := range strings.Lines(string(data)) {
		if text, ok := strings.CutPrefix(line, "Umask:"); ok {
			if n, err := strconv.ParseUint(strings.TrimSpace(text), 8, 32); err == nil {
				mask := uint32(n)
				return &mask
			}
		}
	}
	return nil
}
