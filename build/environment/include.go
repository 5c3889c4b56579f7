package environment

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"crun.dev/crun/internal/yamlfile"
)

// maxIncludes bounds the files of one environment; real ones have up to ten.
const maxIncludes = 200

// addPip puts a line of a pip section, or of a file that one names, where it
// belongs: the lines of a file stand in the place of the "-r" that names it.
func (p *parser) addPip(section *PipSection, r PipRequirement, constraint bool) {
	if r.Kind == PipPackage && r.Name == "python" && !constraint {
		p.errorf(r.Pos, `python is no pip package; write "- python=3.9" above, under dependencies`)
	}
	switch {
	case (r.Kind == PipFile || r.Kind == PipConstraint) && p.opts.ReadFile != nil:
		p.include(section, r)
	case constraint && r.Kind != PipOption:
		p.addConstraint(r)
	default:
		p.place(&r)
		section.Requirements = append(section.Requirements, r)
	}
}

// addConstraint takes a line of a file that "-c" names.
func (p *parser) addConstraint(r PipRequirement) {
	switch {
	case r.Kind == PipEditable, r.Kind == PipPath:
		p.errorf(r.Pos, "%q is a place and no version, which a file of constraints cannot say; name it with a requirement", r.Text)
	case strings.Contains(r.Text, "["):
		p.errorf(r.Pos, "%q asks for extras, which a constraint cannot; take them out here", r.Text)
	default:
		p.env.Constraints = append(p.env.Constraints, r)
	}
}

// include reads the file that r names, relative to the file that r stands in.
func (p *parser) include(section *PipSection, r PipRequirement) {
	option, name, _ := strings.Cut(r.Text, " ")
	if strings.Contains(name, "://") {
		p.errorf(r.Pos, "%q is on a server, and may say something else tomorrow; keep a copy of it beside this file and name that", r.Text)
		return
	}
	file := name
	if !path.IsAbs(name) {
		file = path.Join(path.Dir(r.Pos.File), name)
	}
	if i := slices.Index(p.including, file); i >= 0 {
		p.errorf(r.Pos, "%q goes round in a circle (%s); take one of the lines out", r.Text, strings.Join(append(p.including[i:], file), " -> "))
		return
	}
	if p.includes++; p.includes > maxIncludes {
		if p.includes == maxIncludes+1 {
			p.errorf(r.Pos, "%q is one file too many; at most %d are read", r.Text, maxIncludes)
		}
		return
	}
	lines, err := p.readLines(file)
	if err != nil {
		p.errorf(r.Pos, "%q names %s, which %v", r.Text, file, err)
		return
	}
	p.including = append(p.including, file)
	p.pipFile(section, lines, option == "-c")
	p.including = p.including[:len(p.including)-1]
}

// readLines gives the lines of a requirements file; the error goes on after
// the file's name.
func (p *parser) readLines(file string) ([]pipLine, error) {
	data, err := p.opts.ReadFile(file)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, errors.New("does not exist; add it, or take the line out")
	case err != nil:
		var pathErr *fs.PathError
		if errors.As(err, &pathErr) {
			err = pathErr.Err
		}
		return nil, fmt.Errorf("cannot be read: %w", err)
	case len(data) > yamlfile.MaxSize:
		return nil, errors.New("is larger than 1 MiB, which is no list of requirements")
	}
	text, err := yamlfile.Text(data)
	if err != nil {
		return nil, err
	}
	return pipLines(string(text), file), nil
}

// pipFile reads the lines of a requirements file.
func (p *parser) pipFile(section *PipSection, lines []pipLine, constraint bool) {
	for _, line := range lines {
		if most := longest(line.text); len(line.text) > most {
			p.errorf(line.pos, "the line is %d bytes long; a requirement has at most %d", len(line.text), most)
			continue
		}
		if p.lookalike(line.text, line.pos) {
			continue
		}
		r, err := PipRequirement{}, notPip(line.text)
		if err == nil {
			r, err = p.pipRequirement(line.text, line.pos)
		}
		if err != nil {
			p.errorf(line.pos, "%s %s", quote(line.text), inFile.Replace(err.Error()))
			continue
		}
		p.addPip(section, r, constraint)
	}
}
