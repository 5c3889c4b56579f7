package build

import (
	"context"
	"errors"
	"fmt"

	"crun.dev/crun/build/buildkit"
	"crun.dev/crun/build/lock"
	"crun.dev/crun/dockerfiles"
)

// ReadLocks reads a crun.lock, one lock or more, each of another platform. The
// error is an fs.ErrNotExist where there is none.
func ReadLocks(file string) ([]*lock.Lock, error) {
	data, err := readLockFile(file)
	if err != nil {
		return nil, err
	}
	return lock.ParseFile(data, file)
}

// FileReader reads files of images. *buildkit.Engine is one.
type FileReader interface {
	Image(ctx context.Context, ref string) (buildkit.Image, error)
	// ReadFile gives a file of an image, of at most limit bytes.
	ReadFile(ctx context.Context, ref, path string, limit int64) ([]byte, error)
}

// ErrNotOurs says that an image was not made by crun.
var ErrNotOurs = errors.New("is no image of crun build")

// ImageLock gives the lock that an image was built from: buildkit.ErrNoImage
// where the engine has no such image, ErrNotOurs where crun did not make it.
func ImageLock(ctx context.Context, images FileReader, ref string) (*lock.Lock, error) {
	image, err := images.Image(ctx, ref)
	if err != nil {
		return nil, err
	}
	digest := image.Labels[LabelLock]
	if digest == "" {
		return nil, fmt.Errorf("%s %w", ref, ErrNotOurs)
	}
	data, err := images.ReadFile(ctx, image.ID, "/"+dockerfiles.LockFile, lock.MaxSize)
	if err != nil {
		return nil, fmt.Errorf("the image %s has no lock in it (%w): build it again", ref, err)
	}
	l, err := lock.Parse(data, ref+":/"+dockerfiles.LockFile)
	if err == nil && l.Digest() != digest {
		err = fmt.Errorf("%s: its /%s is not the lock that it is labelled with: build it again", ref, dockerfiles.LockFile)
	}
	return l, err
}

// Export writes l in another tool's form, with public addresses.
func Export(l *lock.Lock, format string) (lock.Exported, error) {
	return l.Export(format, func(name string) string {
		if name == pypi {
			return ""
		}
		return channelURL(name)
	})
}
