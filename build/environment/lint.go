package environment

import (
	"fmt"
	"strings"

	"crun.dev/crun/internal/lazyregexp"
	"crun.dev/crun/internal/yamlfile"
)

// lint looks for what can be parsed but was hardly meant. The facts that it
// rests on stand, each with its source, in the files facts_*.go.
func (p *parser) lint() {
	p.lintChannels()
	p.lintExport()
	p.lintBuilds()
	p.lintBuildPython()
	p.lintWheelPython()
	p.lintTorch()
	p.lintPytorchChannel()
	p.lintCUDA()
	p.lintLocalVersions()
	p.lintFailures()
	p.lintPython()
	p.lintOpenPython()
	p.lintNames()
	p.lintTwice()
	p.lintPlatforms()
	p.lintPip()
	p.lintCredentials()
}

// lintBuilds counts exact build strings, which only the system and the channel
// of the day have. A build with a wildcard, or a variant's bare word
// (mpi=*=openmpi), is a choice that a person made.
func (p *parser) lintBuilds() {
	var first CondaSpec
	count := 0
	specs := map[string]CondaSpec{}
	for _, spec := range p.env.Conda {
		specs[spec.Name] = spec
	}
	var edits []yamlfile.Edit
	for _, spec := range p.env.Conda {
		if !spec.PinsBuild() || spec.URL != "" {
			continue
		}
		if count++; count == 1 {
			first = spec
		}
		edits = append(edits, p.rewriteItem(spec.Pos, withoutBuild(spec, specs))...)
	}
	if count > 0 {
		what := fmt.Sprintf("%d packages ask", count)
		if count == 1 {
			what = "1 package asks"
		}
		p.find("build-pins", SeverityNote, first.Pos,
			`%s for one exact build, which another system or a later day may not have; crun.lock pins builds by itself: "conda env export --no-builds" leaves them out`, what).Fix = fix(true, edits)
	}
}

// buildPython is the Python in a build string: py39h06a4308_0, py3.9_cuda11.3_0,
// gpu_py37h7a4bb67_0.
var buildPython = lazyregexp.New(`(?:^|_)py([23])\.?([0-9]{1,2})(?:h[0-9a-f]|_|$)`)

// lintBuildPython looks for builds that were made for another Python than the
// one that is asked for.
func (p *parser) lintBuildPython() {
	python, _ := p.env.Python()
	want := pinned(python.Version)
	if len(want) < 2 {
		return
	}
	var first CondaSpec
	other, count := "", 0
	for _, spec := range p.env.Conda {
		m := buildPython.FindStringSubmatch(spec.Build)
		if m == nil || strings.Contains(spec.Build, "*") || m[1]+"."+m[2] == minor(want) {
			continue
		}
		if count++; count == 1 {
			first, other = spec, m[1]+"."+m[2]
		}
	}
	if count > 0 {
		more := ""
		if count > 1 {
			more = fmt.Sprintf(", and so are %d more", count-1)
		}
		p.find("build-python", SeverityWarning, first.Pos, `%s is a build for Python %s%s, but the file asks for %s; write "- python=%s" or take the builds out`, first, other, more, python, other)
	}
}

// wheelPython is the Python of a wheel's name that no other one takes; "abi3"
// in the second place goes with all newer ones
// (https://packaging.python.org/en/latest/specifications/platform-compatibility-tags/).
var wheelPython = lazyregexp.New(`-cp([23])([0-9]{1,2})-cp[0-9]+[a-z]*-[^/]*\.whl(?:[#?\s]|$)`)

// lintWheelPython looks for wheels, by their address, of another Python than the
// environment's, which pip refuses.
func (p *parser) lintWheelPython() {
	python, _ := p.env.Python()
	want := pinned(python.Version)
	if len(want) < 2 {
		return
	}
	for _, section := range p.env.Pip {
		for _, r := range section.Requirements {
			m := wheelPython.FindStringSubmatch(r.Text)
			if r.Kind != PipURL || m == nil || foreignWheel.MatchString(r.Text) || m[1]+"."+m[2] == minor(want) || !p.applies(r) {
				continue
			}
			p.find("build-python", SeverityWarning, r.Pos, "%q is a wheel for Python %s.%s, which pip does not install into Python %s; name the wheel for %s, or take Python %s.%s", r.Text, m[1], m[2], minor(want), minor(want), m[1], m[2])
		}
	}
}

// pinnedRef is a commit or a release's tag behind the "@" of a repository.
var pinnedRef = lazyregexp.New(`\.git@(?:[0-9a-f]{7,64}|[^#\s]*[0-9]+\.[0-9][^#\s]*)(?:#|\s|$)|@(?:[0-9a-f]{7,64}|v?[0-9]+\.[0-9][^#\s/@]*)(?:#|\s|$)`)

// lintPip looks at repositories and folders.
func (p *parser) lintPip() {
	for _, section := range p.env.Pip {
		for _, r := range section.Requirements {
			isRepository := r.Kind == PipVCS || r.Kind == PipEditable && strings.Contains(r.Text, "://")
			switch {
			case isRepository && !pinnedRef.MatchString(r.Text):
				p.find("vcs-unpinned", SeverityWarning, r.Pos,
					`%q names no commit, so that a new lock may take other code; write "@COMMIT" behind the address`, r.Text)
			case r.Kind == PipEditable && isRepository:
				p.find("editable-installed", SeverityNote, r.Pos, `%q: the repository is installed as a package ("-e" is for folders of the project)`, r.Text)
			case isRepository:
			case r.Kind == PipOption && r.Marker != "":
				p.find("option-unused", SeverityNote, r.Pos, "the condition %q behind %s is not used: pip knows none for an option", r.Marker, optionName(r.Text))
			case r.Kind == PipOption && unusedOptions[optionName(r.Text)] != "":
				p.find("option-unused", SeverityNote, r.Pos, "%q is not used: %s", r.Text, unusedOptions[optionName(r.Text)])
			case r.isLocal() && p.kind != kindTOML: // there it is the project itself
				p.find("local-path", SeverityNote, r.Pos, "%q is a folder or file of this machine; whoever builds the environment elsewhere needs it too", r.Text)
			}
		}
	}
}

// secretName is what variables with secrets are called.
var secretName = lazyregexp.New(`(?i)(?:^|_)(?:TOKEN|SECRET|PASSWORD|PASSWD|API_?KEY|ACCESS_?KEY|PRIVATE_?KEY|SECRET_?KEY|CREDENTIALS?)$`)

func (v Variable) isSecret() bool {
	return v.Value != "" && (secretName.MatchString(v.Name) || Redact(v.Value) != v.Value)
}

func (p *parser) lintCredentials() {
	for _, c := range p.env.Credentials {
		p.find("credential-in-file", SeverityWarning, c.Pos,
			"the address %s has a credential, which everyone who has the file can read; take it out, and make it void where it was given", c.URL)
	}
	for _, v := range p.env.Variables {
		if v.isSecret() {
			p.find("credential-in-file", SeverityWarning, v.Pos,
				"variable %s looks like a secret, which everyone who has the file can read: it is left out of the image; take it out of the file too, and give it to a run with -e %s", v.Name, v.Name)
		}
	}
}
