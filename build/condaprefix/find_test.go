package condaprefix

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// machine makes a HOME with the given prefixes and files, "DIR/" and "FILE".
func machine(t *testing.T, files map[string]string, prefixes ...string) (Machine, map[string]string) {
	t.Helper()
	home := real(t.TempDir())
	write := func(path, text string) {
		path = filepath.Join(home, path)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(strings.ReplaceAll(text, "HOME", home)), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for _, prefix := range prefixes {
		write(prefix+"/conda-meta/python-3.9.18-0.json", `{}`)
		if !strings.Contains(prefix, "envs") {
			write(prefix+"/condabin/conda", "")
		}
	}
	for path, text := range files {
		write(path, text)
	}
	vars := map[string]string{"HOME": home}
	return Machine{Getenv: func(key string) string { return strings.ReplaceAll(vars[key], "HOME/", home+"/") }, Dir: home, Roots: []string{filepath.Join(home, "opt")}}, vars
}

func TestFind(t *testing.T) {
	m, vars := machine(t, map[string]string{
		".conda/environments.txt": "HOME/elsewhere/envs/noted\nHOME/gone\n",
		".condarc":                "envs_dirs:\n  - ~/big/envs\n  - 3\n",
		"venv/pyvenv.cfg":         "",
		"file":                    "",
	}, "miniconda3", "miniconda3/envs/train", "opt/envs/shared", "opt", "opt/envs/train2", "miniconda3/envs/train2",
		"elsewhere/envs/noted", "big/envs/large", "vars/envs/fromvar")
	vars["CONDA_ENVS_PATH"] = "HOME/vars/envs"
	for _, test := range []struct{ name, want, err string }{
		{name: "train", want: "miniconda3/envs/train"},
		{name: "shared", want: "opt/envs/shared"},
		{name: "noted", want: "elsewhere/envs/noted"},
		{name: "large", want: "big/envs/large"},
		{name: "fromvar", want: "vars/envs/fromvar"},
		{name: "./miniconda3/envs/train", want: "miniconda3/envs/train"},
		{name: "~/miniconda3/envs/train/", want: "miniconda3/envs/train"},
		{name: "miniconda3", want: "miniconda3"},
		{name: "train2", err: `several environments are called "train2"; name the folder of the one that is meant: HOME/miniconda3/envs/train2 or HOME/opt/envs/train2`},
		{name: "base", err: `several environments are called "base"`},
		{name: "trian", err: `no conda environment is called "trian" (did you mean "train"?); there are fromvar (HOME/vars/envs/fromvar), large (`},
		{name: "./none", err: "./none: there is no such folder"},
		{name: "./file", err: "./file is a file; name a conda environment or its folder"},
		{name: "./big", err: "./big is no conda environment: it has no conda-meta folder with packages"},
		{name: "./venv", err: `./venv is a venv, not a conda environment; "./venv/bin/pip freeze > requirements.txt" lists its packages`},
	} {
		found, err := m.Find(test.name)
		if test.err != "" {
			if err == nil || !strings.HasPrefix(strings.ReplaceAll(err.Error(), m.Dir, "HOME"), test.err) {
				t.Errorf("%s: %v\nwant %s", test.name, err, test.err)
			}
			continue
		}
		if err != nil || found.Path != filepath.Join(m.Dir, test.want) {
			t.Errorf("%s: %v, %v", test.name, found, err)
		}
	}
	// The installation that the shell uses settles what base is.
	vars["CONDA_EXE"] = "HOME/opt/bin/conda"
	if found, err := m.Find("base"); err != nil || found.Path != filepath.Join(m.Dir, "opt") || found.Name != "base" {
		t.Errorf("base: %v, %v", found, err)
	}
}

func TestFindNothing(t *testing.T) {
	m, _ := machine(t, nil)
	_, err := m.Find("train")
	if want := `no conda environment is called "train", and none was found at all; name its folder instead (conda env list shows it)`; !errors.Is(err, fs.ErrNotExist) || err.Error() != want {
		t.Error(err)
	}
}
