package environment

import (
	"strings"

	"crun.dev/crun/internal/lazyregexp"
	"crun.dev/crun/internal/names"
)

// foreignPackages are those that "conda env export" writes on another system
// and that have no build, or no use, on Linux. Windows: the compilers'
// runtimes of conda-forge's vc-feedstock, MSYS2's ports (m2-, m2w64-), pywin32
// and what stands on it. macOS: Apple's C++ runtime and linker of
// conda-forge's libcxx-, cctools-and-ld64- and pyobjc feedstocks. They serve a
// warning alone. Names are in the form of names.Distribution.
var foreignPackages = map[string]string{
	"vc":                  "Windows",
	"vc14-runtime":        "Windows",
	"vs2013-runtime":      "Windows",
	"vs2015-runtime":      "Windows",
	"vs2017-win-64":       "Windows",
	"vs2019-win-64":       "Windows",
	"vs2022-win-64":       "Windows",
	"vcomp14":             "Windows",
	"ucrt":                "Windows",
	"icc-rt":              "Windows",
	"msys2-conda-epoch":   "Windows",
	"pywin32":             "Windows",
	"pywin32-ctypes":      "Windows",
	"pypiwin32":           "Windows",
	"pywinpty":            "Windows",
	"winpty":              "Windows",
	"win-inet-pton":       "Windows",
	"win-unicode-console": "Windows",
	"wincertstore":        "Windows",
	"console-shortcut":    "Windows",
	"pyreadline":          "Windows",
	"libcxx":              "macOS",
	"libcxxabi":           "macOS",
	"appnope":             "macOS",
	"cctools":             "macOS",
	"cctools-osx-64":      "macOS",
	"cctools-osx-arm64":   "macOS",
	"ld64":                "macOS",
	"ld64-osx-64":         "macOS",
	"ld64-osx-arm64":      "macOS",
	"clang-osx-64":        "macOS",
	"clang-osx-arm64":     "macOS",
	"python-app":          "macOS",
	"pyobjc-core":         "macOS",
}

// foreignPrefixes are those of whole families.
var foreignPrefixes = map[string]string{
	"m2w64-":            "Windows",
	"m2-":               "Windows",
	"pyobjc-framework-": "macOS",
}

// foreignTo names the system that a package is for, or "" for Linux.
func foreignTo(name string) string {
	name = names.Distribution(name)
	if system := foreignPackages[name]; system != "" {
		return system
	}
	switch {
	case strings.HasSuffix(name, "-win-64"):
		return "Windows"
	case strings.HasSuffix(name, "-osx-64"), strings.HasSuffix(name, "-osx-arm64"):
		return "macOS"
	}
	for prefix, system := range foreignPrefixes {
		if strings.HasPrefix(name, prefix) {
			return system
		}
	}
	return ""
}

// foreignWheel is the name of a wheel for Windows or macOS
// (https://packaging.python.org/en/latest/specifications/platform-compatibility-tags/).
var foreignWheel = lazyregexp.New(`-(win|macosx)(?:_[a-z0-9_]+|32)\.whl(?:[#?\s]|$)`)

// lintPlatforms looks for packages of another system.
func (p *parser) lintPlatforms() {
	for _, spec := range p.env.Conda {
		system := foreignTo(spec.Name)
		switch {
		case strings.HasPrefix(spec.Subdir, "win-"):
			system = "Windows"
		case strings.HasPrefix(spec.Subdir, "osx-"):
			system = "macOS"
		}
		if system != "" {
			selector := map[string]string{"Windows": "win", "macOS": "osx"}[system]
			p.find("other-platform", SeverityWarning, spec.Pos,
				`%s is a package for %s, and the image is Linux: take the line out, or mark it "# [%s]"`, spec.Name, system, selector).Fix = fix(true, p.removeItem(spec.Pos))
		}
	}
	for _, section := range p.env.Pip {
		for _, r := range section.Requirements {
			if m := foreignWheel.FindStringSubmatch(r.Text); m != nil && r.Kind == PipURL && p.applies(r) {
				system, word := "Windows", "win32"
				if m[1] == "macosx" {
					system, word = "macOS", "darwin"
				}
				p.find("other-platform", SeverityWarning, r.Pos, `%q is a wheel for %s, which pip does not install on Linux: name the one for Linux, or write " ; sys_platform == '%s'" behind it`, r.Text, system, word)
				continue
			}
			system := foreignTo(r.Name)
			if system == "" || r.Kind != PipPackage || strings.Contains(r.Text, ";") {
				continue
			}
			word := map[string]string{"Windows": "win32", "macOS": "darwin"}[system]
			p.find("other-platform", SeverityWarning, r.Pos,
				`%s is a package for %s, and the image is Linux: take the line out, or write "%s; sys_platform == '%s'"`, r.Name, system, r.Text, word).Fix = fix(true, p.removeItem(r.Pos))
		}
	}
}
