package build

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"crun.dev/crun/build/environment"
	"crun.dev/crun/build/lock"
	"crun.dev/crun/internal/boundedfile"
	"crun.dev/crun/internal/yamlfile"
)

// Options are what decides about an image beside its environment file.
type Options struct {
	// Base is the image to start from; ToolboxBase a Debian that has Python
	// 3.10 or newer in its packages. Both are names without a digest or with one.
	Base, ToolboxBase string
	// Python is the version to use where the file names none ("3.9"), or "".
	Python string
	// ProjectExtras and Groups are lists of a pyproject.toml that are wanted
	// beside its dependencies.
	ProjectExtras, Groups []string
	// Platform is linux-64 or linux-aarch64.
	Platform string
	// Miniconda puts conda itself into /opt/conda.
	Miniconda bool
	// CacheDomain tells apart the download caches of users who do not trust
	// one another; "" is the one of all. It is no part of the request.
	CacheDomain string
	// CheckMode is how much is tried before an image gets its name; "" is
	// CheckFull. It is no part of the request.
	CheckMode CheckMode
	// HostCUDA is the version that the driver of the engine's host is made for
	// ("12.4"), or "" where nobody knows. It counts where CUDA is auto.
	HostCUDA string
	Extras
}

// Extras are what a repository says that its image needs beyond the
// environment file: the section build of its profiles.yaml.
type Extras struct {
	// Apt are Debian packages, each NAME or NAME=VERSION; AptPlace is where
	// they are asked for: "profiles.yaml:3:8".
	Apt      []string
	AptPlace string
	// Compiler says whether the image gets a C compiler; nil means where the
	// environment's torch needs one.
	Compiler *bool
	// CUDA is a version ("12.4"), none, auto, or "".
	CUDA string
	// Check are modules without which the image is no good.
	Check []string
}

// DefaultBase is the image that builds start from where nobody says otherwise.
const DefaultBase = "debian:bookworm-slim"

// Project is an environment file with its lock and all that decides about its
// image.
type Project struct {
	// File is the environment file as it was named, LockFile its lock, or "".
	File, LockFile string
	Environment    *environment.Environment
	Findings       []environment.Finding
	Options        Options
	Request        lock.Request
	// Lock is what LockFile holds for the platform, nil where there is none
	// that can be read; LockError says why, where there is one that cannot.
	Lock      *lock.Lock
	LockError error
	// otherPlatforms are those that LockFile has packages for as well.
	otherPlatforms []string
	// folder is File's, absolute; local is what lies on this machine.
	folder string
	local  []local
	// given are the packages of a file that is a lock already, or nil.
	given *lock.Lock
}

// FindFile gives the environment file that path names: itself, or the one in
// the folder path; "-" is environment.Stdin. The error is an fs.ErrNotExist where there is none; for a
// folder it lists what was looked for.
func FindFile(path string) (string, error) {
	if path == "-" {
		return environment.Stdin, nil
	}
	info, err := os.Stat(path)
	if err != nil {
		return "", unreadable(path, err)
	}
	if info.IsDir() {
		return environment.Find(path)
	}
	return path, nil
}

// unreadable says which file cannot be read and why.
func unreadable(path string, err error) error {
	var pathErr *fs.PathError
	if errors.As(err, &pathErr) {
		err = pathErr.Err
	}
	if errors.Is(err, fs.ErrNotExist) {
		err = fmt.Errorf("there is no such file; name an environment file, or a folder that holds one (%s)%w",
			strings.Join(slices.Concat(environment.Names, environment.OtherNames), ", "), silent{err})
	}
	return fmt.Errorf("%s: %w", path, err)
}

// silent is an error that is known and not shown.
type silent struct{ error }

func (s silent) Error() string { return "" }
func (s silent) Unwrap() error { return s.error }

// LockFile is the lock of an environment file; "" for Stdin and what else is no
// file that a lock could lie beside: /dev/stdin, a shell's <(command).
func LockFile(file string) string {
	if file == environment.Stdin || strings.HasPrefix(file, "/dev/") || strings.HasPrefix(file, "/proc/") {
		return ""
	}
	return filepath.Join(filepath.Dir(file), lockName(file))
}

// lockName is what the lock of an environment file is called: crun.lock for
// the one that its folder is known by, and NAME.crun.lock for another, so that
// two files of one folder do not share a lock.
func lockName(file string) string {
	name := filepath.Base(file)
	if first, err := environment.Find(filepath.Dir(file)); err == nil && filepath.Base(first) == name {
		return "crun.lock"
	}
	return strings.TrimSuffix(name, filepath.Ext(name)) + ".crun.lock"
}

// Open reads the environment file and its lock. The error joins every mistake
// of the environment file, each with its place. An unreadable lock is no error.
func Open(file string, options Options) (*Project, error) {
	text, err := readEnvironment(file)
	if err != nil {
		return nil, err
	}
	if len(text) > yamlfile.MaxSize && isCondaLock(text) {
		// A program wrote it, for several platforms.
		if text, err = readLockFile(file); err != nil {
			return nil, unreadable(file, err)
		}
	}
	return OpenText(text, file, options)
}

// OpenText is Open for a text that messages call file. That of
// environment.Stdin has no lock: there is no file to keep one beside.
func OpenText(text []byte, file string, options Options) (*Project, error) {
	folder, err := filepath.Abs(filepath.Dir(file))
	if err != nil {
		return nil, err
	}
	env, findings, given, err := parse(text, file, filepath.Base(folder), options)
	if err != nil {
		return nil, err
	}
	if unsupported := env.Unsupported(); len(unsupported) > 0 {
		return nil, errors.Join(unsupported...)
	}
	locals, notes, err := readLocals(env, folder)
	if err != nil {
		return nil, err
	}
	findings = append(findings, notes...)
	if err := checkPython(env, options.Python); err != nil {
		return nil, err
	}
	p := &Project{
		File: file, LockFile: LockFile(file),
		Environment: env, Findings: findings, Options: options, folder: folder, local: locals, given: given,
	}
	p.Request = lock.Request{
		Environment: json.RawMessage(env.Canonical()), Base: options.Base, Python: options.Python,
		Platform: options.Platform, Apt: options.Apt, Compiler: word3(options.Compiler),
		Miniconda: options.Miniconda, LayoutVersion: LayoutVersion, Local: p.lockedLocals(),
	}
	if len(env.Channels) == 0 {
		p.Request.Channels = channelsOf(env)
	}
	p.readLock()
	if err := p.checkTargetOfFile(); err != nil {
		return nil, err
	}
	return p, nil
}

// parse reads an environment of any kind; given are the packages of a file that
// is a lock itself, or nil.
func parse(text []byte, file, folderName string, options Options) (env *environment.Environment, findings []environment.Finding, given *lock.Lock, err error) {
	if isCondaLock(text) {
		if err := options.noExtras(file); err != nil {
			return nil, nil, nil, err
		}
		env, given, err = openCondaLock(text, file, folderName, options)
		return env, nil, given, err
	}
	env, findings, err = environment.Parse(text, environment.Options{
		File: file, FolderName: folderName, Python: options.Python, Platform: options.Platform,
		ProjectExtras: options.ProjectExtras, Groups: options.Groups,
		Apt: options.Apt, ReadFile: readRequirements, Exists: exists,
	})
	if env != nil {
		takeFileChannels(env)
	}
	return env, findings, nil, err
}

// noExtras refuses --extra and --group for a lock of another tool.
func (o Options) noExtras(file string) error {
	if len(o.ProjectExtras)+len(o.Groups) > 0 {
		return fmt.Errorf("%s: its packages are chosen already: --extra and --group are for a pyproject.toml", file)
	}
	return nil
}

// word3 is a choice that may be left open, as a request has it.
func word3(choice *bool) string {
	if choice == nil {
		return ""
	}
	return strconv.FormatBool(*choice)
}

// readRequirements reads a file that the environment names: no more of it than
// a hand-written one has, and nothing that could be endless.
func readRequirements(path string) ([]byte, error) {
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return nil, err
	case info.IsDir():
		return nil, errors.New("is a folder")
	case !info.Mode().IsRegular():
		return nil, errors.New("is no file")
	}
	return readEnvironment(path)
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// readEnvironment reads no more of the file than a hand-written one has.
func readEnvironment(file string) ([]byte, error) {
	data, err := yamlfile.Read(file)
	if err != nil {
		return nil, unreadable(file, err)
	}
	return data, nil
}

// checkPython refuses a --python that the file contradicts.
func checkPython(env *environment.Environment, python string) error {
	spec, ok := env.Python()
	if !ok || python == "" {
		return nil
	}
	asked, _, _ := strings.Cut(strings.TrimLeft(spec.Version, "="), ",")
	if asked == "" || asked == python || strings.HasPrefix(asked, python+".") || strings.HasPrefix(python, asked+".") {
		return nil
	}
	return yamlfile.Errorf(spec.Pos, "the file asks for %s, the command line for --python %s: leave --python out, or change the file", spec, python)
}

// readLock reads the lock, if there is one.
func (p *Project) readLock() {
	p.Lock, p.LockError, p.otherPlatforms = nil, nil, nil
	defer p.settleCUDA()
	if p.LockFile == "" {
		return
	}
	locks, err := ReadLocks(p.LockFile)
	if errors.Is(err, fs.ErrNotExist) {
		return
	}
	p.Lock, p.LockError = lock.Of(locks, p.Options.Platform), err
	p.otherPlatforms = slices.DeleteFunc(lock.PlatformsOf(locks), func(name string) bool { return name == p.Options.Platform })
}

// readLockFile reads a lock of bounded size; a pipe would never end.
func readLockFile(path string) ([]byte, error) {
	data, err := boundedfile.Read(path, lock.MaxSize)
	if err != nil && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, fs.ErrPermission) {
		return nil, fmt.Errorf("%w: move it away", unreadable(path, err))
	}
	return data, err
}

// Tag is the name that an image of this project gets: crun/NAME:LOCK12.
func (p *Project) Tag(digest string) string {
	return "crun/" + p.Environment.ImageName() + ":" + strings.TrimPrefix(digest, "sha256:")[:12]
}
