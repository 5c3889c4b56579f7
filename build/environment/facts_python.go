package environment

import (
	"slices"
	"strings"
)

// pythonEnds are the months in which versions of Python got their last fix
// (https://devguide.python.org/versions/); conda-forge stops building for one
// some months before or after.
var pythonEnds = []struct {
	python release
	month  string
}{
	{release{3, 8}, "October 2024"},
	{release{3, 7}, "June 2023"},
	{release{3, 6}, "December 2021"},
	{release{3, 5}, "September 2020"},
	{release{2, 7}, "January 2020"},
}

// lintPython looks at the version of Python, and for what it has itself.
func (p *parser) lintPython() {
	python, _ := p.env.Python()
	for _, row := range pythonEnds {
		if minor(pinned(python.Version)) == row.python.String() {
			last := ""
			if torch := lastTorch[row.python.String()]; torch != "" {
				last = " (torch's last for it is " + torch + ")"
			}
			p.find("python-ended", SeverityNote, python.Pos,
				"Python %s had its last fix in %s; newer releases of most packages have no build for it%s", row.python, row.month, last)
		}
	}
	for _, spec := range p.env.Conda {
		if slices.Contains(inPython, spec.Name) && spec.Build == "" && !slices.Contains(condaHas, spec.Name) {
			p.find("in-python", SeverityWarning, spec.Pos, "%s is a part of Python itself and no package; take the line out", spec.Name).Fix = fix(true, p.removeItem(spec.Pos))
		}
	}
	for _, section := range p.env.Pip {
		for _, r := range section.Requirements {
			if r.Kind == PipPackage && !strings.Contains(r.Text, ";") && slices.Contains(inPython, r.Name) {
				p.find("in-python", SeverityWarning, r.Pos,
					"%s is a part of Python itself; what PyPI has under that name is for an old Python, or something else: take the line out", r.Name).Fix = fix(true, p.removeItem(r.Pos))
			}
		}
	}
}

// inPython are modules of Python's standard library
// (https://docs.python.org/3/py-modindex.html) that people list as packages, and
// the packages that once brought them to older Pythons.
var inPython = []string{
	"abc", "argparse", "array", "ast", "asyncio", "base64", "bisect", "bz2", "calendar", "cmath", "collections", "concurrent", "contextlib",
	"contextvars", "copy", "csv", "ctypes", "dataclasses", "datetime", "decimal", "doctest", "email", "enum", "enum34", "fractions", "functools",
	"functools32", "futures", "gc", "getopt", "gettext", "glob", "gzip", "hashlib", "heapq", "hmac", "html", "http", "importlib", "inspect", "io",
	"itertools", "json", "locale", "logging", "lzma", "math", "multiprocessing", "operator", "os", "pathlib", "pdb", "pickle", "pkgutil", "platform",
	"pprint", "queue", "random", "re", "secrets", "shutil", "socket", "sqlite3", "ssl", "statistics", "string", "struct", "subprocess", "subprocess32",
	"sys", "tarfile", "tempfile", "textwrap", "threading", "time", "timeit", "tkinter", "traceback", "turtle", "types", "typing", "unittest", "urllib",
	"uuid", "warnings", "weakref", "xml", "zipfile", "zlib",
}

// condaHas are those that conda channels have packages of: C libraries, and
// empty ones that older files may go on to ask for.
var condaHas = []string{
	"argparse", "array", "asyncio", "concurrent", "contextvars", "dataclasses", "doctest", "enum34", "functools32", "futures", "gettext", "gzip",
	"html", "http", "locale", "operator", "pathlib", "platform", "time", "typing", "uuid", "xml", "zlib",
}
