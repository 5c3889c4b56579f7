// Package build makes an image of an environment file: it chooses the exact
// packages (crun.lock), writes the image's Dockerfile from them and has it
// built. It decides and orders; what is done through BuildKit and the engine
// lies behind Solver and Images, so that all of it can be tested without
// either.
//
// Open reads a project's files, Find looks for an image that is built already,
// Build makes one.
package build

import (
	"context"

	"crun.dev/crun/build/buildkit"
)

// Solver builds Dockerfiles. *buildkit.Builder is one.
type Solver interface {
	// File builds job's target and gives the file at path of it. resolve
	// names an image whose digest in its registry is wanted too, or is "".
	File(ctx context.Context, job buildkit.Job, path, resolve string) (buildkit.Answer, error)
	// Image builds job's target as an image called names and gives its id.
	Image(ctx context.Context, job buildkit.Job, names []string) (id string, err error)
}

// Images finds and names images. *buildkit.Engine is one.
type Images interface {
	// Image finds an image by name or id; buildkit.ErrNoImage where there is none.
	Image(ctx context.Context, ref string) (buildkit.Image, error)
	// ImagesByLabel finds the images that carry a label, newest first.
	ImagesByLabel(ctx context.Context, name, value string) ([]buildkit.Image, error)
	Tag(ctx context.Context, id, name string) error
	// Reach asks the registry of an image for it.
	Reach(ctx context.Context, name string) error
}

var (
	_ Solver = (*buildkit.Builder)(nil)
	_ Images = (*buildkit.Engine)(nil)
)

// Labels of an image.
const (
	LabelSchema   = "dev.crun.schema"   // the form of these labels: SchemaVersion
	LabelLock     = "dev.crun.lock"     // the digest of crun.lock
	LabelEnv      = "dev.crun.env"      // the environment's name
	LabelPython   = "dev.crun.python"   // its Python: "3.9.18"
	LabelTorch    = "dev.crun.torch"    // its PyTorch, where there is one: "2.4.0"
	LabelPlatform = "dev.crun.platform" // linux-64 or linux-aarch64
	LabelCompiler = "dev.crun.compiler" // where its C compiler is from, where there is one: apt, conda, base, environment
	LabelCUDA     = "dev.crun.cuda"     // what its PyTorch is built for: "12.8", or none for CPUs
	LabelArchs    = "dev.crun.archs"    // the GPUs that is compiled for: "7.5 8.0 12.0+PTX"
	LabelCheck    = "dev.crun.check"    // what CheckImage tries: a checkRequest in JSON
)

// SchemaVersion is the form of an image's labels.
const SchemaVersion = "1"

// LayoutVersion changes when the Dockerfile makes other images of the same
// packages; images of an older one are not found any more.
const LayoutVersion = 1
