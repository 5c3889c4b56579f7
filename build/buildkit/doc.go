// Package buildkit runs Dockerfiles through BuildKit: the one that a Docker
// engine has within it, or a buildkitd of its own whose images are loaded into
// the engine. The Dockerfile is translated in this process, so every engine
// takes the same syntax and no image of a frontend is pulled.
//
// It is the only importer of moby/buildkit. No type of BuildKit or Docker is in
// its exported signatures.
package buildkit

// ArgAnew is the argument of a Dockerfile (ARG) by which Job.Anew keeps the
// steps behind it from the cache.
const ArgAnew = "CRUN_ANEW"

// Job is one Dockerfile to build.
type Job struct {
	// Title says in a person's words what is built, for messages.
	Title      string
	Dockerfile string
	// Files is the build context, contents by slash-separated names.
	Files map[string][]byte
	// Target is the stage to build.
	Target string
	// Check is a stage that has to build before Target's result is taken, or
	// "". Nothing of it is in the result.
	Check string
	// Checked gets the file CheckFile of that stage; its error keeps the image
	// from being made.
	CheckFile string
	Checked   func(data []byte) error
	// NoCache builds every step anew.
	NoCache bool
	// Anew builds the steps anew that the Dockerfile's ArgAnew counts for.
	Anew bool
	// Platform is linux/amd64 or linux/arm64.
	Platform string
	// Secrets are files that steps may mount, by id. They are no part of
	// what decides whether a step is cached.
	Secrets map[string][]byte
	// Proxy is passed to each step, and is neither in the image nor in what
	// decides whether a step is cached.
	Proxy Proxy
	// Hidden are texts that neither the progress nor an error may show, longest
	// first.
	Hidden []string
	// Mirrors has what to fetch in the place of an image, both by name.
	Mirrors map[string]string
	// HostNetwork lets the steps use the network of BuildKit's host.
	HostNetwork bool
	// Local names the images that only the engine has.
	Local []string
}

// Proxy is how the steps of a build reach the network. Empty means directly.
type Proxy struct{ HTTP, HTTPS, No string }
