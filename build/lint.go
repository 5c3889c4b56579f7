package build

import (
	"path/filepath"

	"crun.dev/crun/build/environment"
)

// Lint reads an environment file as Open does and gives all that there is to
// say about it. It needs no engine. Of options, Python and Platform count. The
// error is that of a file which cannot be read; its mistakes are findings.
func Lint(file string, options Options) ([]environment.Finding, error) {
	text, err := readEnvironment(file)
	if err != nil {
		return nil, err
	}
	return LintText(text, file, options)
}

// LintText is Lint for a text that messages call file.
func LintText(text []byte, file string, options Options) ([]environment.Finding, error) {
	folder, err := filepath.Abs(filepath.Dir(file))
	if err != nil {
		return nil, err
	}
	return environment.Lint(text, environment.Options{
		File: file, FolderName: filepath.Base(folder), Python: options.Python, Platform: options.Platform,
	})
}
