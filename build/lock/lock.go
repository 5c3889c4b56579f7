// Package lock is crun.lock: the exact packages of an image, in one canonical
// form, so that two locks of the same packages are the same bytes. It belongs
// in git. No mirror's host and no credential is in it: channels and indexes go
// by their names, files by their paths below them.
package lock

import (
	"crypto/sha256"
	"encoding/hex"
)

// Version is the form of crun.lock that this crun writes, and the newest that
// it reads.
const Version = 1

// Lock is the content of crun.lock.
type Lock struct {
	// Version is the form of the file.
	Version int `yaml:"version"`
	// Key is Request.Key() of the request that was solved: "sha256:" and 64
	// hexadecimal digits.
	Key string `yaml:"key"`
	// Platform is linux-64 or linux-aarch64.
	Platform string `yaml:"platform"`
	// Python is the solved version in full: "3.9.18".
	Python string `yaml:"python"`
	// Base is the image below the environment.
	Base Base `yaml:"base"`
	// Virtual are the virtual packages that were given to the solver:
	// "__glibc=2.36".
	Virtual []string `yaml:"virtual,omitempty"`
	// Channels are names (conda-forge) or, for others, URLs; first one first.
	Channels []string `yaml:"channels"`
	// Indexes are pypi or URLs, first one first.
	Indexes []string `yaml:"indexes,omitempty"`
	// Request is what was asked for; Explain needs it.
	Request Request `yaml:"request"`
	// Apt are the Debian packages that are added to the base, in a layer of
	// their own, by name.
	Apt []DebianPackage `yaml:"apt,omitempty"`
	// Compiler says where the image has its C compiler from: apt, conda, base,
	// environment, or "" for none that crun knows of.
	Compiler string `yaml:"compiler,omitempty"`
	// Miniconda are the packages of /opt/conda, in a layer of their own.
	Miniconda []Package `yaml:"miniconda,omitempty"`
	// Conda are the environment's conda packages.
	Conda []Package `yaml:"conda"`
	// Toolchain are conda packages that are there while pip packages are
	// compiled, and not in the image.
	Toolchain []Package `yaml:"toolchain,omitempty"`
	// Pip are the environment's pip packages.
	Pip []Distribution `yaml:"pip,omitempty"`
}

// Base names the base image.
type Base struct {
	// Reference is the name as it was given: "debian:bookworm-slim".
	Reference string `yaml:"reference"`
	// Digest is "NAME@sha256:HEX" or, for an image that no registry has, "".
	Digest string `yaml:"digest,omitempty"`
	// ImageID is the engine's "sha256:HEX", kept where there is no Digest.
	ImageID string `yaml:"image_id,omitempty"`
	// User is the one that the image names for its commands, "" for root.
	User string `yaml:"user,omitempty"`
}

// DebianPackage is one package of Debian's or Ubuntu's archives.
type DebianPackage struct {
	Name    string `yaml:"name"`
	Version string `yaml:"version"`
	// Auto tells that it was not asked for: another one needs it.
	Auto bool `yaml:"auto,omitempty"`
}

// Package is one conda package: all that a client needs to fetch, check and
// link it without the channel's index.
type Package struct {
	Name        string `yaml:"name"`
	Version     string `yaml:"version"`
	Build       string `yaml:"build"`
	BuildNumber int    `yaml:"build_number"`
	// Channel is one of the lock's Channels, or "" where URL is set.
	Channel string `yaml:"channel,omitempty"`
	// Subdir is the folder of the channel: linux-64, noarch.
	Subdir string `yaml:"subdir"`
	// File is the file's name in Subdir: "numpy-1.26.4-py39h474f0d3_0.conda".
	File string `yaml:"file"`
	// URL is the file's whole address where it lies in no channel's folder.
	URL string `yaml:"url,omitempty"`
	// SHA256 and MD5 are hexadecimal digits; old channels have MD5 alone, and
	// one of the two must be there.
	SHA256 string `yaml:"sha256,omitempty"`
	MD5    string `yaml:"md5,omitempty"`
	// Size is the file's, in bytes.
	Size int64 `yaml:"size,omitempty"`
	// NoArch is "python", "generic" or "".
	NoArch string `yaml:"noarch,omitempty"`
	// PythonSitePackagesPath is python's own word for where noarch packages
	// go ("lib/python3.13t/site-packages"), or "".
	PythonSitePackagesPath string   `yaml:"python_site_packages_path,omitempty"`
	Depends                []string `yaml:"depends,omitempty"`
	Constrains             []string `yaml:"constrains,omitempty"`
	// TrackFeatures weigh a package down in a solve.
	TrackFeatures []string `yaml:"track_features,omitempty"`
	License       string   `yaml:"license,omitempty"`
	// Timestamp is when it was built, in milliseconds since 1970.
	Timestamp int64 `yaml:"timestamp,omitempty"`
}

// Path is where the file lies below the channel: "linux-64/FILE".
func (p Package) Path() string { return p.Subdir + "/" + p.File }

// Distribution is one pip package.
type Distribution struct {
	Name    string `yaml:"name"`
	Version string `yaml:"version,omitempty"`
	// Index is one of the lock's Indexes; "" where URL is set.
	Index string `yaml:"index,omitempty"`
	// URL is the address of a wheel or source archive, or "git+https://...@COMMIT".
	URL string `yaml:"url,omitempty"`
	// Hashes are "sha256:HEX". A repository has none, its commit stands for
	// it; some indexes publish none.
	Hashes []string `yaml:"hashes,omitempty"`
	// Markers is an environment marker (PEP 508), or "".
	Markers string `yaml:"markers,omitempty"`
	// Path is where a folder, wheel or archive lies, from the lock's folder,
	// or absolute; then Index and URL are "".
	Path string `yaml:"path,omitempty"`
	// Editable is a folder that a run imports from the project itself: the
	// image has its dependencies and what it is called.
	Editable bool `yaml:"editable,omitempty"`
	// Against is torch where the package is compiled against the environment's
	// torch: it has no wheel that fits.
	Against string `yaml:"against,omitempty"`
}

// Digest is "sha256:HEX" of Marshal(): the value of the image's label
// dev.crun.lock.
func (l *Lock) Digest() string { return digest(l.Marshal()) }

func digest(data []byte) string {
	sum := sha256.Sum256(data)
	return "sha256:" + hex.EncodeToString(sum[:])
}
