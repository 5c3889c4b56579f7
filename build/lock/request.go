package lock

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"

	"gopkg.in/yaml.v3"
)

// Request is all that decides which packages an image gets. Two requests with
// one Key ask for the same image.
type Request struct {
	// Environment is the JSON of environment.Environment.Canonical.
	Environment json.RawMessage `json:"environment" yaml:"-"`
	// Base is the base image's reference as it was asked for.
	Base string `json:"base" yaml:"base"`
	// Python is the version that --python asks for, or "".
	Python string `json:"python,omitempty" yaml:"python,omitempty"`
	// Channels are those of the solve by name, where they are not the
	// environment's own.
	Channels []string `json:"channels,omitempty" yaml:"channels,omitempty"`
	// CUDA is the version of the __cuda virtual package ("12.4"), or "".
	CUDA string `json:"cuda,omitempty" yaml:"cuda,omitempty"`
	// Platform is linux-64 or linux-aarch64.
	Platform string `json:"platform" yaml:"platform"`
	// Apt are the Debian packages that are added to the base; their order does
	// not count.
	Apt []string `json:"apt,omitempty" yaml:"apt,omitempty"`
	// Compiler is "true" or "false" where somebody has said whether the image
	// gets a C compiler, else "".
	Compiler string `json:"compiler,omitempty" yaml:"compiler,omitempty"`
	// Local are the folders and files of this machine that the environment
	// names, by their paths.
	Local []Local `json:"local,omitempty" yaml:"local,omitempty"`
	// Miniconda says whether conda itself goes into /opt/conda.
	Miniconda bool `json:"miniconda" yaml:"miniconda"`
	// LayoutVersion changes when crun's Dockerfile makes other images of the
	// same request.
	LayoutVersion int `json:"layout" yaml:"layout"`
}

// Local is a folder or file of this machine. The digests are "sha256:HEX".
type Local struct {
	// Path is from the lock's folder, or absolute.
	Path string `json:"path" yaml:"path"`
	// Digest is of what a build is sent, Metadata of the part that decides
	// which packages it needs.
	Digest   string `json:"digest" yaml:"digest"`
	Metadata string `json:"metadata" yaml:"metadata"`
}

// Key is "sha256:" and the hexadecimal digest of the request's canonical JSON.
// The order of Environment's keys and of Apt does not count, that of Channels
// does. Environment must be JSON or empty.
func (r Request) Key() string { return digest(encode(r.canonical())) }

// canonical gives the one form of requests that mean the same.
func (r Request) canonical() Request {
	r.Apt = slices.Compact(slices.Sorted(slices.Values(r.Apt)))
	r.Environment = canonicalJSON(r.Environment)
	return r
}

// canonicalJSON sorts the keys of data's objects and drops its blanks. What is
// no JSON becomes a JSON string, so that it still counts for the key.
func canonicalJSON(data json.RawMessage) json.RawMessage {
	if len(data) == 0 {
		return json.RawMessage("null")
	}
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.UseNumber()
	var value any
	if err := decoder.Decode(&value); err != nil {
		return encode(string(data))
	}
	return encode(value)
}

// encode is json.Marshal with "<", ">" and "&" left readable: specs and URLs
// are full of them. It is for values that JSON can hold.
func encode(value any) []byte {
	var buffer bytes.Buffer
	encoder := json.NewEncoder(&buffer)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil {
		panic(fmt.Sprintf("lock: encoding %T: %v", value, err))
	}
	return bytes.TrimSuffix(buffer.Bytes(), []byte("\n"))
}

// requestYAML is a Request as crun.lock has it: the environment as the text of
// its JSON, which keeps the types of its values.
type requestYAML struct {
	Environment  string `yaml:"environment"`
	plainRequest `yaml:",inline"`
}

// plainRequest is a Request without its methods, which would call themselves.
type plainRequest Request

// MarshalYAML gives the canonical form.
func (r Request) MarshalYAML() (any, error) {
	r = r.canonical()
	return requestYAML{string(r.Environment), plainRequest(r)}, nil
}

// UnmarshalYAML reads what MarshalYAML gives.
func (r *Request) UnmarshalYAML(node *yaml.Node) error {
	var form requestYAML
	if err := node.Decode(&form); err != nil {
		return err
	}
	*r = Request(form.plainRequest)
	r.Environment = json.RawMessage(form.Environment)
	return nil
}
