// Package docker runs crun's runs on a Docker Engine (20.10 and later), and on
// Podman's Docker-compatible service. With build/buildkit it is the only
// importer of docker/docker; no type of that module leaves it.
//
// A Plan becomes a container in config.go, which is pure. create.go makes the
// container and fills it before it starts: the files of the caller, and lines
// in /etc/passwd and /etc/group (account.go). errors.go and rules.go turn what
// the engine says into one sentence with its remedy.
package docker
