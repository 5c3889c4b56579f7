package environment

import "testing"

// Quotes around what an option names are those of a shell, and of pip.
func TestQuotedOptions(t *testing.T) {
	for text, want := range map[string]string{
		`-r "requirements/train.txt"`:                    "-r requirements/train.txt",
		`-r 'requirements/train.txt'`:                    "-r requirements/train.txt",
		`-r  "requirements/train.txt"`:                   "-r requirements/train.txt",
		`-r"requirements/train.txt"`:                     "-r requirements/train.txt",
		`--requirement="requirements/train.txt"`:         "-r requirements/train.txt",
		`-c "held.txt"`:                                  "-c held.txt",
		`-e "./libs/se3[dev]"`:                           "-e ./libs/se3[dev]",
		`--find-links "https://data.example.org/w.html"`: "--find-links https://data.example.org/w.html",
		`--index-url 'https://pypi.example.org/simple'`:  "--index-url https://pypi.example.org/simple",
	} {
		t.Run(text, func(t *testing.T) {
			r, err := parsePip(text, func(s string) string { return s })
			if err != nil || r.Text != want {
				t.Errorf("%q, %v", r.Text, err)
			}
		})
	}
	for _, text := range []string{`-r "a.txt`, `-r "a.txt" "b.txt"`, `-r a"b".txt`, `-r ""`, `-r "a b.txt"`} {
		if r, err := parsePip(text, func(s string) string { return s }); err == nil {
			t.Errorf("%s is taken as %q", text, r.Text)
		}
	}
}
