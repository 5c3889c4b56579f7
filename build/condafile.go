package build

import (
	"slices"
	"strings"

	"crun.dev/crun/build/environment"
)

// condaFile is a package file that is asked for by its address;
// dockerfiles/installer/condafile.py is the other side.
type condaFile struct {
	// Spec is the request as solveRequest.Specs has it.
	Spec string `json:"spec"`
	Name string `json:"name"`
	URL  string `json:"url"`
	// Channel is the channel by name and Address the beginning of URL that
	// serves it. Of a file that lies in no channel's folder Channel and Subdir
	// are "".
	Channel string `json:"channel"`
	Address string `json:"address"`
	Subdir  string `json:"subdir"`
	File    string `json:"file"`
	// MD5 and SHA256 are those that the request has.
	MD5    string `json:"md5,omitempty"`
	SHA256 string `json:"sha256,omitempty"`
}

// condaFiles are the package files that env asks for by address.
func condaFiles(env *environment.Environment) []condaFile {
	var files []condaFile
	for _, spec := range env.Conda {
		if spec.URL == "" {
			continue
		}
		f := condaFile{Spec: spec.Text, Name: spec.Name, URL: spec.URL, MD5: spec.MD5, SHA256: spec.SHA256}
		f.Address, f.Subdir, f.File = environment.SplitPackageURL(spec.URL)
		if f.Subdir != "" {
			f.Channel = channelOfAddress(f.Address)
		}
		files = append(files, f)
	}
	return files
}

// fileChannels are the channels of the package files that env asks for, or what
// stands in the place of one: the address of the folder that a file lies in.
func fileChannels(env *environment.Environment) []string {
	var channels []string
	for _, f := range condaFiles(env) {
		channel := f.Channel
		if channel == "" {
			channel = f.Address
		}
		if !slices.Contains(channels, channel) {
			channels = append(channels, channel)
		}
	}
	return channels
}

// takeFileChannels gives an explicit list, which names no channels, those that
// its packages come from: what crun itself needs is looked for there.
func takeFileChannels(env *environment.Environment) {
	for _, f := range condaFiles(env) {
		if env.Exact && f.Channel != "" && !slices.Contains(env.Channels, f.Channel) {
			env.Channels = append(env.Channels, f.Channel)
		}
	}
}

// channelOfAddress gives the name that a channel's public address stands for,
// or the address itself.
func channelOfAddress(address string) string {
	for _, host := range []string{channelHost, defaultsHost} {
		if name, ok := strings.CutPrefix(address, host); ok {
			return name
		}
	}
	return address
}
