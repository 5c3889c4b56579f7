// Package dockerfiles writes the Dockerfiles that crun builds: one that chooses
// the packages of an environment, one that makes its image. Both are pure
// functions of their input. Every value in them is data: it is quoted, or
// refused where a Dockerfile has no way to quote it.
//
// It also holds the programs that run inside a build (installer), which are
// mounted there and never enter an image.
package dockerfiles

import (
	"bytes"
	"embed"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"
	"sync"
	"text/template"
)

//go:embed *.tmpl
var templateFiles embed.FS

//go:embed toolbox.txt installer
var toolboxFiles embed.FS

// Context is a Dockerfile with the files that it may take.
type Context struct {
	Dockerfile string
	// Files are the contents by name below the context's root.
	Files map[string][]byte
}

// Stages of the Dockerfiles.
const (
	// StageSolve is the stage that chooses, and leaves SolutionFile. Its ARG CRUN_ANEW, of another value
	// each time, keeps it from the cache.
	StageSolve = "solve"
	// StageImage is the image.
	StageImage = "image"
	// StageCheck builds where the image's packages can be imported. Nothing
	// of it is in the image.
	StageCheck = "check"
)

// Files of the contexts and of the stage StageSolve.
const (
	RequestFile  = "request.json"
	SolutionFile = "/solution.json"
	LockFile     = "crun.lock"
)

// CheckFile says what is to be checked, ReportFile of the stage StageCheck what
// came of it.
const (
	CheckFile  = "check.json"
	ReportFile = "/crun-check.json"
)

// Secrets that the steps read when they are there. None decides whether a
// step is cached.
const (
	// SecretCA is a bundle of certificates in PEM.
	SecretCA = "crun-ca"
	// SecretSources is JSON: where channels and indexes are fetched from.
	SecretSources = "crun-sources"
	// SecretApt is what AptMirrors makes.
	SecretApt = "crun-apt"
	// SecretLimits is JSON: what a step may take of the engine's host.
	SecretLimits = "crun-limits"
	// SecretPipConf is a pip.conf for the toolbox.
	SecretPipConf = "crun-pip"
)

// Solve is what the Dockerfile that chooses packages is written from.
type Solve struct {
	// Base is the image whose C library counts; ToolboxBase is a Debian with
	// Python 3.10 or newer in its packages.
	Base, ToolboxBase string
	// Request is the content of RequestFile.
	Request []byte
	// CacheDomain tells apart the download caches of those who do not trust
	// one another; "" is the one of all.
	CacheDomain string
}

// Image is what an image's Dockerfile is written from.
type Image struct {
	Base, ToolboxBase string
	// User is the one that the base image names, where it is not root: the
	// steps run as root, and the image has the base's user.
	User string
	// Layers are installed in this order: what changes rarely comes first.
	Layers []Layer
	// EnvDir is the environment's folder, EnvName what conda calls it.
	EnvDir, EnvName string
	// CondaCommand puts the conda command on PATH.
	CondaCommand bool
	// Variables are set in the image, in this order.
	Variables []Pair
	Labels    []Pair
	// Check is the content of CheckFile.
	Check []byte
	// Lock is the content of LockFile, which lies in the image's root folder; nil
	// means that there is none.
	Lock []byte
	// CacheDomain is as for Solve.
	CacheDomain string
	// Local are the files of the project's folders that steps take, by their
	// place in the context, which is below LocalFolder.
	Local map[string][]byte
}

// LocalFolder is where the context has the project's folders.
const LocalFolder = "local"

// Compiles tells whether wheels are made in a stage of their own.
func (i Image) Compiles() bool {
	return slices.ContainsFunc(i.Layers, func(l Layer) bool { return l.Kind == KindWheels })
}

// Layer is one step of an image, with the list of packages that it installs.
type Layer struct {
	// Kind is apt, conda, pip, wheels or local.
	Kind string
	// Title says in a person's words what the step does.
	Title string
	// File is the name of the list in the context, Content the list.
	File    string
	Content []byte
}

// Git tells whether the step fetches from a repository.
func (l Layer) Git() bool { return namesRepository(l.Content) }

// Git tells whether a step fetches from a repository.
func (i Image) Git() bool { return slices.ContainsFunc(i.Layers, Layer.Git) }

// namesRepository tells whether a list names an address such as
// git+https://host/repository. One too many costs a stage, and nothing else.
func namesRepository(list []byte) bool { return bytes.Contains(list, []byte("git+")) }

// localRepository tells whether a file that says what a folder of the project
// needs names such an address.
func localRepository(files map[string][]byte) bool {
	for name, content := range files {
		switch path.Base(name) {
		case "pyproject.toml", "setup.py", "setup.cfg":
			if namesRepository(content) {
				return true
			}
		}
	}
	return false
}

// The kinds of layers.
const (
	KindApt   = "apt"
	KindConda = "conda"
	KindPip   = "pip"
	KindLocal = "local"
	// KindWheels installs wheels that a stage of its own makes of the same list.
	KindWheels = "wheels"
)

// Pair is a name with its value.
type Pair struct{ Name, Value string }

// RenderSolve writes the Dockerfile that chooses packages. The error names a
// value that cannot stand in one.
func RenderSolve(s Solve) (*Context, error) {
	files := toolbox()
	files[RequestFile] = s.Request
	return render("solve.Dockerfile.tmpl", s, files)
}

// RenderSolveApt writes the Dockerfile that chooses Debian packages.
func RenderSolveApt(s Solve) (*Context, error) {
	files := toolbox()
	files[RequestFile] = s.Request
	return render("solve-apt.Dockerfile.tmpl", s, files)
}

// RenderBase writes the Dockerfile that looks at the base image. No program of
// it is run: it may have none that runs. Request is not used.
func RenderBase(s Solve) (*Context, error) {
	files := toolbox()
	files[RequestFile] = s.Request
	return render("base.Dockerfile.tmpl", s, files)
}

// RenderSolvePip writes the Dockerfile that chooses pip packages: in a stage
// that has the layers of image. request is the content of RequestFile.
func RenderSolvePip(i Image, request []byte) (*Context, error) {
	files, err := imageFiles(i)
	if err != nil {
		return nil, err
	}
	files[RequestFile] = request
	return render("solve-pip.Dockerfile.tmpl", struct {
		Image
		SolveGit bool
	}{i, namesRepository(request) || localRepository(i.Local)}, files)
}

// RenderImage writes the Dockerfile of an image. The error names a value that
// cannot stand in one.
func RenderImage(i Image) (*Context, error) {
	files, err := imageFiles(i)
	if err != nil {
		return nil, err
	}
	files[CheckFile] = i.Check
	if i.Lock != nil {
		files[LockFile] = i.Lock
	}
	return render("image.Dockerfile.tmpl", i, files)
}

// imageFiles are the files that the layers of an image take.
func imageFiles(i Image) (map[string][]byte, error) {
	files := toolbox()
	for _, layer := range i.Layers {
		if !slices.Contains([]string{KindApt, KindConda, KindPip, KindWheels, KindLocal}, layer.Kind) {
			return nil, fmt.Errorf("no such kind of layer: %q", layer.Kind)
		}
		files[layer.File] = layer.Content
	}
	for name, content := range i.Local {
		if !strings.HasPrefix(name, LocalFolder+"/") {
			return nil, fmt.Errorf("no place of the project's files: %q", name)
		}
		files[name] = content
	}
	return files, nil
}

// Check is what the Dockerfile that checks an image is written from.
type Check struct {
	Image, ToolboxBase string
	// Request is the content of CheckFile.
	Request []byte
}

// RenderCheck writes the Dockerfile whose stage StageCheck checks an image. The
// error names a value that cannot stand in one.
func RenderCheck(c Check) (*Context, error) {
	files := toolbox()
	files[CheckFile] = c.Request
	return render("check.Dockerfile.tmpl", c, files)
}

// templates are parsed at their first use: most commands render nothing.
var templates = sync.OnceValue(func() *template.Template {
	return template.Must(template.New("").Funcs(template.FuncMap{
		"reference": reference,
		"directory": directory,
		"file":      file,
		"title":     title,
		"variable":  variable,
		"label":     label,
		"value":     value,
		"user":      user,

		"cachedomain": cacheDomain,
	}).ParseFS(templateFiles, "*.tmpl"))
})

func render(name string, data any, files map[string][]byte) (*Context, error) {
	var text strings.Builder
	if err := templates().ExecuteTemplate(&text, name, data); err != nil {
		return nil, cause(err)
	}
	return &Context{Dockerfile: text.String(), Files: files}, nil
}

// toolbox gives the files that every Dockerfile takes.
func toolbox() map[string][]byte {
	files := map[string][]byte{}
	err := fs.WalkDir(toolboxFiles, ".", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		files[path], err = toolboxFiles.ReadFile(path)
		return err
	})
	if err != nil {
		panic(err) // the files are in the binary
	}
	return files
}

// FileNames lists the files of the context in order.
func (c *Context) FileNames() []string {
	return slices.Sorted(maps.Keys(c.Files))
}
