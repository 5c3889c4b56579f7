package environment

import (
	"errors"
	"net/url"
	"path"
	"path/filepath"
	"strings"

	"crun.dev/crun/internal/lazyregexp"
)

// buildFolder matches where conda's packages are built: "pip freeze" in a conda
// environment names these for each of them.
var buildFolder = lazyregexp.New(`^/(?:croot|home/conda/feedstock_root|opt/conda/conda-bld|tmp/build/80754af9|tmp/abs_|opt/concourse|private/var|Users|[A-Za-z]:|work/ci_py|home/builder|b/abs_|feedstock_root)`)

// parsePlace reads a folder, wheel or archive of this machine:
// "./libs/se3[dev] ; MARKER", "file:///srv/x.whl".
func parsePlace(text string) (PipRequirement, error) {
	r := PipRequirement{Kind: PipPath}
	place, marker, hasMarker := strings.Cut(text, ";")
	place = strings.TrimSpace(place)
	if hasMarker {
		var err error
		if r.Marker, err = parseMarker(marker); err != nil {
			return r, err
		}
	}
	if i := strings.LastIndexByte(place, '['); i > 0 && strings.HasSuffix(place, "]") {
		if !pipExtras.MatchString(place[i:]) {
			return r, errors.New("has extras that are none; allowed are such as [socks] and [dev,test]")
		}
		r.Extras, place = strings.Join(strings.Fields(place[i:]), ""), strings.TrimSpace(place[:i])
	}
	r.written = place
	r.Text = place + r.Extras
	if r.Marker != "" {
		r.Text += " ; " + r.Marker
	}
	if address, ok := strings.CutPrefix(place, "file:"); ok {
		address, _, _ = strings.Cut(address, "#")
		plain, err := url.PathUnescape(address)
		if err != nil {
			return r, errors.New("is no valid address")
		}
		if host, isHost := strings.CutPrefix(plain, "//"); isHost {
			name, rest, _ := strings.Cut(host, "/")
			if name != "" && name != "localhost" {
				return r, errors.New(`names another machine; write "file:///" and the path`)
			}
			plain = "/" + rest
		}
		place = plain
	}
	if strings.HasSuffix(place, `\`) {
		return r, errors.New(`is cut off by a "\", which goes on in files of requirements alone; write it on one line`)
	}
	if strings.Contains(place, `\`) {
		return r, errors.New(`is a path of Windows; write it from this folder on, with "/"`)
	}
	if strings.HasPrefix(place, "~") {
		return r, errors.New(`begins with "~", which only a shell knows; write the path out`)
	}
	if err := checkCharacters(place, pathCharacters); err != nil {
		return r, err
	}
	r.Path = path.Clean(place)
	return r, nil
}

// place finds the folder or file that r names: from the environment file's
// folder, as conda and pip do, or else from the folder of the file that r
// stands in. What is missing is told.
func (p *parser) place(r *PipRequirement) {
	if r.Path == "" || p.opts.Exists == nil {
		return
	}
	folder := path.Dir(p.env.File)
	at := func(name string) string {
		if path.IsAbs(name) {
			return name
		}
		return path.Join(folder, name)
	}
	if p.opts.Exists(at(r.Path)) {
		return
	}
	if from, err := filepath.Rel(folder, path.Dir(r.Pos.File)); err == nil && !path.IsAbs(r.Path) {
		near := path.Join(from, r.Path)
		if p.opts.Exists(at(near)) {
			written := near
			if !strings.Contains(near, "/") {
				written = "./" + near
			}
			r.Text = strings.Replace(r.Text, r.written, written, 1)
			r.Path, r.written = near, written
			return
		}
	}
	switch {
	case buildFolder.MatchString(r.Path) && r.Name != "":
		p.errorf(r.Pos, `%q is a folder of the machine that built the conda package, written by "pip freeze"; write "%s", with the version that "pip list" shows`, r.Text, r.Name)
	default:
		p.errorf(r.Pos, "%q names %s, which does not exist; add it, or take the line out", r.Text, at(r.Path))
	}
}

// isLocal tells whether r is something of this machine.
func (r PipRequirement) isLocal() bool { return r.Path != "" }
