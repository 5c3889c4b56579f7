package build

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// An explicit list is asked about and not solved; where its packages come from
// is a matter of mirrors and of the file's own passwords.
func TestExplicitList(t *testing.T) {
	file := filepath.Join(unpack(t, `-- spec.txt --
@EXPLICIT
https://conda.anaconda.org/conda-forge/linux-64/python-3.9.18-0.conda#0123456789abcdef0123456789abcdef
https://user:s3cr3t@lab.example.org/chan/noarch/lab-1-0.conda
https://example.org/releases/v1/six-1.16.0-0.tar.bz2
`), "spec.txt")
	p := open(t, file)
	var got solveRequest
	request := encode(p.solveRequest(kept{}))
	if err := json.Unmarshal(request, &got); err != nil {
		t.Fatal(err)
	}
	want := []condaFile{
		{Spec: "https://conda.anaconda.org/conda-forge/linux-64/python-3.9.18-0.conda#0123456789abcdef0123456789abcdef", Name: "python",
			URL: "https://conda.anaconda.org/conda-forge/linux-64/python-3.9.18-0.conda", Channel: "conda-forge", Address: "https://conda.anaconda.org/conda-forge",
			Subdir: "linux-64", File: "python-3.9.18-0.conda", MD5: "0123456789abcdef0123456789abcdef"},
		{Spec: "https://lab.example.org/chan/noarch/lab-1-0.conda", Name: "lab", URL: "https://lab.example.org/chan/noarch/lab-1-0.conda",
			Channel: "https://lab.example.org/chan", Address: "https://lab.example.org/chan", Subdir: "noarch", File: "lab-1-0.conda"},
		{Spec: "https://example.org/releases/v1/six-1.16.0-0.tar.bz2", Name: "six", URL: "https://example.org/releases/v1/six-1.16.0-0.tar.bz2",
			Address: "https://example.org/releases/v1", File: "six-1.16.0-0.tar.bz2"},
	}
	if diff := cmp.Diff(want, got.Files); diff != "" || !got.Exact {
		t.Errorf("exact %v, files -want +got:\n%s", got.Exact, diff)
	}
	if diff := cmp.Diff([]string{"conda-forge", "https://lab.example.org/chan"}, p.Environment.Channels); diff != "" {
		t.Errorf("channels -want +got:\n%s", diff)
	}
	s := Sources{Conda: map[string]string{"conda-forge": "https://mirror.example.org/forge"}, URLs: map[string]string{"https://example.org/": "https://mirror.example.org/files/"}}
	channels := s.file(p.Environment).Channels
	if diff := cmp.Diff(map[string][]string{
		"https://conda.anaconda.org/conda-forge": {"https://mirror.example.org/forge"},
		"https://lab.example.org/chan":           {"https://user:s3cr3t@lab.example.org/chan"},
		"https://example.org/releases/v1":        {"https://mirror.example.org/files/releases/v1"},
	}, channels); diff != "" {
		t.Errorf("where they are fetched from -want +got:\n%s", diff)
	}
	if strings.Contains(string(request), "s3cr3t") {
		t.Errorf("the request has the password: %s", request)
	}
	if _, err := Relock(t.Context(), solver{newEngine(t)}, newEngine(t), Request{Project: p}, Update{All: true}); err == nil || !strings.Contains(err.Error(), "is an explicit list") {
		t.Errorf("%v", err)
	}
}

func TestFileFaults(t *testing.T) {
	p := open(t, filepath.Join(unpack(t, "-- environment.yml --\nchannels: [conda-forge]\ndependencies:\n  - https://example.org/c/noarch/x-1-0.conda\n"), "environment.yml"))
	const spec = "https://example.org/c/noarch/x-1-0.conda"
	err := p.noSolution(failure{Kind: "file", Files: []fileFault{{spec, "the server says 404 Not Found"}}}).Error()
	if want := "environment.yml:3:5: " + spec + ": the server says 404 Not Found\n"; !strings.Contains(err, want) {
		t.Errorf("%s, want %s", err, want)
	}
	err = p.noSolution(failure{Kind: "conda", Core: []string{spec}, Changes: []change{{spec, "1.2.3"}}}).Error()
	if want := "x=1.2 in place of " + spec; !strings.Contains(err, want) {
		t.Errorf("%s, want %s", err, want)
	}
}
