package environment

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"crun.dev/crun/internal/yamlfile"
)

// Severity is how much a finding matters.
type Severity string

const (
	// SeverityError: the file cannot be built. Parse gives these as errors,
	// Lint as findings.
	SeverityError Severity = "error"
	// SeverityWarning: the build or the training may fail, or give something
	// else than was meant.
	SeverityWarning Severity = "warning"
	// SeverityNote: crun did something that the file does not say, or the
	// file is good here and now alone.
	SeverityNote Severity = "note"
)

// Finding is a remark on a file.
type Finding struct {
	// Code is a stable word for scripts and the documentation: "no-channels".
	// Codes explains each.
	Code     string
	Severity Severity
	Pos      yamlfile.Position
	// Message says what is wrong and what to write instead.
	Message string
	// Fix is what Message says to write, as changes of the file's text for
	// yamlfile.Apply; nil where a person has to decide what comes there. Of
	// two findings whose edits touch the same text, one can be applied; the
	// file is then read anew. No secret is in it.
	Fix *yamlfile.Fix

	// unknown are the packages of a full export that stay because nothing is
	// known of them.
	unknown []string
}

// String gives "FILE:LINE:COLUMN: SEVERITY: MESSAGE (CODE)".
func (f Finding) String() string {
	return fmt.Sprintf("%s: %s: %s (%s)", f.Pos, f.Severity, f.Message, f.Code)
}

// Lint reads a file and gives all that there is to say about it in the order of
// the file: its mistakes and what crun cannot build, as findings of
// SeverityError, and the findings of Parse. The error is that of opts alone.
func Lint(data []byte, opts Options) ([]Finding, error) {
	env, findings, err := Parse(data, opts)
	errs := flatten(err)
	if err == nil {
		errs = env.Unsupported()
	}
	for _, err := range errs {
		var e *yamlfile.Error
		if !errors.As(err, &e) {
			return nil, err
		}
		findings = append(findings, Finding{Code: e.Code, Severity: SeverityError, Pos: e.Position, Message: e.Message, Fix: e.Fix})
	}
	sortFindings(fileName(opts), findings)
	return findings, nil
}

// Sorted gives findings in the order of the lines, those of file first.
func Sorted(file string, findings []Finding) []Finding {
	sortFindings(file, findings)
	return findings
}

func sortFindings(file string, findings []Finding) {
	sortByPlace(file, findings, func(f Finding) yamlfile.Position { return f.Pos })
}

// sortByPlace puts what is about file first, then that of other files in the
// order in which they come, each in the order of its lines.
func sortByPlace[T any](file string, list []T, at func(T) yamlfile.Position) {
	files := map[string]int{file: 0}
	for _, item := range list {
		if name := at(item).File; files[name] == 0 && name != file {
			files[name] = len(files)
		}
	}
	slices.SortStableFunc(list, func(a, b T) int {
		x, y := at(a), at(b)
		return cmp.Or(files[x.File]-files[y.File], x.Line-y.Line, x.Column-y.Column)
	})
}

// flatten takes a joined error apart.
func flatten(err error) []error {
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		return joined.Unwrap()
	}
	if err == nil {
		return nil
	}
	return []error{err}
}

// withoutSecret gives fix, or nil where it would show a secret of the file.
func withoutSecret(fix *yamlfile.Fix) *yamlfile.Fix {
	if fix == nil {
		return nil
	}
	for _, e := range fix.Edits {
		if Redact(e.Old) != e.Old || Redact(e.New) != e.New {
			return nil
		}
	}
	return fix
}
