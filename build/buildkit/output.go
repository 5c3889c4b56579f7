package buildkit

import (
	"archive/tar"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/docker/docker/api/types/container"
	specs "github.com/opencontainers/image-spec/specs-go"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"crun.dev/crun/internal/untar"
)

// OutputTypes are the forms in which an image can be written: docker and oci
// are archives of the image, tar and local its files, as an archive or a folder.
var OutputTypes = []string{"docker", "oci", "tar", "local"}

// WriteImage writes the image called name to w, in one of OutputTypes but local.
// The engine has the image, so it is the same whichever BuildKit made it.
func (e *Engine) WriteImage(ctx context.Context, name, form string, w io.Writer) error {
	switch form {
	case "docker":
		archive, err := e.client.ImageSave(ctx, []string{name})
		if err != nil {
			return e.failure(ctx, "reading the image "+name, err)
		}
		defer archive.Close()
		_, err = io.Copy(w, archive)
		return err
	case "oci":
		return e.writeOCI(ctx, name, w)
	case "tar":
		return e.files(ctx, name, func(archive io.Reader) error {
			_, err := io.Copy(w, archive)
			return err
		})
	}
	return fmt.Errorf("an image cannot be written as %q; allowed are %s", form, strings.Join(OutputTypes, ", "))
}

// writeOCI writes an OCI layout as a tar.
func (e *Engine) writeOCI(ctx context.Context, name string, w io.Writer) error {
	folder, manifest, err := e.export(ctx, name)
	if folder != "" {
		defer os.RemoveAll(folder)
	}
	if err != nil {
		return err
	}
	info, err := os.Stat(filepath.Join(folder, "blobs", "sha256", manifest.Encoded()))
	if err != nil {
		return err
	}
	index, err := json.Marshal(ocispec.Index{
		Versioned: specs.Versioned{SchemaVersion: 2}, MediaType: ocispec.MediaTypeImageIndex,
		Manifests: []ocispec.Descriptor{{
			MediaType: ocispec.MediaTypeImageManifest, Digest: manifest, Size: info.Size(),
			Annotations: map[string]string{ocispec.AnnotationRefName: name},
		}},
	})
	if err != nil {
		return err
	}
	layout, err := json.Marshal(ocispec.ImageLayout{Version: ocispec.ImageLayoutVersion})
	if err != nil {
		return err
	}
	archive := tar.NewWriter(w)
	for _, file := range []struct {
		name string
		data []byte
	}{{ocispec.ImageLayoutFile, layout}, {ocispec.ImageIndexFile, index}} {
		if err := archive.WriteHeader(&tar.Header{Name: file.name, Mode: 0o644, Size: int64(len(file.data))}); err != nil {
			return err
		}
		if _, err := archive.Write(file.data); err != nil {
			return err
		}
	}
	if err := addBlobs(archive, folder, manifest.Encoded()); err != nil {
		return err
	}
	return archive.Close()
}

// addBlobs adds the blobs that a manifest names, and itself.
func addBlobs(archive *tar.Writer, folder, manifest string) error {
	blobs := filepath.Join(folder, "blobs", "sha256")
	data, err := os.ReadFile(filepath.Join(blobs, manifest))
	if err != nil {
		return err
	}
	var m ocispec.Manifest
	if err := json.Unmarshal(data, &m); err != nil {
		return err
	}
	names := []string{manifest, m.Config.Digest.Encoded()}
	for _, layer := range m.Layers {
		names = append(names, layer.Digest.Encoded())
	}
	done := map[string]bool{}
	for _, name := range names {
		if done[name] { // a layer may come twice
			continue
		}
		done[name] = true
		f, err := os.Open(filepath.Join(blobs, name))
		if err != nil {
			return err
		}
		info, err := f.Stat()
		if err == nil {
			err = archive.WriteHeader(&tar.Header{Name: path.Join("blobs", "sha256", name), Mode: 0o644, Size: info.Size()})
		}
		if err == nil {
			_, err = io.Copy(archive, f)
		}
		_ = f.Close()
		if err != nil {
			return err
		}
	}
	return nil
}

// files gives take the image's files as a tar, through a container that is never
// started.
func (e *Engine) files(ctx context.Context, name string, take func(io.Reader) error) (err error) {
	made, err := e.client.ContainerCreate(ctx, &container.Config{Image: name, Cmd: []string{"true"}}, nil, nil, nil, "")
	if err != nil {
		return e.failure(ctx, "reading the files of "+name, err)
	}
	defer func() {
		removeErr := e.client.ContainerRemove(context.WithoutCancel(ctx), made.ID, container.RemoveOptions{Force: true})
		if err == nil && removeErr != nil {
			err = e.failure(ctx, "removing the container that the files were read from", removeErr)
		}
	}()
	archive, err := e.client.ContainerExport(ctx, made.ID)
	if err != nil {
		return e.failure(ctx, "reading the files of "+name, err)
	}
	defer archive.Close()
	return take(archive)
}

// WriteFiles writes the image's files into the folder dest, which is made and
// must not hold anything. Owners are kept for root alone, and devices by nobody.
// An error leaves the folder empty.
func (e *Engine) WriteFiles(ctx context.Context, name, dest string) error {
	return fillFolder(dest, func(root *os.Root) error {
		return e.files(ctx, name, func(archive io.Reader) error { return untar.Files(root, archive) })
	})
}

// fillFolder gives fill an empty folder at dest, and empties it where fill fails.
func fillFolder(dest string, fill func(*os.Root) error) error {
	if err := os.MkdirAll(dest, 0o755); err != nil {
		return err
	}
	if entries, err := os.ReadDir(dest); err != nil {
		return err
	} else if len(entries) > 0 {
		return fmt.Errorf("the folder %s is not empty: name another one, or empty it", dest)
	}
	root, err := os.OpenRoot(dest)
	if err != nil {
		return err
	}
	defer root.Close()
	if err := fill(root); err != nil {
		entries, readErr := fs.ReadDir(root.FS(), ".")
		errs := []error{err, readErr}
		for _, entry := range entries {
			errs = append(errs, root.RemoveAll(entry.Name()))
		}
		return errors.Join(errs...)
	}
	return nil
}
