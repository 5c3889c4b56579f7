// Package profiles reads profiles.yaml files: it checks them, with the place
// of every mistake, and resolves a name to the limits that it stands for. It
// knows nothing of any host: shares such as "1/2" stay shares, for package plan
// to resolve.
package profiles
