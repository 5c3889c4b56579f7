package profiles

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/distribution/reference"
	"gopkg.in/yaml.v3"

	"crun.dev/crun/internal/lazyregexp"
	"crun.dev/crun/internal/yamlfile"
)

// Build is what the files say below the key build: what a repository's image
// needs beyond its environment file, and how much a build may take.
type Build struct {
	// Apt are Debian packages, each NAME or NAME=VERSION.
	Apt []string
	// Base is the image to start from, or "".
	Base string
	// Compiler says whether the image gets a C compiler: true, false, or nil
	// for "where the environment's torch needs one".
	Compiler *bool
	// CUDA is a version ("12.4"), none, auto, or "".
	CUDA string
	// Check are modules without which the image is no good.
	Check []string
	// Memory bounds the steps of a build, in bytes; CPUs is how many they may
	// use. 0 is no bound.
	Memory int64
	CPUs   int

	// Origin has the place of each value that is set, by its key.
	Origin map[string]Source
}

// The least that a build is bounded to: torch alone is imported in less, and
// below it no package is installed.
const minBuildMemory = 256 * miB

// buildKey is one key below build.
type buildKey struct {
	// machine tells a bound on this machine, which every file may give, from
	// what makes the image another one, which is for a repository to say.
	machine bool
	read    func(p *parser, b *Build, name string, node *yaml.Node) bool
	copy    func(to, from *Build)
}

var buildKeys = map[string]buildKey{
	"apt": {read: func(p *parser, b *Build, name string, node *yaml.Node) bool {
		return p.words(&b.Apt, name, node, "libgl1", checkApt)
	}, copy: func(to, from *Build) { to.Apt = from.Apt }},
	"base": {read: func(p *parser, b *Build, name string, node *yaml.Node) bool {
		return p.word(&b.Base, name, node, func(text string) error {
			if _, err := reference.ParseNormalizedNamed(text); err != nil {
				return errors.New("is not the name of an image; write one such as debian:bookworm-slim")
			}
			return nil
		})
	}, copy: func(to, from *Build) { to.Base = from.Base }},
	"compiler": {read: func(p *parser, b *Build, name string, node *yaml.Node) bool {
		var text string
		ok := p.word(&text, name, node, func(text string) error {
			_, err := oneOf("auto", "true", "false")(text)
			return err
		})
		b.Compiler = nil
		if text != "auto" {
			yes := text == "true"
			b.Compiler = &yes
		}
		return ok
	}, copy: func(to, from *Build) { to.Compiler = from.Compiler }},
	"cuda": {read: func(p *parser, b *Build, name string, node *yaml.Node) bool {
		return p.word(&b.CUDA, name, node, func(text string) error {
			if text != "none" && text != "auto" && !cudaPattern.MatchString(text) {
				return errors.New(`is not known; write a version such as "12.4", none or auto`)
			}
			return nil
		})
	}, copy: func(to, from *Build) { to.CUDA = from.CUDA }},
	"check": {read: func(p *parser, b *Build, name string, node *yaml.Node) bool {
		return p.words(&b.Check, name, node, "torch", func(text string) error {
			if !modulePattern.MatchString(text) {
				return errors.New("is not the name of a Python module; write one as import does, such as torch or PIL.Image")
			}
			return nil
		})
	}, copy: func(to, from *Build) { to.Check = from.Check }},
	"memory": {machine: true, read: func(p *parser, b *Build, name string, node *yaml.Node) bool {
		return p.word(new(string), name, node, func(text string) (err error) {
			b.Memory, err = size(minBuildMemory)(text)
			return err
		})
	}, copy: func(to, from *Build) { to.Memory = from.Memory }},
	"cpus": {machine: true, read: func(p *parser, b *Build, name string, node *yaml.Node) bool {
		return p.word(new(string), name, node, func(text string) error {
			n, err := count(1, maxCPU+1, "a build is bounded to whole CPUs")(text)
			b.CPUs = int(n)
			return err
		})
	}, copy: func(to, from *Build) { to.CPUs = from.CPUs }},
}

var (
	cudaPattern   = lazyregexp.New(`^[0-9]{1,2}\.[0-9]{1,2}$`)
	modulePattern = lazyregexp.New(`^[A-Za-z_][A-Za-z0-9_]*(\.[A-Za-z_][A-Za-z0-9_]*)*$`)
	// Debian policy 5.6.1 and 5.6.12; a version that apt would read as
	// something else does not match.
	aptPattern = lazyregexp.New(`^[a-z0-9][a-z0-9+.-]+(=[0-9][A-Za-z0-9.+:~-]*)?$`)
)

// checkApt refuses what is no Debian package: the words end in a command line.
func checkApt(text string) error {
	// "name-" and "name+" remove and install for apt-get.
	name, _, _ := strings.Cut(text, "=")
	if !aptPattern.MatchString(text) || strings.HasSuffix(name, "-") {
		return errors.New("is not the name of a Debian package; write one such as libgl1, or with its version: ffmpeg=7:5.1.6-0+deb12u1")
	}
	return nil
}

// build reads the section build of one file.
func (p *parser) build(layer Layer, node *yaml.Node) {
	if !p.mapping("build", node, "{apt: [libgl1]}") {
		return
	}
	b := &Build{Origin: make(map[string]Source)}
	p.out.build = b
	known := append(slices.Sorted(maps.Keys(buildKeys)), "final")
	for pair := range p.pairs(node) {
		key, ok := buildKeys[pair.Name]
		switch {
		case pair.Name == "final":
			p.word(new(string), "build.final", pair.Value, func(text string) (err error) {
				p.out.buildFinal, err = parseBool(text)
				return err
			})
			if layer == Project || layer == User {
				p.errorf(pair.Key, "build.final has no meaning here; only the system's profiles.yaml can keep a bound")
			}
		case !ok:
			hint := yamlfile.DidYouMean(pair.Name, known)
			if hint == "" {
				hint = "; there are " + strings.Join(known, ", ")
			}
			p.errorf(pair.Key, "unknown key %q in build%s", pair.Name, hint)
		case !key.machine && (layer == User || layer == System):
			p.errorf(pair.Key, "build.%s makes another image, so it belongs into the repository's profiles.yaml; here build may have memory and cpus", pair.Name)
		case key.read(p, b, "build."+pair.Name, pair.Value):
			b.Origin[pair.Name] = p.at(pair.Value)
		}
	}
}

// word reads a single value that check accepts.
func (p *parser) word(to *string, name string, node *yaml.Node, check func(string) error) bool {
	text, ok := p.scalar(name, node)
	if !ok {
		return false
	}
	if err := check(text); err != nil {
		p.errorf(node, "%s is %q, which %v", name, text, err)
		return false
	}
	*to = text
	return true
}

// words reads a list of values that check accepts, each with its own place.
func (p *parser) words(to *[]string, name string, node *yaml.Node, example string, check func(string) error) bool {
	list := yamlfile.Resolve(node)
	if list.Kind != yaml.SequenceNode {
		p.errorf(node, "%s must be a list such as [%s], not %s", name, example, yamlfile.Kind(node))
		return false
	}
	good, all := true, []string{}
	for _, item := range list.Content {
		var text string
		if p.word(&text, "an entry of "+name, item, check) {
			all = append(all, text)
		} else {
			good = false
		}
	}
	*to = all
	return good
}

// LoadBuild gives what files, the nearest first, say of builds: each key from
// the nearest file that has it. A bound above one of a system's file whose
// build is final is lowered to it, with a Warning. The error joins an *Error
// for each mistake of a section build, and for what keeps a file from being
// read; profiles are not looked at.
func LoadBuild(files []File) (Build, []Warning, error) {
	l := &loader{set: &Set{}, order: make(map[string]int)}
	merged := Build{Origin: make(map[string]Source)}
	for _, file := range files {
		l.buildOnly = true
		l.read(file)
	}
	if len(l.errs) > 0 {
		return Build{}, l.warnings, l.joined()
	}
	for _, file := range l.set.files {
		if file.build == nil {
			continue
		}
		for name, key := range buildKeys {
			source, given := file.build.Origin[name]
			if _, nearer := merged.Origin[name]; given && !nearer {
				key.copy(&merged, file.build)
				merged.Origin[name] = source
			}
		}
	}
	for _, file := range l.set.files {
		if file.build != nil && file.buildFinal && file.file.Layer == System {
			l.warnings = append(l.warnings, merged.bound(file.build)...)
		}
	}
	return merged, l.warnings, nil
}

// bound lowers what is above a final bound.
func (b *Build) bound(final *Build) (warnings []Warning) {
	lower := func(name string, above bool, asked, most string) {
		if !above {
			return
		}
		at := b.Origin[name]
		warnings = append(warnings, Warning{Source: at, Message: fmt.Sprintf(
			"build.%s is %s; this machine allows %s (%s), which is taken", name, asked, most, final.Origin[name])})
		buildKeys[name].copy(b, final)
		b.Origin[name] = final.Origin[name]
	}
	lower("memory", final.Memory > 0 && b.Memory > final.Memory, formatSize(b.Memory), formatSize(final.Memory))
	lower("cpus", final.CPUs > 0 && b.CPUs > final.CPUs, fmt.Sprint(b.CPUs), fmt.Sprint(final.CPUs))
	return warnings
}
