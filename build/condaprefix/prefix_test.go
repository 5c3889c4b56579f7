package condaprefix

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
)

func TestReadMistakes(t *testing.T) {
	record := `{"name": "python", "version": "3.9.18", "build": "0", "channel": "conda-forge"}`
	for name, test := range map[string]struct {
		files map[string]string
		want  string
	}{
		"nothing":      {nil, ErrNoPrefix.Error()},
		"no packages":  {map[string]string{"conda-meta/history": ""}, ErrNoPrefix.Error()},
		"half written": {map[string]string{"conda-meta/a-1-0.json": `{"name": "a`}, "conda-meta/a-1-0.json is no record of conda's: unexpected end of JSON input"},
		"no name":      {map[string]string{"conda-meta/a-1-0.json": `{"version": "1"}`}, `conda-meta/a-1-0.json records the package "", version "1", which no package has`},
		"a command":    {map[string]string{"conda-meta/a-1-0.json": `{"name": "a; rm", "version": "1"}`}, `conda-meta/a-1-0.json records the package "a; rm"`},
		"state":        {map[string]string{"conda-meta/p.json": record, "conda-meta/state": "x"}, "conda-meta/state is not conda's"},
		"metadata": {map[string]string{"conda-meta/p.json": record, "lib/python3.9/site-packages/a-1.dist-info/METADATA": "Name: a\n"},
			"lib/python3.9/site-packages/a-1.dist-info/METADATA: names no package or no version"},
	} {
		fsys := fstest.MapFS{}
		for path, text := range test.files {
			fsys[path] = &fstest.MapFile{Data: []byte(text)}
		}
		_, err := Read(fsys)
		if err == nil || !strings.HasPrefix(err.Error(), test.want) {
			t.Errorf("%s: %v, want %s", name, err, test.want)
		}
		if test.want == ErrNoPrefix.Error() && !errors.Is(err, ErrNoPrefix) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A pipe would be waited for, a device read without end.
func TestReadNoFiles(t *testing.T) {
	record := `{"name": "python", "version": "3.9.18", "build": "0", "channel": "conda-forge"}`
	for _, path := range []string{
		"conda-meta/p.json", "conda-meta/history", "conda-meta/state",
		"lib/python3.9/site-packages/a-1.dist-info/METADATA", "lib/python3.9/site-packages/b.egg-link",
	} {
		fsys := fstest.MapFS{"conda-meta/a.json": {Data: []byte(record)}, path: {Data: []byte(record), Mode: fs.ModeNamedPipe}}
		if _, err := Read(fsys); err == nil || !strings.Contains(err.Error(), path+": is no regular file") {
			t.Errorf("%s: %v", path, err)
		}
	}
}

func TestChannelName(t *testing.T) {
	for in, want := range map[string]string{
		"https://conda.anaconda.org/conda-forge/linux-64":              "conda-forge",
		"https://conda.anaconda.org/nvidia/label/cuda-11.8.0/noarch":   "nvidia/label/cuda-11.8.0",
		"https://conda.anaconda.org/t/secret-1/lab/linux-64":           "lab",
		"https://repo.anaconda.com/pkgs/main/linux-64":                 "defaults",
		"https://repo.anaconda.com/pkgs/r/noarch/":                     "defaults",
		"https://repo.continuum.io/pkgs/free/linux-64":                 "pkgs/free",
		"https://mirror.example.edu/anaconda/cloud/pytorch/linux-64":   "pytorch",
		"https://mirror.example.edu/x/anaconda/pkgs/main/linux-64":     "defaults",
		"https://user:pw@art.example.org/api/conda/conda-forge/osx-64": "https://art.example.org/api/conda/conda-forge",
		"conda-forge":          "conda-forge",
		"pkgs/main":            "defaults",
		"file:///srv/c/noarch": "file:///srv/c",
		"":                     "",
	} {
		if got := channelName(in); got != want {
			t.Errorf("%s: %q, want %q", in, got, want)
		}
	}
}

func TestSpecList(t *testing.T) {
	for in, want := range map[string][]string{
		`['python=3.9', "numpy[version='>=1.2,<2']"]`: {"python=3.9", "numpy[version='>=1.2,<2']"},
		`["a", "b"]`:       {"a", "b"},
		`['it\'s', 'b']`:   {"it's", "b"},
		`[]`:               nil,
		`['a', 'b`:         {"a"},
		`a,b 1.0`:          {"a", "b", "1.0"},
		`numpy[version=1]`: {"numpy[version=1]"},
	} {
		if got := specList(in); !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", in, got, want)
		}
	}
	for in, want := range map[string]string{
		"conda-forge::PyYAML[build='py*']": "pyyaml", "python==3.9=0": "python", "https://h/c/linux-64/lib-x-1.0-0.tar.bz2": "lib-x",
		"a >=1,<2": "a", "c/linux-64::d=1": "d", "": "", "%": "%",
	} {
		if got := specName(in); got != want {
			t.Errorf("%s: %q, want %q", in, got, want)
		}
	}
}

// pip marks all that a list of everything named; then the marks say nothing.
func TestAllRequested(t *testing.T) {
	fsys := fstest.MapFS{"conda-meta/p.json": {Data: []byte(`{"name": "python", "version": "3.9.18"}`)}}
	for i := range 30 {
		folder := fmt.Sprintf("lib/python3.9/site-packages/p%d-1.dist-info/", i)
		fsys[folder+"METADATA"] = &fstest.MapFile{Data: fmt.Appendf(nil, "Name: p%d\nVersion: 1\nRequires-Dist: p%d\n", i, i+1)}
		fsys[folder+"REQUESTED"] = &fstest.MapFile{}
	}
	prefix, err := Read(fsys)
	if err != nil {
		t.Fatal(err)
	}
	if r := prefix.Request("/", nil); !slices.Equal(r.Pip, []string{"p0==1"}) {
		t.Errorf("%q", r.Pip)
	}
}
