package environment

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const explicitHead = "# This file may be used to create an environment using:\n# $ conda create --name <env> --file <this file>\n# platform: linux-64\n@EXPLICIT\n"

func TestExplicit(t *testing.T) {
	const (
		host   = "https://conda.anaconda.org/conda-forge/"
		python = host + "linux-64/python-3.10.14-hd12c33a_0_cpython.conda"
		tqdm   = host + "noarch/tqdm-4.66.4-pyhd8ed1ab_0.tar.bz2"
		md5    = "0123456789abcdef0123456789abcdef"
		pypi   = "https://files.example.org/packages/44/5a/f0b9ad6c0a9017e62d4735daaeb11ba3b6c009d69a26141b258cd37b5588/"
	)
	sha256 := strings.Repeat("ab", 32)
	for _, test := range []struct {
		name, file, text, platform string
		// want are facts as in the .want files.
		want map[string]string
	}{
		{"with hashes", "spec.txt", explicitHead + python + "#" + md5 + "\n" + tqdm + "#sha256:" + sha256 + "\n", "", map[string]string{
			"conda": python + "#" + md5 + " | " + tqdm + "#sha256:" + sha256,
		}},
		{"without, under any name", "conda-linux-64.lock", "\ufeff" + strings.ReplaceAll(explicitHead+python+"\n\n"+tqdm+"\n", "\n", "\r\n"), "", map[string]string{
			"conda": python + " | " + tqdm,
		}},
		{"addresses alone", "environment.yml", python + "\n" + tqdm + "\n", "", map[string]string{"conda": python + " | " + tqdm}},
		{"standard input", Stdin, explicitHead + python + "\n", "", map[string]string{"conda": python}},
		{"no other words", "spec.txt", explicitHead + python + "\nnumpy=1.26\n", "", map[string]string{
			"error": `6:1 "numpy=1.26" is no address of a conda package; each line of an explicit list is one (https://HOST/CHANNEL/SUBDIR/NAME-VERSION-BUILD.conda), and others belong into an environment.yml`,
		}},
		{"two of one", "spec.txt", explicitHead + python + "\n" + python + "\n  " + host + "linux-64/python-3.9.1-0.conda\n", "", map[string]string{
			"error": "7:3 python is in line 5 already, as python-3.10.14-hd12c33a_0_cpython.conda: an environment has one of each; take one of the lines out",
		}},
		{"one for another platform", "spec.txt", explicitHead + python + "\n" + host + "win-64/ucrt-10.0-h57928b3_0.conda\n", "", map[string]string{
			"error": "6:1 ucrt-10.0-h57928b3_0.conda is a package for win-64, and the image is linux-64: name the file for linux-64",
		}},
		{"all for another platform", "spec.txt", explicitHead + python + "\n" + tqdm + "\n" + host + "linux-64/zlib-1.3-0.conda\n", "linux-aarch64", map[string]string{
			"error": "5:1 is a list for linux-64, and the image is linux-aarch64: make the list there (conda list --explicit; conda-lock -p linux-aarch64), or build for the other (--platform linux/amd64)",
		}},
		{"pip packages of conda-lock", "conda-linux-64.lock", explicitHead + python + "\n# pip einops @ " + pypi + "einops-0.8.0-py3-none-any.whl#sha256=" + sha256 +
			"\n# pip lab @ https://example.org/lab-1.0.tar.gz#sha256=" + sha256 + "\n# pip install is what one runs\n", "", map[string]string{
			"conda": python,
			"pip":   "--no-deps | einops==0.8.0 --hash=sha256:" + sha256 + " | lab @ https://example.org/lab-1.0.tar.gz#sha256=" + sha256,
		}},
		{"a token", "spec.txt", explicitHead + python + "\nhttps://conda.anaconda.org/t/xy-12345678-aaaa-bbbb/lab/noarch/lab-1-0.conda#" + md5 + "\n", "", map[string]string{
			"conda": python + " | https://conda.anaconda.org/lab/noarch/lab-1-0.conda#" + md5,
			"lint":  "credential-in-file",
		}},
	} {
		t.Run(test.name, func(t *testing.T) {
			env, findings, err := Parse([]byte(test.text), Options{File: test.file, FolderName: "lab", Platform: test.platform})
			got := facts(env, findings, err)
			for _, key := range []string{"error", "conda", "pip", "lint"} {
				want, ok := test.want[key]
				if !ok && key != "error" && test.want["error"] != "" {
					continue
				}
				if diff := cmp.Diff(want, got[key]); diff != "" {
					t.Errorf("%s (-want +got):\n%s", key, diff)
				}
			}
			if !env.Exact {
				t.Error("is no explicit list")
			}
			for _, c := range env.Credentials {
				if strings.Contains(c.String(), "12345678") || !strings.Contains(c.Reveal(), "12345678") {
					t.Errorf("credential %v", c)
				}
			}
		})
	}
}

// TestExplicitByAddresses is about files without the mark: a list of pip's may be
// of addresses alone, too.
func TestExplicitByAddresses(t *testing.T) {
	const hash = "#sha256=abababababababababababababababababababababababababababababababab"
	for _, test := range []struct {
		text string
		want bool
	}{
		{"https://conda.anaconda.org/conda-forge/linux-64/python-3.10.14-hd12c33a_0_cpython.conda\n", true},
		{"https://user:word@mirror.example.org/lab/noarch/tqdm-4.66.4-pyhd8ed1ab_0.tar.bz2#0123456789abcdef0123456789abcdef\n", true},
		{"file:///srv/channel/win-64/ucrt-10.0-h57928b3_0.conda\n", true},
		{"https://files.example.org/src/lab-1.0.tar.bz2\n", false},
		{"https://files.example.org/src/lab-1.0.tar.bz2" + hash + "\nhttps://files.example.org/src/more-tools-2.1.tar.bz2" + hash + "\n", false},
		{"https://files.example.org/noarch/lab-1.0.tar.bz2\n", false},
		{"https://conda.anaconda.org/conda-forge/noarch/tqdm-4.66.4-pyhd8ed1ab_0.conda\nhttps://files.example.org/src/lab-1.0.tar.bz2\n", false},
	} {
		for _, name := range []string{"requirements.txt", Stdin} {
			env, _, err := Parse([]byte(test.text), Options{File: name, FolderName: "lab"})
			if env == nil {
				t.Fatalf("%s: %v", test.text, err)
			}
			if env.Exact != test.want {
				t.Errorf("%s as %s: is an explicit list: %v (%v)", test.text, name, env.Exact, err)
			}
			if !test.want && err != nil {
				t.Errorf("%s as %s: %v", test.text, name, err)
			}
		}
	}
}
