package build

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/moby/patternmatcher"
	"github.com/moby/patternmatcher/ignorefile"

	"crun.dev/crun/internal/boundedfile"
	"crun.dev/crun/internal/lazyregexp"
	"crun.dev/crun/internal/yamlfile"
)

const (
	// maxLocal bounds what one environment sends to a build, in bytes: code
	// has a few MB, wheels of CUDA extensions a hundred.
	maxLocal = 512 << 20
	// maxFiles bounds the files of one folder.
	maxFiles = 20000
)

// fileSet are contents by slash-separated names below a folder.
type fileSet map[string][]byte

func (s fileSet) size() int {
	size := 0
	for _, data := range s {
		size += len(data)
	}
	return size
}

// digest is "sha256:HEX" of names and contents.
func (s fileSet) digest() string {
	sum := sha256.New()
	var length [8]byte
	add := func(data []byte) {
		binary.BigEndian.PutUint64(length[:], uint64(len(data)))
		sum.Write(length[:])
		sum.Write(data)
	}
	for _, name := range slices.Sorted(maps.Keys(s)) {
		add([]byte(name))
		add(s[name])
	}
	return "sha256:" + hex.EncodeToString(sum.Sum(nil))
}

func (s fileSet) only(keep func(name string) bool) fileSet {
	some := fileSet{}
	for name, data := range s {
		if keep(name) {
			some[name] = data
		}
	}
	return some
}

var (
	packageArchive = lazyregexp.New(`\.(?:whl|zip|tar\.gz|tgz|tar\.bz2|tar\.xz)$`)
	// A folder's own word for where its modules lie: setuptools' package_dir
	// and where, poetry's from.
	packageRoot = lazyregexp.New(`(?s)package[-_]dir\s*=\s*(?:dict\()?\{?\s*["']{0,2}\s*[:=]\s*["']?([A-Za-z0-9_./-]+)|find\][^\[]*?where\s*=\s*\[?\s*["']?([A-Za-z0-9_./-]+)|include\s*=\s*["'][^"']*["']\s*,\s*from\s*=\s*["']([A-Za-z0-9_./-]+)`)
	// describes matches files that may say what a package is called and needs.
	describes = lazyregexp.New(`(?i)^(?:[^/]+/){0,3}(?:__init__|_?_?version_?_?|about)\.py$|^[^/]+\.(?:py|toml|cfg|txt|in|md|rst|ini)$|^(?:readme|license|version|authors|changelog|manifest)[^/]*$|^requirements?/[^/]+\.(?:txt|in)$`)
	deciding  = lazyregexp.New(`(?i)^(?:setup\.py|setup\.cfg|pyproject\.toml|[^/]*requirements?[^/]*\.(?:txt|in)|requirements?/[^/]+\.(?:txt|in))$`)
	// neverSent is what tools leave in a folder, and what a build of a package
	// would take for its own.
	neverSent   = lazyregexp.New(`^(?:\.git|\.hg|\.svn|__pycache__|\.tox|\.nox|\.venv|\.mypy_cache|\.pytest_cache|\.ruff_cache|\.ipynb_checkpoints|\.eggs|\.idea|\.vscode|\.DS_Store|\.dockerignore|node_modules|[^/]*\.egg-info|[^/]*\.py[co])$`)
	builtBefore = lazyregexp.New(`(?:^|/)build/(?:lib|bdist|temp)[^/]*$`)
)

// decides tells whether a file may say what a package needs: an edit of one
// has the packages chosen anew.
func decides(name string) bool { return deciding.MatchString(name) }

func isProjectFile(name string) bool {
	return name == "pyproject.toml" || name == "setup.py" || name == "setup.cfg"
}

func isFolder(place string) (bool, error) {
	info, err := os.Stat(place)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return false, fmt.Errorf("names %s, which does not exist; add it, or take the line out", place)
	case err != nil:
		return false, fmt.Errorf("cannot be read: %w", err)
	case !info.IsDir() && !info.Mode().IsRegular():
		return false, errors.New("is neither a file nor a folder")
	}
	return info.IsDir(), nil
}

func readOne(place string) (fileSet, error) {
	info, err := os.Stat(place)
	if err == nil && info.Size() > maxLocal {
		return nil, fmt.Errorf("has %d MiB; at most %d are sent to a build: publish it on an index", info.Size()>>20, maxLocal>>20)
	}
	data, err := boundedfile.Read(place, maxLocal)
	if err != nil {
		return nil, fmt.Errorf("cannot be read: %w", err)
	}
	return fileSet{filepath.Base(place): data}, nil
}

// readArchives reads the wheels and source archives that lie in a folder.
func readArchives(place string) (fileSet, error) {
	entries, err := os.ReadDir(place)
	if err != nil {
		return nil, fmt.Errorf("cannot be read: %w", err)
	}
	all := fileSet{}
	for _, entry := range entries {
		file := filepath.Join(place, entry.Name())
		if info, err := os.Stat(file); err != nil || !info.Mode().IsRegular() || !packageArchive.MatchString(entry.Name()) {
			continue
		}
		one, err := readOne(file)
		if err != nil {
			return nil, fmt.Errorf("holds %s, which %w", entry.Name(), err)
		}
		if maps.Copy(all, one); all.size() > maxLocal {
			return nil, fmt.Errorf("holds more than %d MiB, which are not sent to a build: publish them on an index", maxLocal>>20)
		}
	}
	if len(all) == 0 {
		return nil, errors.New("holds no wheel and no source archive")
	}
	return all, nil
}

// ignore tells by .dockerignore what of a folder is not sent.
type ignore struct {
	tests []func(name string) (bool, error)
	// exceptions tells whether a file of an ignored folder may be sent.
	exceptions bool
}

// ignoredIn reads the .dockerignore of the project's folder, where place lies
// below it, and place's own.
func ignoredIn(project, place string) (ignore, error) {
	var all ignore
	for _, root := range slices.Compact([]string{project, place}) {
		inner, err := filepath.Rel(root, place)
		if err != nil || !inProject(filepath.ToSlash(inner)) {
			continue
		}
		file := filepath.Join(root, ".dockerignore")
		data, err := boundedfile.Read(file, yamlfile.MaxSize)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		var patterns []string
		if err == nil {
			patterns, err = ignorefile.ReadAll(bytes.NewReader(data))
		}
		var matcher *patternmatcher.PatternMatcher
		if err == nil {
			matcher, err = patternmatcher.New(patterns)
		}
		if err != nil {
			return all, fmt.Errorf("cannot be sent to a build: %s: %w", file, err)
		}
		all.exceptions = all.exceptions || matcher.Exclusions()
		all.tests = append(all.tests, func(name string) (bool, error) {
			return matcher.MatchesOrParentMatches(path.Join(filepath.ToSlash(inner), name))
		})
	}
	return all, nil
}

func (i ignore) has(name string) bool {
	return slices.ContainsFunc(i.tests, func(test func(string) (bool, error)) bool {
		matches, err := test(name)
		return err == nil && matches
	})
}

// readTree reads the files of a folder: all, or those that describe a package.
// A link counts as the file that it names, where that lies in the folder;
// others are left out, for they would lead nowhere in a build.
func readTree(place string, ignored ignore, describing bool) (fileSet, error) {
	all := fileSet{}
	size := 0
	root, err := filepath.EvalSymlinks(place)
	if err != nil {
		return nil, fmt.Errorf("cannot be read: %w", err)
	}
	largest, most := "", int64(0)
	err = filepath.WalkDir(root, func(file string, entry fs.DirEntry, err error) error {
		if err != nil || file == root {
			return err
		}
		inner, err := filepath.Rel(root, file)
		if err != nil {
			return err
		}
		name := filepath.ToSlash(inner)
		switch {
		case neverSent.MatchString(entry.Name()), builtBefore.MatchString(name), entry.IsDir() && isVenv(file):
			return skip(entry)
		case entry.IsDir():
			if ignored.has(name) && !ignored.exceptions || describing && !mayDescribe(file) {
				return fs.SkipDir
			}
			return nil
		case ignored.has(name), describing && !describes.MatchString(name):
			return nil
		}
		if !utf8.ValidString(name) {
			return fmt.Errorf("holds a file whose name is not UTF-8 (%q): rename it, or name it in .dockerignore", name)
		}
		if entry.Type()&fs.ModeSymlink != 0 {
			target, err := filepath.EvalSymlinks(file)
			if err != nil || !strings.HasPrefix(target, root+string(filepath.Separator)) {
				return nil
			}
			file = target
		}
		info, err := os.Stat(file)
		if err != nil || !info.Mode().IsRegular() {
			return err
		}
		if info.Size() > most {
			largest, most = name, info.Size()
		}
		if size += int(info.Size()); size > maxLocal || len(all) >= maxFiles {
			return fmt.Errorf("is too large to be sent to a build (more than %d MiB or %d files; %s alone has %d MiB): write what the package does not need into .dockerignore", maxLocal>>20, maxFiles, largest, most>>20)
		}
		all[name], err = boundedfile.Read(file, maxLocal)
		return err
	})
	if err != nil {
		var pathErr *fs.PathError
		if errors.As(err, &pathErr) {
			err = fmt.Errorf("cannot be read: %w", err)
		}
		return nil, err
	}
	return all, nil
}

// mayDescribe tells whether a folder may hold files that describe a package: it
// is one itself or holds such. Data sets are not looked through.
func mayDescribe(folder string) bool {
	switch filepath.Base(folder) {
	case "src", "lib", "python", "requirements", "requirement":
		return true
	}
	_, err := os.Stat(filepath.Join(folder, "__init__.py"))
	return err == nil
}

func skip(entry fs.DirEntry) error {
	if entry.IsDir() {
		return fs.SkipDir
	}
	return nil
}

// isVenv tells whether a folder is a virtual environment or a conda one.
func isVenv(folder string) bool {
	for _, name := range []string{"pyvenv.cfg", "conda-meta"} {
		if _, err := os.Lstat(filepath.Join(folder, name)); err == nil {
			return true
		}
	}
	return false
}
