package buildkit

import (
	"archive/tar"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/containerd/containerd/v2/core/content"
	"github.com/containerd/containerd/v2/plugins/content/local"
	"github.com/distribution/reference"
	digest "github.com/opencontainers/go-digest"
	specs "github.com/opencontainers/image-spec/specs-go"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
)

// handed are images of the engine that a buildkitd is given with a build: it
// cannot see them, and no registry has them.
type handed struct {
	stores     map[string]content.Store
	attributes map[string]string
	folders    []string
}

func (h *handed) remove() {
	for _, folder := range h.folders {
		_ = os.RemoveAll(folder)
	}
}

// handOver gets the images called names ready for a build. BuildKit fetches
// what it does not have yet, through the build's session.
func (b *Builder) handOver(ctx context.Context, names []string) (*handed, error) {
	h := &handed{stores: map[string]content.Store{}, attributes: map[string]string{}}
	if b.embedded() {
		return h, nil
	}
	for i, name := range names {
		named, err := reference.ParseNormalizedNamed(name)
		if err != nil {
			continue // the Dockerfile's own error says it better
		}
		b.options.Notes("handing the engine's image " + name + " over to " + b.where())
		folder, manifest, err := b.engine.export(ctx, name)
		if folder != "" {
			h.folders = append(h.folders, folder)
		}
		if err != nil {
			h.remove()
			return nil, fmt.Errorf("handing the engine's image %s over to %s: %w; push it to a registry and name it there (--base REGISTRY/NAME:TAG)", name, b.where(), err)
		}
		store, err := local.NewStore(folder)
		if err != nil {
			h.remove()
			return nil, fmt.Errorf("handing the engine's image %s over: %w", name, err)
		}
		id := fmt.Sprintf("crun-%d", i)
		h.stores[id] = store
		h.attributes["context:"+contextName(named)] = "oci-layout://" + id + "@" + manifest.String()
	}
	return h, nil
}

// export writes an image as an OCI layout's blobs into a new folder, and gives
// the digest of its manifest. The folder is the caller's to remove.
func (e *Engine) export(ctx context.Context, name string) (folder string, manifest digest.Digest, err error) {
	archive, err := e.client.ImageSave(ctx, []string{name})
	if err != nil {
		return "", "", e.failure(ctx, "reading it", err)
	}
	defer archive.Close()
	if folder, err = os.MkdirTemp("", "crun-image-"); err != nil {
		return "", "", err
	}
	manifest, err = layOut(archive, folder)
	return folder, manifest, err
}

// saved is one entry of manifest.json in a "docker save" archive.
type saved struct {
	Config string
	Layers []string
}

// layOut makes an OCI layout's blobs of a "docker save" archive.
func layOut(archive io.Reader, folder string) (digest.Digest, error) {
	blobs := filepath.Join(folder, "blobs", "sha256")
	if err := os.MkdirAll(blobs, 0o700); err != nil {
		return "", err
	}
	files := map[string]ocispec.Descriptor{} // by their names in the archive
	links := map[string]string{}
	for entries := tar.NewReader(archive); ; {
		header, err := entries.Next()
		if errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return "", err
		}
		name := path.Clean(header.Name)
		switch header.Typeflag {
		case tar.TypeReg:
			if files[name], err = writeBlob(blobs, entries); err != nil {
				return "", err
			}
		case tar.TypeSymlink: // engines of before save a layer that comes twice as one
			links[name] = path.Join(path.Dir(name), header.Linkname)
		case tar.TypeLink:
			links[name] = path.Clean(header.Linkname)
		}
	}
	find := func(name string) (ocispec.Descriptor, error) {
		name = path.Clean(name)
		for range 10 {
			if target, ok := links[name]; ok {
				name = target
			}
		}
		file, ok := files[name]
		if !ok {
			return file, fmt.Errorf("the engine's archive lacks %s", name)
		}
		return file, nil
	}
	index, err := find("manifest.json")
	if err != nil {
		return "", err
	}
	data, err := os.ReadFile(filepath.Join(blobs, index.Digest.Encoded()))
	if err != nil {
		return "", err
	}
	var images []saved
	if err := json.Unmarshal(data, &images); err != nil || len(images) != 1 {
		return "", errors.Join(errors.New("the engine's archive does not hold one image"), err)
	}
	m := ocispec.Manifest{Versioned: specs.Versioned{SchemaVersion: 2}, MediaType: ocispec.MediaTypeImageManifest}
	if m.Config, err = find(images[0].Config); err != nil {
		return "", err
	}
	m.Config.MediaType = ocispec.MediaTypeImageConfig
	for _, layer := range images[0].Layers {
		found, err := find(layer)
		if err != nil {
			return "", err
		}
		m.Layers = append(m.Layers, found)
	}
	if data, err = json.Marshal(m); err != nil {
		return "", err
	}
	written, err := writeBlob(blobs, strings.NewReader(string(data)))
	return written.Digest, err
}

// writeBlob stores a file under its digest, taken to be a layer.
func writeBlob(folder string, from io.Reader) (ocispec.Descriptor, error) {
	f, err := os.CreateTemp(folder, "")
	if err != nil {
		return ocispec.Descriptor{}, err
	}
	defer f.Close()
	hash := sha256.New()
	size, err := io.Copy(io.MultiWriter(f, hash), from)
	if err != nil {
		return ocispec.Descriptor{}, err
	}
	head := make([]byte, 2)
	_, _ = f.ReadAt(head, 0)
	kind := ocispec.MediaTypeImageLayer
	if string(head) == "\x1f\x8b" {
		kind = ocispec.MediaTypeImageLayerGzip
	}
	sum := hex.EncodeToString(hash.Sum(nil))
	return ocispec.Descriptor{MediaType: kind, Digest: digest.NewDigestFromEncoded(digest.SHA256, sum), Size: size},
		os.Rename(f.Name(), filepath.Join(folder, sum))
}
