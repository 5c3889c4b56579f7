// Package crun holds what go:embed can reach from the root of the repository
// alone: the catalogue of profiles that every crun carries.
package crun

import _ "embed"

// ProfilesYAML is profiles.yaml as it was when crun was built.
//
//go:embed profiles.yaml
var ProfilesYAML []byte
