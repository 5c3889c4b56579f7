package environment

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"crun.dev/crun/internal/yamlfile"
)

// pipOptions are the options of a requirements file, and those of pip's
// command line that people write there; see pip's req_file.py.
var pipOptions = map[string]struct {
	long string
	// argument is what follows: "", "address", "path" or "word".
	argument string
	// refusal says why crun does not build with it; "" where it does.
	refusal string
}{
	"-i":                {"--index-url", "address", ""},
	"--index-url":       {"--index-url", "address", ""},
	"--extra-index-url": {"--extra-index-url", "address", ""},
	"-f":                {"--find-links", "address", ""},
	"--find-links":      {"--find-links", "address", ""},
	"--pre":             {"--pre", "", ""},

	"-r":            {"-r", "path", ""},
	"--requirement": {"-r", "path", ""},
	"-c":            {"-c", "path", ""},
	"--constraint":  {"-c", "path", ""},
	"-e":            {"-e", "place", ""},
	"--editable":    {"-e", "place", ""},

	"--no-index":           {"--no-index", "", ""},
	"--no-binary":          {"--no-binary", "word", ""},
	"--only-binary":        {"--only-binary", "word", ""},
	"--require-hashes":     {"--require-hashes", "", ""},
	"--no-deps":            {"--no-deps", "", ""},
	"--no-build-isolation": {"--no-build-isolation", "", ""},
	"--prefer-binary":      {"--prefer-binary", "", ""},
	"--trusted-host":       {"--trusted-host", "word", ""},
	"--use-feature":        {"--use-feature", "word", "is pip's own, and crun installs with another program; take it out"},
	"--no-cache-dir":       {"--no-cache-dir", "", "is not needed; take it out: the cache is no part of the image"},
	"-U":                   {"--upgrade", "", "has no meaning in an environment that is made anew; take it out"},
	"--upgrade":            {"--upgrade", "", "has no meaning in an environment that is made anew; take it out"},
	"--user":               {"--user", "", "would install outside the environment; take it out"},
	"--global-option":      {"--global-option", "word", "is pip's own, and crun installs with another program; take it out"},
	"--config-settings":    {"--config-settings", "word", "is pip's own, and crun installs with another program; take it out"},
}

// unusedOptions change nothing in a build, and why.
var unusedOptions = map[string]string{
	"--prefer-binary": `where a version has a wheel, the wheel is taken; to rule source archives out, write "--only-binary PACKAGE"`,
	"--trusted-host":  "certificates are always checked, and http:// needs no word of trust; a private certificate authority is taken from SSL_CERT_FILE",
}

// parsePipOption reads a line that starts with "-".
func parsePipOption(text string, clean func(string) string) (PipRequirement, error) {
	name, written := cutOption(text)
	value := unquote(written)
	option, known := pipOptions[name]
	if !known {
		return PipRequirement{}, fmt.Errorf("has the option %s, which pip does not know%s", name, yamlfile.DidYouMean(name, slices.Sorted(maps.Keys(pipOptions))))
	}
	r := PipRequirement{Text: option.long, Kind: PipOption}
	// pip takes "--extra-index-url URL ; sys_platform != 'darwin'" and does not
	// look at the condition (the options of its req_file.py have none).
	if before, condition, found := strings.Cut(written, " ;"); found && option.argument != "" && option.argument != "place" {
		written = strings.TrimSpace(before)
		value, r.Marker = unquote(written), strings.TrimSpace(condition)
	}
	switch {
	case option.argument == "" && value != "":
		return r, fmt.Errorf("has %q behind %s, which takes nothing; write it as an item of its own", value, name)
	case option.argument == "":
		return r, nil
	case value == "":
		return r, fmt.Errorf("has nothing behind %s", name)
	case strings.HasPrefix(value, "-") && option.argument != "place":
		return r, fmt.Errorf("has %q behind %s, which reads as another option; a file of that name is ./%s", value, name, value)
	case strings.ContainsAny(value, " \t") && value == written && option.argument != "place":
		return r, errors.New("holds more than one option; write each as an item of its own")
	}
	var err error
	switch option.argument {
	case "address":
		if option.long == "--find-links" && (!strings.Contains(value, "://") || strings.HasPrefix(value, "file:")) {
			var place PipRequirement
			place, err = parsePlace(value)
			r.Path, r.written = place.Path, place.written
		} else {
			err = checkURL(value, "https", "http", "file")
		}
	case "path":
		r.Kind = map[string]PipKind{"-r": PipFile, "-c": PipConstraint}[option.long]
		if strings.Contains(value, "://") {
			err = checkURL(value, "https", "http", "file")
		} else {
			err = checkCharacters(value, pathCharacters)
		}
	case "place":
		r.Kind = PipEditable
		var target PipRequirement
		if target, err = parsePip(value, clean); err == nil {
			value = target.Text
			r.Name, r.Path, r.Extras, r.Marker, r.written = target.Name, target.Path, target.Extras, target.Marker, target.written
			switch target.Kind {
			case PipPackage:
				err = errors.New(`names neither a folder nor a repository; write "- -e ./FOLDER"`)
			case PipURL:
				err = errors.New(`names an archive, which cannot be edited; take "-e" away`)
			}
		}
	case "word":
		err = checkCharacters(value, pathCharacters)
	}
	if err != nil {
		return r, err
	}
	r.Text += " " + clean(value)
	return r, nil
}

// unquote takes the quotes off an option's value, as a shell does.
func unquote(value string) string {
	for _, quote := range []string{`"`, `'`} {
		inner, begins := strings.CutPrefix(value, quote)
		inner, ends := strings.CutSuffix(inner, quote)
		if begins && ends && !strings.Contains(inner, quote) {
			return inner
		}
	}
	return value
}

func optionName(text string) string {
	name, _ := cutOption(text)
	return name
}

// cutOption splits "--name value", "--name=value", "-x value" and "-xvalue".
func cutOption(text string) (name, value string) {
	if strings.HasPrefix(text, "--") {
		if i := strings.IndexAny(text, "= \t"); i >= 0 {
			return text[:i], strings.Trim(text[i+1:], "= \t")
		}
		return text, ""
	}
	end := min(2, len(text))
	return text[:end], strings.Trim(text[end:], "= \t")
}
