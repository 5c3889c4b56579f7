// Package bundle writes a run as an OCI bundle: config.json and the image's
// files, which an OCI runtime such as runc starts without an engine.
package bundle

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"crun.dev/crun/internal/untar"
	"crun.dev/crun/run/plan"
)

// What a bundle's folder holds.
const (
	ConfigFile = "config.json" // fixed by the runtime specification
	RootFolder = "rootfs"      // the image's files, with crun-init among them
	TmpFolder  = "tmp"         // stands in for a tmpdir of kind disk
)

// Check refuses what a runtime alone cannot give, before anything is made.
func Check(p *plan.Plan) error {
	var errs []error
	if p.GPUs != nil {
		errs = append(errs, errors.New("a bundle has no GPUs: an engine adds their devices and libraries when it starts a run; leave them out (--gpus none)"))
	}
	if len(p.Ports) > 0 {
		errs = append(errs, errors.New("a bundle publishes no ports: an engine's network does; leave out -p"))
	}
	if os.Getuid() != 0 {
		errs = append(errs, errors.New("a bundle is root's to write, since the files of an image are several users': call crun as root"))
	}
	return errors.Join(errs...)
}

// Warnings are what a bundle does otherwise than a run by an engine.
func Warnings(p *plan.Plan) []string {
	var all []string
	if p.Network == plan.NetworkDefault {
		all = append(all, "a runtime alone makes no network: the bundle shares the host's (--network none gives it none)")
	}
	if len(p.SecretEnv) > 0 {
		all = append(all, fmt.Sprintf("the bundle has no value of %s, which must not lie on a disk: write them into process.env of %s when you start it", strings.Join(p.SecretEnv, ", "), ConfigFile))
	}
	return all
}

// Empty tells whether a bundle may be written to dir: it is not there, or is an
// empty folder. Its error continues a sentence that begins with the folder.
func Empty(dir string) error {
	const remedy = "a bundle is written over nothing: name a new folder"
	entries, err := os.ReadDir(dir)
	var path *fs.PathError
	switch {
	case errors.Is(err, os.ErrNotExist):
		return nil
	case err != nil:
		if info, statErr := os.Stat(dir); statErr == nil && !info.IsDir() {
			return errors.New(" is a file: " + remedy)
		}
		if errors.As(err, &path) {
			err = path.Err
		}
		return fmt.Errorf(": %w: name a new folder that you may write to", err)
	case len(entries) > 0:
		return errors.New(" is not empty, and " + remedy)
	}
	return nil
}

// Write writes the bundle of p to dir, an absolute path, from the image's files
// in a tar. All of it is there, or nothing is.
func Write(dir string, p *plan.Plan, cgroups int, files io.Reader) (err error) {
	if err := Empty(dir); err != nil {
		return fmt.Errorf("%s%w", dir, err)
	}
	if at, err := filepath.EvalSymlinks(dir); err == nil {
		dir = at // a link to an empty folder stays one
	}
	spec, err := Spec(p, dir, cgroups)
	if err != nil {
		return err
	}
	config, err := json.MarshalIndent(spec, "", "  ")
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil {
		return err
	}
	temp, err := os.MkdirTemp(filepath.Dir(dir), "."+filepath.Base(dir)+"-*")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.RemoveAll(temp))
		}
	}()
	root := filepath.Join(temp, RootFolder)
	if err := os.Mkdir(root, 0o755); err != nil {
		return err
	}
	if err := unpack(root, files); err != nil {
		return fmt.Errorf("unpacking the image's files: %w", err)
	}
	if p.ScratchSize > 0 {
		tmp := filepath.Join(temp, TmpFolder)
		if err := os.Mkdir(tmp, 0o700); err != nil {
			return err
		}
		if err := os.Chmod(tmp, 0o777|os.ModeSticky); err != nil {
			return err
		}
	}
	if err := os.WriteFile(filepath.Join(temp, ConfigFile), append(config, '\n'), 0o644); err != nil {
		return err
	}
	// Others must not reach what the image has of set-uid programs.
	if err := os.Chmod(temp, 0o700); err != nil {
		return err
	}
	if err := os.Remove(dir); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return os.Rename(temp, dir)
}

// unpack unpacks the files of an image below folder. Devices are left out: a
// runtime makes its own.
func unpack(folder string, archive io.Reader) error {
	root, err := os.OpenRoot(folder)
	if err != nil {
		return err
	}
	defer root.Close()
	if err := untar.Files(root, archive); err != nil {
		return err
	}
	// It tells programs that they are in Docker.
	if err := root.Remove(".dockerenv"); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}
