package build

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"crun.dev/crun/build/lock"
)

const condaLockFile = `version: 1
metadata:
  content_hash:
    linux-64: 0d1
  channels:
  - url: conda-forge
    used_env_vars: []
  platforms: [linux-64, osx-arm64]
  sources: [environment.yml]
package:
- name: python
  version: 3.9.18
  manager: conda
  platform: linux-64
  dependencies: {libzlib: '>=1.2.13,<2.0a0', pip: ''}
  url: https://conda.anaconda.org/conda-forge/linux-64/python-3.9.18-h0755675_1_cpython.conda
  hash: {md5: aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa, sha256: aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa}
  category: main
  optional: false
- name: python
  version: 3.9.17
  manager: conda
  platform: osx-arm64
  url: https://conda.anaconda.org/conda-forge/osx-arm64/python-3.9.17-0.conda
  hash: {sha256: aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa}
- name: tqdm
  version: 4.66.5
  manager: conda
  platform: linux-64
  dependencies: {python: '>=3.7'}
  url: https://conda.anaconda.org/conda-forge/noarch/tqdm-4.66.5-pyhd8ed1ab_0.tar.bz2
  hash: {md5: bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb}
- name: einops
  version: 0.8.0
  manager: pip
  platform: linux-64
  url: https://files.example.org/packages/44/5a/f0b9ad6c0a9017e62d4735daaeb11ba3b6c009d69a26141b258cd37b5588/einops-0.8.0-py3-none-any.whl
  hash: {sha256: cccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccc}
- name: torch
  version: 2.1.0+cu121
  manager: pip
  platform: linux-64
  url: https://download.example.org/whl/torch-2.1.0%2Bcu121-cp39-cp39-linux_x86_64.whl
  hash: {sha256: dddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddd}
- name: ruff
  version: 0.1.0
  manager: pip
  platform: linux-64
  category: lint
  url: https://files.example.org/ruff.whl
  hash: {}
`

func TestCondaLock(t *testing.T) {
	file := filepath.Join(unpack(t, "-- conda-lock.yml --\n"+condaLockFile), "conda-lock.yml")
	p := open(t, file)
	e := newEngine(t)
	result, err := Build(t.Context(), solver{e}, e, Request{Project: p})
	if err != nil {
		t.Fatal(err)
	}
	if len(e.solves) > 0 {
		t.Errorf("%d solves of what is locked", len(e.solves))
	}
	l := readLock(t, p)
	want := []lock.Package{
		{Name: "python", Version: "3.9.18", Build: "h0755675_1_cpython", Channel: "conda-forge", Subdir: "linux-64", File: "python-3.9.18-h0755675_1_cpython.conda",
			SHA256: strings.Repeat("a", 64), MD5: strings.Repeat("a", 32), Depends: []string{"libzlib >=1.2.13,<2.0a0", "pip"}},
		{Name: "tqdm", Version: "4.66.5", Build: "pyhd8ed1ab_0", Channel: "conda-forge", Subdir: "noarch", File: "tqdm-4.66.5-pyhd8ed1ab_0.tar.bz2",
			MD5: strings.Repeat("b", 32), NoArch: "python", Depends: []string{"python >=3.7"}},
	}
	if diff := cmp.Diff(want, l.Conda); diff != "" {
		t.Errorf("conda -want +got:\n%s", diff)
	}
	wantPip := []lock.Distribution{
		{Name: "einops", Version: "0.8.0", Index: pypi, Hashes: []string{"sha256:" + strings.Repeat("c", 64)}},
		{Name: "torch", Version: "2.1.0+cu121", URL: "https://download.example.org/whl/torch-2.1.0%2Bcu121-cp39-cp39-linux_x86_64.whl", Hashes: []string{"sha256:" + strings.Repeat("d", 64)}},
	}
	if diff := cmp.Diff(wantPip, l.Pip); diff != "" {
		t.Errorf("pip -want +got:\n%s", diff)
	}
	if filepath.Base(result.LockFile) != "crun.lock" {
		t.Errorf("lock %s", result.LockFile)
	}
	if _, err := Relock(t.Context(), solver{e}, e, Request{Project: open(t, file)}, Update{Names: []string{"tqdm"}}); err == nil || !strings.Contains(err.Error(), "conda-lock lock --update") {
		t.Errorf("%v", err)
	}
}

func TestCondaLockRefused(t *testing.T) {
	for change, want := range map[[2]string]string{
		{"linux-64\n", "win-64\n"}:                                    "has no packages for linux-64 (it has linux-64, osx-arm64); add them",
		{"version: 1\n", "version: 2\n"}:                              "is of version 2",
		{"h0755675_1_cpython.conda", "x"}:                             `11:3: package "python" has the address`,
		{"https://download", "https://u:s3cr3t@dow"}:                  `39:3: package "torch" has a credential`,
		{"md5: bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb", "md5: ../x"}:        `26:3: package "tqdm" has the field md5, which is "../x"; allowed is 32 hexadecimal digits`,
		{"sha256: ddddd", "sha256: xdddd"}:                            `39:3: package "torch" has the field hashes, which is "sha256:xddd`,
		{"name: einops", `name: "a --pre"`}:                           `33:3: package "a --pre" has the field name, which is "a --pre"; allowed is a pip package's name`,
		{"version: 0.8.0", `version: "1\n--index-url https://a"`}:     `33:3: package "einops" has the field version, which is`,
		{"hash: {md5: bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb}", "hash: {}"}: `26:3: package "tqdm" has no hash`,
	} {
		text := strings.ReplaceAll(condaLockFile, change[0], change[1])
		file := filepath.Join(unpack(t, "-- conda-lock.yml --\n"+text), "conda-lock.yml")
		_, err := Open(file, Options{Base: baseName, ToolboxBase: "debian", Platform: "linux-64"})
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "s3cr3t") {
			t.Errorf("%q: %v, want %q", change[1], err, want)
		}
	}
}

func TestStandardInput(t *testing.T) {
	p, err := OpenText([]byte("torch==2.4.0\n"), "<stdin>", Options{Base: baseName, ToolboxBase: "debian:bookworm-slim", Platform: "linux-64"})
	if err != nil {
		t.Fatal(err)
	}
	e := newEngine(t)
	result, err := Build(t.Context(), solver{e}, e, Request{Project: p})
	if err != nil {
		t.Fatal(err)
	}
	if result.LockFile != "" || len(e.builds) != 1 {
		t.Errorf("lock %q, %d builds", result.LockFile, len(e.builds))
	}
}
