package build

import (
	"encoding/json"
	"slices"

	"crun.dev/crun/build/lock"
)

// The files that the installer reads; dockerfiles/installer is the other side.

// solveRequest is the question for conda packages.
type solveRequest struct {
	Prefix   string      `json:"prefix"`
	Platform string      `json:"platform"`
	Channels [][2]string `json:"channels"` // name and address, first one first
	Specs    []string    `json:"specs"`
	// Files are those of Specs that ask for one file by its address. Exact
	// tells that they are all that is to be installed.
	Files     []condaFile `json:"files,omitempty"`
	Exact     bool        `json:"exact,omitempty"`
	Virtual   []string    `json:"virtual"`
	Miniconda []string    `json:"miniconda"`
	// Locked are packages that are preferred to other versions of the same
	// name, LockedMiniconda those for /opt/conda.
	Locked          []condaPackage `json:"locked"`
	LockedMiniconda []condaPackage `json:"locked_miniconda"`
}

// pipRequest is the question for pip packages, around what lies in Prefix.
type pipRequest struct {
	Prefix     string   `json:"prefix"`
	Pip        []string `json:"pip"`
	Indexes    []string `json:"indexes"`
	PipOptions []string `json:"pip_options"`
	// Constraints hold pip packages to versions, PipSolve are options of the
	// choice alone.
	Constraints []string `json:"constraints,omitempty"`
	// Overrides are versions that packages have whatever others need.
	Overrides []string `json:"overrides,omitempty"`
	PipSolve  []string `json:"pip_solve,omitempty"`
	// Locked are distributions that are preferred to other versions.
	Locked []distribution `json:"locked"`
	// Local are folders and files of this machine.
	Local []localPackage `json:"local,omitempty"`
	// Compiled are packages that are built against torch, as far as is known.
	Compiled []string `json:"compiled"`
}

// aptRequest is the question for Debian packages, each NAME or NAME=VERSION.
type aptRequest struct {
	Apt []string `json:"apt"`
}

// baseRequest is the question for what a base image has.
type baseRequest struct {
	Platform string `json:"platform"`
}

// solution is the answer: a failure, or packages.
type solution struct {
	Failure   *failure       `json:"failure"`
	Notes     []string       `json:"notes"`
	Virtual   []string       `json:"virtual"`
	Miniconda []condaPackage `json:"miniconda"`
	Conda     []condaPackage `json:"conda"`
	Pip       []distribution `json:"pip"`
	Apt       []aptPackage   `json:"apt"`
	Base      baseFacts      `json:"base"`
	// Indexes are the request's, with pypi by its name however it was written.
	Indexes []string `json:"indexes"`
}

// aptPackage is lock.DebianPackage in JSON.
type aptPackage struct {
	Name    string `json:"name"`
	Version string `json:"version"`
	Auto    bool   `json:"auto,omitempty"`
}

// aptList is what a layer of Debian packages installs.
type aptList struct {
	Packages []aptPackage `json:"packages"`
}

// condaPackage is lock.Package in JSON.
type condaPackage struct {
	Name                   string   `json:"name"`
	Version                string   `json:"version"`
	Build                  string   `json:"build"`
	BuildNumber            int      `json:"build_number"`
	Channel                string   `json:"channel"`
	Subdir                 string   `json:"subdir"`
	File                   string   `json:"file"`
	URL                    string   `json:"url,omitempty"`
	SHA256                 string   `json:"sha256,omitempty"`
	MD5                    string   `json:"md5,omitempty"`
	Size                   int64    `json:"size,omitempty"`
	NoArch                 string   `json:"noarch,omitempty"`
	PythonSitePackagesPath string   `json:"python_site_packages_path,omitempty"`
	Depends                []string `json:"depends,omitempty"`
	Constrains             []string `json:"constrains,omitempty"`
	TrackFeatures          []string `json:"track_features,omitempty"`
	License                string   `json:"license,omitempty"`
	Timestamp              int64    `json:"timestamp,omitempty"`
}

// distribution is lock.Distribution in JSON.
type distribution struct {
	Name     string   `json:"name"`
	Version  string   `json:"version,omitempty"`
	Index    string   `json:"index,omitempty"`
	URL      string   `json:"url,omitempty"`
	Hashes   []string `json:"hashes,omitempty"`
	Markers  string   `json:"markers,omitempty"`
	Path     string   `json:"path,omitempty"`
	Editable bool     `json:"editable,omitempty"`
	Against  string   `json:"against,omitempty"`
}

// condaList is what a layer of conda packages installs.
type condaList struct {
	Prefix   string         `json:"prefix"`
	Platform string         `json:"platform"`
	Channels [][2]string    `json:"channels"`
	Packages []condaPackage `json:"packages"`
}

// pipList is what a layer of pip packages installs.
type pipList struct {
	Prefix   string         `json:"prefix"`
	Indexes  []string       `json:"indexes"`
	Options  []string       `json:"options"`
	Packages []distribution `json:"packages"`
}

// encode gives the bytes that decide whether a layer is cached.
func encode(list any) []byte {
	data, err := json.MarshalIndent(list, "", " ")
	if err != nil {
		panic(err) // strings and numbers
	}
	return append(data, '\n')
}

// line is value's JSON in one line, for a label.
func line(value any) string {
	data, err := json.Marshal(value)
	if err != nil {
		panic(err) // strings and numbers
	}
	return string(data)
}

func newCondaList(prefix, platform string, packages []lock.Package) condaList {
	list := condaList{Prefix: prefix, Platform: platform}
	for _, p := range packages {
		channel := [2]string{p.Channel, channelURL(p.Channel)}
		if p.Channel != "" && !slices.Contains(list.Channels, channel) {
			list.Channels = append(list.Channels, channel)
		}
		list.Packages = append(list.Packages, condaPackage(p))
	}
	return list
}
