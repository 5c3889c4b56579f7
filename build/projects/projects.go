// Package projects remembers, in the caller's state folder, from which locks
// images were built or taken on this machine, so that nothing is removed which
// somebody here still works with. The engine knows no project.
package projects

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"crun.dev/crun/build/lock"
	"crun.dev/crun/internal/atomicfile"
	"crun.dev/crun/internal/boundedfile"
)

// Project is a lock file with the images that were made of it.
type Project struct {
	// LockFile is its absolute path.
	LockFile string `json:"lock_file"`
	// Images has when each image was last built or taken, in UTC, by the
	// digest of its lock ("sha256:HEX").
	Images map[string]time.Time `json:"images"`
}

// resolution is how exactly times of use are kept: a run need not write.
const resolution = 24 * time.Hour

// maxNote bounds what is remembered of one lock file, in bytes: kept images are
// some 10 KB.
const maxNote = 1 << 20

// kept is how many images of one lock file are remembered.
const kept = 100

// Note remembers in dir, which is made, that the image of the lock digest was
// used from lockFile at now.
func Note(dir, lockFile, digest string, now time.Time) error {
	lockFile, err := filepath.Abs(lockFile)
	if err != nil {
		return fmt.Errorf("remembering a project: %w", err)
	}
	path := filepath.Join(dir, name(lockFile))
	p, err := read(path)
	if err != nil || p.LockFile != lockFile {
		p = Project{LockFile: lockFile} // none yet, or one that nobody can read
	}
	if used, ok := p.Images[digest]; ok && now.Sub(used) < resolution && now.After(used) {
		return nil
	}
	if p.Images == nil {
		p.Images = map[string]time.Time{}
	}
	p.Images[digest] = now.UTC().Truncate(time.Second)
	for len(p.Images) > kept {
		oldest := slices.MinFunc(slices.Collect(maps.Keys(p.Images)), func(a, b string) int { return p.Images[a].Compare(p.Images[b]) })
		delete(p.Images, oldest)
	}
	data, err := json.MarshalIndent(p, "", "  ")
	if err != nil {
		return fmt.Errorf("remembering a project: %w", err)
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("remembering a project: %w", err)
	}
	if err := atomicfile.Replace(path, append(data, '\n'), 0o600); err != nil {
		return fmt.Errorf("remembering a project: %w", err)
	}
	return nil
}

// name is what the file of a lock file's project is called.
func name(lockFile string) string {
	sum := sha256.Sum256([]byte(lockFile))
	return hex.EncodeToString(sum[:12]) + ".json"
}

func read(path string) (Project, error) {
	var p Project
	data, err := boundedfile.Read(path, maxNote)
	if err == nil {
		err = json.Unmarshal(data, &p)
	}
	return p, err
}

// List gives what dir remembers, by the lock files' paths. What cannot be read
// is in the error; the rest is given all the same.
func List(dir string) ([]Project, error) {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	} else if err != nil {
		return nil, fmt.Errorf("listing the projects: %w", err)
	}
	var all []Project
	var errs []error
	for _, entry := range entries {
		if !strings.HasSuffix(entry.Name(), ".json") {
			continue
		}
		p, err := read(filepath.Join(dir, entry.Name()))
		if err != nil {
			errs = append(errs, fmt.Errorf("reading which images a project uses: %w", err))
			continue
		}
		all = append(all, p)
	}
	slices.SortFunc(all, func(a, b Project) int { return strings.Compare(a.LockFile, b.LockFile) })
	return all, errors.Join(errs...)
}

// Locked are the digests of the locks that the project has now, of each
// platform one. A file that is there and cannot be read is an error: nobody
// knows what it holds. There are none where the file is gone.
func (p Project) Locked() ([]string, error) {
	data, err := boundedfile.Read(p.LockFile, lock.MaxSize)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	} else if err != nil {
		return nil, err
	}
	locks, err := lock.ParseFile(data, p.LockFile)
	var digests []string
	for _, l := range locks {
		digests = append(digests, l.Digest())
	}
	return digests, err
}

// Forget drops what dir remembers of p.
func Forget(dir string, p Project) error {
	return os.Remove(filepath.Join(dir, name(p.LockFile)))
}
