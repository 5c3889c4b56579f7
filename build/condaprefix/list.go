package condaprefix

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"

	"crun.dev/crun/internal/boundedfile"
	"crun.dev/crun/internal/yamlfile"
)

// ownRoot is the installation whose commands the caller's shell uses, or "".
func (m Machine) ownRoot() string {
	if exe := m.Getenv("CONDA_EXE"); exe != "" {
		return real(filepath.Dir(filepath.Dir(exe)))
	}
	if root := m.Getenv("MAMBA_ROOT_PREFIX"); root != "" {
		return real(root)
	}
	prefix := m.Getenv("CONDA_PREFIX")
	if prefix == "" {
		return ""
	}
	if parent := filepath.Dir(prefix); filepath.Base(parent) == "envs" {
		return real(filepath.Dir(parent))
	}
	return real(prefix)
}

func real(path string) string {
	if target, err := filepath.EvalSymlinks(path); err == nil {
		return target
	}
	return path
}

// List gives the environments of this machine that can be found without asking
// conda, those of the caller's installation first: in its folders of
// environments (envs_dirs, CONDA_ENVS_PATH), in ~/.conda/environments.txt, where
// conda notes each one that it makes, and where installers put conda.
func (m Machine) List() []Found {
	var list []Found
	seen := map[string]bool{}
	add := func(path string) {
		if path = real(path); filepath.IsAbs(path) && !seen[path] && isPrefix(path) {
			seen[path] = true
			list = append(list, found(path))
		}
	}
	addAll := func(folder string) {
		entries, err := os.ReadDir(folder)
		if err != nil {
			return
		}
		for _, entry := range entries {
			add(filepath.Join(folder, entry.Name()))
		}
	}
	home := m.Getenv("HOME")
	roots := []string{m.ownRoot()}
	if home != "" {
		for _, name := range homeRoots {
			roots = append(roots, filepath.Join(home, name))
		}
	}
	roots = append(roots, m.Roots...)
	if roots[0] != "" {
		add(roots[0])
		addAll(filepath.Join(roots[0], "envs"))
	}
	for _, folder := range m.envsDirs(roots[0]) {
		addAll(folder)
	}
	if home != "" {
		data, _ := boundedfile.Read(filepath.Join(home, ".conda", "environments.txt"), maxMetadata)
		for line := range strings.Lines(string(data)) {
			add(strings.TrimSpace(line))
		}
		addAll(filepath.Join(home, ".conda", "envs"))
	}
	for _, root := range roots[1:] {
		add(root)
		addAll(filepath.Join(root, "envs"))
	}
	return list
}

// envsDirs are the folders of environments that variables and .condarc files
// name. A .condarc that cannot be read names none: it is conda's to complain.
func (m Machine) envsDirs(root string) []string {
	home := m.Getenv("HOME")
	var dirs []string
	for _, key := range []string{"CONDA_ENVS_PATH", "CONDA_ENVS_DIRS"} {
		dirs = append(dirs, filepath.SplitList(m.Getenv(key))...)
	}
	files := []string{"/etc/conda/.condarc", "/etc/conda/condarc"}
	if root != "" {
		files = append(files, filepath.Join(root, ".condarc"), filepath.Join(root, "condarc"))
	}
	if home != "" {
		files = append(files, filepath.Join(home, ".conda", ".condarc"), filepath.Join(home, ".condarc"), filepath.Join(home, ".config", "conda", ".condarc"))
	}
	if rc := m.Getenv("CONDARC"); rc != "" {
		files = append(files, rc)
	}
	for _, file := range files {
		dirs = append(dirs, condarcEnvsDirs(file)...)
	}
	var kept []string
	for _, dir := range dirs {
		if rest, ok := strings.CutPrefix(dir, "~/"); ok && home != "" {
			dir = filepath.Join(home, rest)
		}
		if filepath.IsAbs(dir) && !slices.Contains(kept, dir) {
			kept = append(kept, dir)
		}
	}
	return kept
}

func condarcEnvsDirs(file string) []string {
	doc, err := yamlfile.ReadFile(file)
	if err != nil || doc.Root == nil {
		return nil
	}
	var dirs []string
	for pair := range yamlfile.Pairs(doc.Root, func(*yaml.Node, string, string) {}) {
		if pair.Name != "envs_dirs" && pair.Name != "envs_path" {
			continue
		}
		for _, item := range yamlfile.Resolve(pair.Value).Content {
			if text, err := yamlfile.Scalar("", item); err == nil {
				dirs = append(dirs, text)
			}
		}
	}
	return dirs
}
