package environment

import (
	"fmt"
	"slices"
	"strings"

	"crun.dev/crun/internal/yamlfile"
)

// everywhere are packages that come with every Python of conda, or with its
// builds for one system. Nobody asks for several of them.
var everywhere = []string{
	"_libgcc_mutex", "_openmp_mutex", "bzip2", "ca-certificates", "ld_impl_linux-64", "libffi", "libgcc-ng", "libgcc", "libsqlite", "liblzma",
	"libzlib", "libstdcxx-ng", "ncurses", "openssl", "readline", "sqlite", "tk", "tzdata", "xz", "zlib", "libcxx", "vc", "vs2015_runtime",
}

// exported tells whether the file is what "conda env export" wrote, or a list
// of the same kind: nearly all packages have one exact version, and those that
// come with every Python are among them.
func exported(specs []CondaSpec) bool {
	exact, found := 0, 0
	for _, spec := range specs {
		if spec.isExact() {
			exact++
		}
		if slices.Contains(everywhere, spec.Name) {
			found++
		}
	}
	return found >= 4 && exact*10 >= len(specs)*9
}

// isExact tells whether the spec has one version: "=1.2.3" or "==1.2.3".
func (s CondaSpec) isExact() bool {
	clauses := clauses(s.Version)
	return len(clauses) == 1 && strings.Trim(clauses[0].operator, "=") == "" && !strings.Contains(s.Version, "*")
}

// written gives the specs that stand in the file, without what crun added.
func (p *parser) written() []CondaSpec {
	return slices.DeleteFunc(slices.Clone(p.env.Conda), func(spec CondaSpec) bool {
		before := string([]rune(p.line(spec.Pos.Line))[:max(0, spec.Pos.Column-1)])
		return spec.URL == "" && !strings.HasSuffix(strings.TrimRight(before, " \t"), "-")
	})
}

// lintExport looks for a full export, and finds what a person would have
// written in its place.
func (p *parser) lintExport() {
	specs := p.written()
	if !exported(specs) {
		return
	}
	requires, known := p.requirements(specs)
	there := slices.DeleteFunc(slices.Clone(specs), func(spec CondaSpec) bool { return spec.Name == "" || isForeign(spec) })
	var all, unknown []string
	byName := map[string]CondaSpec{}
	for _, spec := range there {
		all = append(all, spec.Name)
		byName[spec.Name] = spec
	}
	// What nobody asks for comes with anything, and every file has Python.
	nobody := requires("anything")
	all = slices.DeleteFunc(all, func(name string) bool { return slices.Contains(nobody, name) })
	// Some tools write the channel before every package.
	channels := 0
	for _, spec := range there {
		if spec.Channel != "" {
			channels++
		}
	}
	ownChannel := channels*2 < len(there)
	needed := map[string]bool{}
	for _, name := range Needed(all, func(name string) bool {
		spec := byName[name]
		return Chosen(name) || !spec.isExact() || ownChannel && spec.Channel != "" || isHeld(name, byName)
	}, requires) {
		needed[name] = true
	}
	// pip comes with Python; it is said where it has something to do.
	needed["pip"] = len(p.env.Pip) > 0 && byName["pip"].Name != ""
	var edits []yamlfile.Edit
	kept := 0
	for _, spec := range specs {
		switch {
		case isForeign(spec):
			// lintPlatforms takes it out.
			continue
		case spec.Name != "" && !needed[spec.Name]:
			edits = append(edits, p.removeItem(spec.Pos)...)
			continue
		case spec.Name == "pip":
			edits = append(edits, p.rewriteItem(spec.Pos, "pip")...)
		case spec.PinsBuild():
			edits = append(edits, p.rewriteItem(spec.Pos, withoutBuild(spec, byName))...)
		}
		kept++
		if spec.Name != "" && !known(spec.Name) && !Chosen(spec.Name) {
			unknown = append(unknown, spec.Name)
		}
	}
	if kept == len(specs) {
		return
	}
	message := fmt.Sprintf("this is a full export: of its %d conda packages %d are asked for, and the others come along with those", len(specs), kept)
	if len(unknown) > 0 {
		message += fmt.Sprintf(" (of %s crun does not know it: kept)", listed(unknown, 8))
	}
	f := p.find("full-export", SeverityNote, specs[0].Pos, `%s; "crun lint --fix" leaves those %d, without builds`, message, kept)
	f.Fix, f.unknown = fix(true, edits), unknown
}

// requirements gives what the packages require of each other, by the prefix
// that the file names where it is on this machine and by what is known
// otherwise, and tells which packages are known.
func (p *parser) requirements(specs []CondaSpec) (of func(name string) []string, known func(name string) bool) {
	byTable, inTable := knownRequires(specs)
	if p.opts.Installed == nil || p.prefix == "" {
		return byTable, inTable
	}
	installed := p.opts.Installed(p.prefix)
	if installed == nil {
		return byTable, inTable
	}
	versions := map[string]string{}
	for _, spec := range specs {
		versions[spec.Name] = strings.TrimLeft(spec.Version, "=")
	}
	// The prefix may have changed since the export.
	same := func(name string) ([]string, bool) {
		version, requires, ok := installed(name)
		return requires, ok && version == versions[name]
	}
	of = func(name string) []string {
		if requires, ok := same(name); ok {
			return requires
		}
		return byTable(name)
	}
	known = func(name string) bool {
		_, ok := same(name)
		return ok || inTable(name)
	}
	return of, known
}

// isForeign tells whether a package is for another system than Linux.
func isForeign(spec CondaSpec) bool {
	return foreignTo(spec.Name) != "" || strings.HasPrefix(spec.Subdir, "win-") || strings.HasPrefix(spec.Subdir, "osx-")
}

// held are packages that stay although others bring them: name below a
// version, beside a package below a version. A newer one breaks an older
// package that does not say so, or the package there brings none of its own.
var held = []struct {
	name   string
	below  release // nil: any
	beside string
	than   release // nil: any
}{
	// https://github.com/pytorch/pytorch/issues/123097 (iJIT_NotifyEvent)
	{"mkl", release{2024, 1}, "pytorch", release{2, 5}},
	// https://github.com/pytorch/pytorch/issues/69894 (distutils.version)
	{"setuptools", release{59, 6}, "pytorch", release{1, 11}},
	// https://protobuf.dev/news/2022-05-06/ (generated code of before 3.19)
	{"protobuf", release{4}, "tensorboard", nil},
	{"protobuf", release{4}, "tensorflow", nil},
	// The pytorch channel's torch, which has this package beside it, holds them
	// itself: somebody asked for them.
	{"cudnn", nil, "pytorch-mutex", nil},
	{"nccl", nil, "pytorch-mutex", nil},
}

func isHeld(name string, specs map[string]CondaSpec) bool {
	for _, h := range held {
		beside, ok := specs[h.beside]
		if name == h.name && ok && (h.below == nil || isBelow(specs[name].Version, h.below)) && (h.than == nil || isBelow(beside.Version, h.than)) {
			return true
		}
	}
	return false
}

// selectors are the packages that choose between builds of torch for CPUs and
// for CUDA.
var selectors = []string{"cudatoolkit", "cuda-version", "pytorch-cuda", "cpuonly", "pytorch-cpu", "pytorch-gpu"}

// withoutBuild is the spec's text without its build, but for TorchVariant.
func withoutBuild(spec CondaSpec, specs map[string]CondaSpec) string {
	var names []string
	for name := range specs {
		names = append(names, name)
	}
	spec.Build = TorchVariant(spec.Name, spec.Build, names)
	return spec.text()
}

// TorchVariant gives the pattern "*cuda*" or "*cpu*" for a build of torch, whose
// builds for CUDA and for CPUs have one name and version, where none of the
// packages beside it makes that choice. It is "" for other packages, and beside
// those of a Mac or of Windows, where the build says nothing for Linux.
func TorchVariant(name, build string, beside []string) string {
	if !slices.Contains(condaTorch, name) || slices.ContainsFunc(beside, func(other string) bool {
		return slices.Contains(selectors, other) || foreignTo(other) != ""
	}) {
		return ""
	}
	for _, variant := range []string{"cuda", "cpu"} {
		if strings.Contains(build, variant) {
			return "*" + variant + "*"
		}
	}
	return ""
}

// listed names up to most, and how many more there are.
func listed(names []string, most int) string {
	if len(names) <= most {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:most], ", "), len(names)-most)
}
