package build

import (
	"os"
	"path/filepath"

	"crun.dev/crun/build/condaprefix"
	"crun.dev/crun/build/environment"
)

// Lint reads an environment file as Open does and gives all that there is to
// say about it. It needs no engine. Of options, Python, ProjectExtras, Groups, Platform, Apt, CUDA
// and HostCUDA count. The error is that of a file which cannot be read; its mistakes are findings.
func Lint(file string, options Options) ([]environment.Finding, error) {
	text, err := readEnvironment(file)
	if err != nil {
		return nil, err
	}
	return LintText(text, file, options)
}

// LintText is Lint for a text that messages call file.
func LintText(text []byte, file string, options Options) ([]environment.Finding, error) {
	if isCondaLock(text) {
		// Its packages are exact: all that can be said is that it is one.
		if err := options.noExtras(file); err != nil {
			return nil, err
		}
		_, _, err := openCondaLock(text, file, "", options)
		return nil, err
	}
	opts, err := readOptions(file, options)
	if err != nil {
		return nil, err
	}
	findings, err := environment.Lint(text, opts)
	if err != nil {
		return nil, err
	}
	return environment.Sorted(file, append(findings, lintTarget(text, opts, options)...)), nil
}

// FixText makes the safe fixes of a text that messages call file. It writes
// nothing.
func FixText(text []byte, file string, options Options) (*environment.Fixed, error) {
	opts, err := readOptions(file, options)
	if err != nil {
		return nil, err
	}
	return environment.FixAll(text, opts)
}

// ReadEnvironment gives the content of an environment file, or as much of it as
// is refused for its length.
func ReadEnvironment(file string) ([]byte, error) { return readEnvironment(file) }

// readOptions are how an environment file is read.
func readOptions(file string, options Options) (environment.Options, error) {
	folder, err := filepath.Abs(filepath.Dir(file))
	return environment.Options{
		File: file, FolderName: filepath.Base(folder), Python: options.Python, Platform: options.Platform,
		ProjectExtras: options.ProjectExtras, Groups: options.Groups, Apt: options.Apt,
		ReadFile: readRequirements, Exists: exists, Installed: installed,
	}, err
}

// installed reads a conda prefix of this machine for environment.Options.
func installed(prefix string) func(name string) (version string, requires []string, ok bool) {
	if !filepath.IsAbs(prefix) {
		return nil
	}
	there, err := condaprefix.ReadPackages(os.DirFS(prefix))
	if err != nil {
		return nil
	}
	return func(name string) (string, []string, bool) {
		pkg, ok := there.Package(name)
		return pkg.Version, pkg.Depends, ok
	}
}
