package build

import (
	"cmp"
	"errors"
	"fmt"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"crun.dev/crun/build/environment"
	"crun.dev/crun/build/lock"
	"crun.dev/crun/dockerfiles"
	"crun.dev/crun/internal/yamlfile"
)

// The kinds of what lies on this machine.
const (
	localFolder   = "folder"   // installed as a package
	localFile     = "file"     // a wheel or archive
	localEditable = "editable" // its dependencies are installed; a run has it from the project
	localLinks    = "links"    // a folder of wheels and archives, of which some may be chosen
)

// local is a folder or file of this machine that the environment names, with
// what of it is sent to a build.
type local struct {
	environment.PipRequirement
	kind  string
	files fileSet
	// decides are the files that may say which packages it needs: an edit of
	// others chooses nothing anew.
	decides fileSet
}

// kindOf says what r is where isFolder is known.
func kindOf(r environment.PipRequirement, isFolder bool) string {
	switch {
	case r.Kind == environment.PipOption:
		return localLinks
	case !isFolder:
		return localFile
	case r.Kind == environment.PipEditable && inProject(r.Path):
		return localEditable
	}
	return localFolder
}

// inProject tells whether a path from the project's folder stays below it.
func inProject(name string) bool {
	return !path.IsAbs(name) && name != ".." && !strings.HasPrefix(name, "../")
}

// readLocals reads all that lies on this machine and is named in env, from
// folder, each once.
func readLocals(env *environment.Environment, folder string) ([]local, []environment.Finding, error) {
	var locals []local
	var findings []environment.Finding
	var errs []error
	total := 0
	for _, section := range env.Pip {
		for _, r := range section.Requirements {
			if r.Path == "" {
				continue
			}
			if path.IsAbs(r.Path) { // one that lies in the project is the project's
				if inner, err := filepath.Rel(folder, r.Path); err == nil && inProject(inner) {
					r.Path = inner
				}
			}
			l, err := readLocal(r, folder)
			if total += l.files.size(); err == nil && total > maxLocal {
				err = fmt.Errorf("is the last of what this environment sends to the build, %d MiB in all; at most %d are allowed: publish the larger ones on an index", total>>20, maxLocal>>20)
			}
			if err != nil {
				errs = append(errs, yamlfile.Errorf(r.Pos, "%q %v", environment.Redact(r.Text), err))
				continue
			}
			if l.kind == localFolder && r.Kind == environment.PipEditable {
				findings = append(findings, environment.Finding{
					Code: "editable-installed", Severity: environment.SeverityNote, Pos: r.Pos,
					Message: fmt.Sprintf("%q lies outside of the project, which is all that a run sees: it is installed as a package, and crun build takes its changes over", r.Text),
				})
			}
			if !slices.ContainsFunc(locals, func(other local) bool {
				return other.Path == l.Path && other.kind == l.kind && other.Extras == l.Extras
			}) {
				locals = append(locals, l)
			}
		}
	}
	return locals, findings, errors.Join(errs...)
}

func readLocal(r environment.PipRequirement, folder string) (local, error) {
	l := local{PipRequirement: r}
	place := r.Path
	if !filepath.IsAbs(place) {
		place = filepath.Join(folder, place)
	}
	isFolder, err := isFolder(place)
	if err != nil {
		return l, err
	}
	switch l.kind = kindOf(r, isFolder); l.kind {
	case localFile:
		if !packageArchive.MatchString(place) {
			return l, errors.New("is a file, but no wheel or source archive (.whl, .tar.gz, .zip)")
		}
		l.files, err = readOne(place)
		l.decides = l.files
	case localLinks:
		if !isFolder {
			return l, errors.New("is a file; name the folder that holds the wheels")
		}
		l.files, err = readArchives(place)
		l.decides = l.files
	default:
		ignored, ignoreErr := ignoredIn(folder, place)
		if ignoreErr != nil {
			return l, ignoreErr
		}
		l.files, err = readTree(place, ignored, l.kind == localEditable)
		l.decides = l.files.only(decides)
		if err == nil && len(l.files.only(isProjectFile)) == 0 {
			err = errors.New("holds neither pyproject.toml nor setup.py, so it is no package; add one, or take the line out and set PYTHONPATH to the folder")
		}
	}
	return l, err
}

// locked are the folders and files as a request has them.
func (p *Project) lockedLocals() []lock.Local {
	var all []lock.Local
	for _, l := range p.local {
		one := lock.Local{Path: l.Path, Digest: l.files.digest(), Metadata: l.decides.digest()}
		if l.kind == localEditable {
			one.Digest = one.Metadata // the rest of it is no part of an image
		}
		all = append(all, one)
	}
	slices.SortFunc(all, func(a, b lock.Local) int { return cmp.Compare(a.Path, b.Path) })
	return slices.Compact(all)
}

// localPackage is something of this machine as the installer takes it.
type localPackage struct {
	Kind string `json:"kind"`
	// Path is as the environment names it; Source is where it lies in the
	// context.
	Path   string `json:"path"`
	Source string `json:"source"`
	// Digest is that of what was sent.
	Digest  string   `json:"digest"`
	Name    string   `json:"name,omitempty"`
	Extras  string   `json:"extras,omitempty"`
	Marker  string   `json:"marker,omitempty"`
	Version string   `json:"version,omitempty"`
	Hashes  []string `json:"hashes,omitempty"`
}

// localList is what the layer of the project's own packages installs.
type localList struct {
	Prefix   string         `json:"prefix"`
	Indexes  []string       `json:"indexes"`
	Options  []string       `json:"options"`
	Packages []localPackage `json:"packages"`
}

// localSources are the locals of a solve: as the installer takes them, and
// their files by their place in the context.
func (p *Project) localSources() ([]localPackage, map[string][]byte) {
	var packages []localPackage
	files := map[string][]byte{}
	for i, l := range p.local {
		one := localPackage{
			Kind: l.kind, Path: l.Path, Source: fmt.Sprintf("%s/%d", dockerfiles.LocalFolder, i), Digest: l.files.digest(),
			Extras: l.Extras, Marker: l.Marker, Hashes: l.Hashes(),
		}
		if before, _, ok := strings.Cut(l.Text, " @ "); ok {
			one.Name, _, _ = strings.Cut(before, "[")
		}
		packages = append(packages, one)
		for name, data := range l.files {
			files[one.Source+"/"+name] = data
		}
	}
	return packages, files
}

// localLayer is the layer of the distributions that lie on this machine, with
// its files; ok is false where there are none.
func (p *Project) localLayer(l *lock.Lock) (layer dockerfiles.Layer, files map[string][]byte, ok bool) {
	options := pipOptionsOf(p.Environment)
	list := localList{Prefix: p.Environment.EnvDir(), Indexes: options.indexes, Options: options.other}
	files = map[string][]byte{}
	for _, d := range l.Pip {
		if d.Path == "" {
			continue
		}
		found, set, there := p.findLocal(d)
		if !there {
			continue // the request's key says that it is; an old lock of another folder
		}
		one := localPackage{
			Kind: found.kind, Path: d.Path, Source: fmt.Sprintf("%s/%d", dockerfiles.LocalFolder, len(list.Packages)), Digest: set.digest(),
			Name: d.Name, Version: d.Version, Hashes: d.Hashes,
		}
		list.Packages = append(list.Packages, one)
		for name, data := range set {
			files[one.Source+"/"+name] = data
		}
	}
	if len(list.Packages) == 0 {
		return layer, nil, false
	}
	return dockerfiles.Layer{
		Kind: dockerfiles.KindLocal, Title: "install the packages of local folders", File: "local.json", Content: encode(list),
	}, files, true
}

// findLocal finds what a distribution of a lock is made of.
func (p *Project) findLocal(d lock.Distribution) (local, fileSet, bool) {
	for _, l := range p.local {
		if l.Path == d.Path && (l.kind == localEditable) == d.Editable && l.kind != localLinks {
			return l, l.files, true
		}
		if name := path.Base(d.Path); l.kind == localLinks && path.Join(l.Path, name) == d.Path && l.files[name] != nil {
			l.kind = localFile
			return l, fileSet{name: l.files[name]}, true
		}
	}
	return local{}, nil, false
}

// PythonPath are the folders, absolute, whose packages a run imports from the
// project itself: those of "-e".
func (p *Project) PythonPath() []string {
	var folders []string
	for _, l := range p.local {
		if l.kind != localEditable {
			continue
		}
		folder := filepath.Join(p.folder, l.Path, l.importedFrom())
		if !slices.Contains(folders, folder) {
			folders = append(folders, folder)
		}
	}
	return folders
}

// importedFrom is the folder below l's that holds its modules: "src" in one of
// the two usual layouts, what the build's own files say, or "".
func (l local) importedFrom() string {
	for _, name := range []string{"pyproject.toml", "setup.cfg", "setup.py"} {
		if m := packageRoot.FindStringSubmatch(string(l.files[name])); m != nil {
			if root := path.Clean(strings.Join(m[1:], "")); inProject(root) {
				return root
			}
		}
	}
	for name := range l.files {
		inner, isSrc := strings.CutPrefix(name, "src/")
		if isSrc && inner != "__init__.py" {
			return "src"
		}
	}
	return ""
}
