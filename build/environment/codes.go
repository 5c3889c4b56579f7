package environment

import "strings"

// The codes of errors. Those of findings stand where they are found.
const (
	codeEncoding       = "encoding"
	codeOtherFile      = "other-file"
	codeNotYAML        = "not-yaml"
	codeNotTOML        = "not-toml"
	codeBadKey         = "bad-key"
	codeBadName        = "bad-name"
	codeBadChannel     = "bad-channel"
	codeBadPackage     = "bad-package"
	codeBadRequirement = "bad-requirement"
	codeBadVariable    = "bad-variable"
	codeTorchPython    = "torch-python"
	codeUnsupported    = "unsupported"
)

// CodeTarget is that of findings about the CUDA that an image is to be for,
// which a file alone does not say.
const CodeTarget = "cuda-target"

// Code explains one kind of finding.
type Code struct {
	// Name is Finding.Code.
	Name string
	// Severity is the usual one; a few findings weigh more where more is known.
	Severity Severity
	// Summary is what such a finding says, in one line.
	Summary string
	// Text says why it matters and what to write, in a paragraph or two.
	Text string
	// Source is where the fact is from: an address, or what was looked at.
	Source string
}

// Codes gives all codes: errors first, then warnings, then notes.
func Codes() []Code { return codes }

// Explain gives the code called name.
func Explain(name string) (Code, bool) {
	for _, c := range codes {
		if c.Name == strings.TrimSpace(name) {
			return c, true
		}
	}
	return Code{}, false
}
