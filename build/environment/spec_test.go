package environment

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestCondaSpec(t *testing.T) {
	for _, test := range []struct {
		in   string
		want CondaSpec
	}{
		{"numpy", CondaSpec{Name: "numpy", Text: "numpy"}},
		{"PyYAML", CondaSpec{Name: "pyyaml", Text: "pyyaml"}},
		{"python=3.9", CondaSpec{Name: "python", Version: "=3.9", Text: "python=3.9"}},
		{"python = 3.9", CondaSpec{Name: "python", Version: "=3.9", Text: "python=3.9"}},
		{"python 3.9.*", CondaSpec{Name: "python", Version: "=3.9.*", Text: "python=3.9.*"}},
		{"python 3.9", CondaSpec{Name: "python", Version: "==3.9", Text: "python==3.9"}},
		{"python >=3.9,<3.10", CondaSpec{Name: "python", Version: ">=3.9,<3.10", Text: "python>=3.9,<3.10"}},
		{"numpy >= 1.20, < 2", CondaSpec{Name: "numpy", Version: ">=1.20,<2", Text: "numpy>=1.20,<2"}},
		{"numpy!=1.24", CondaSpec{Name: "numpy", Version: "!=1.24", Text: "numpy!=1.24"}},
		{"numpy~=1.24.0", CondaSpec{Name: "numpy", Version: "~=1.24.0", Text: "numpy~=1.24.0"}},
		{"numpy 1.22|1.23.*", CondaSpec{Name: "numpy", Version: "==1.22|=1.23.*", Text: "numpy==1.22|=1.23.*"}},
		{"numpy=1.26.4=py39hb13e2d6_0", CondaSpec{Name: "numpy", Version: "=1.26.4", Build: "py39hb13e2d6_0", Text: "numpy=1.26.4=py39hb13e2d6_0"}},
		{"numpy==1.26.4=py39_0", CondaSpec{Name: "numpy", Version: "==1.26.4", Build: "py39_0", Text: "numpy==1.26.4=py39_0"}},
		{"pytorch 2.1.0 *cuda11*", CondaSpec{Name: "pytorch", Version: "==2.1.0", Build: "*cuda11*", Text: "pytorch==2.1.0=*cuda11*"}},
		{"pytorch >=2.1 *cuda*", CondaSpec{Name: "pytorch", Version: ">=2.1", Build: "*cuda*", Text: "pytorch>=2.1=*cuda*"}},
		{"pytorch=*=*cuda*", CondaSpec{Name: "pytorch", Build: "*cuda*", Text: "pytorch=*=*cuda*"}},
		{"pytorch * *cuda*", CondaSpec{Name: "pytorch", Build: "*cuda*", Text: "pytorch=*=*cuda*"}},
		{"mpi=1.0=mpich", CondaSpec{Name: "mpi", Version: "=1.0", Build: "mpich", Text: "mpi=1.0=mpich"}},
		{"_libgcc_mutex=0.1=main", CondaSpec{Name: "_libgcc_mutex", Version: "=0.1", Build: "main", Text: "_libgcc_mutex=0.1=main"}},
		{"x264=1!164.3095", CondaSpec{Name: "x264", Version: "=1!164.3095", Text: "x264=1!164.3095"}},
		{"numpy=*", CondaSpec{Name: "numpy", Text: "numpy"}},
		{"conda-forge::python=3.9", CondaSpec{Channel: "conda-forge", Name: "python", Version: "=3.9", Text: "conda-forge::python=3.9"}},
		{"conda-forge/linux-64::x", CondaSpec{Channel: "conda-forge", Subdir: "linux-64", Name: "x", Text: "conda-forge/linux-64::x"}},
		{"nvidia/label/cuda-12.4.0::cuda", CondaSpec{Channel: "nvidia/label/cuda-12.4.0", Name: "cuda", Text: "nvidia/label/cuda-12.4.0::cuda"}},
		{"https://example.org/ch::x=1", CondaSpec{Channel: "https://example.org/ch", Name: "x", Version: "=1", Text: "https://example.org/ch::x=1"}},
		{"x[version='>=1', build=py39*]", CondaSpec{Name: "x", Version: ">=1", Build: "py39*", Text: "x>=1=py39*"}},
		{`x[version=">=1,<2",channel=conda-forge,subdir=noarch]`, CondaSpec{Channel: "conda-forge", Subdir: "noarch", Name: "x", Version: ">=1,<2", Text: "conda-forge/noarch::x>=1,<2"}},
		{"x=1[build=b0]", CondaSpec{}},
		{"https://example.org/linux-64/x-1-0.conda", CondaSpec{Name: "x", Version: "==1", Build: "0", Subdir: "linux-64", URL: "https://example.org/linux-64/x-1-0.conda", Text: "https://example.org/linux-64/x-1-0.conda"}},
		{"x[url='https://example.org/linux-64/x-1-0.conda', md5=0123456789abcdef0123456789ABCDEF]", CondaSpec{Name: "x", Version: "==1", Build: "0", Subdir: "linux-64", URL: "https://example.org/linux-64/x-1-0.conda", MD5: "0123456789abcdef0123456789abcdef", Text: "https://example.org/linux-64/x-1-0.conda#0123456789abcdef0123456789abcdef"}},
		{"lab::https://example.org/lab/noarch/my-lib-1.0.post1-py_0.tar.bz2#0123456789abcdef0123456789abcdef", CondaSpec{Name: "my-lib", Version: "==1.0.post1", Build: "py_0", Subdir: "noarch", URL: "https://example.org/lab/noarch/my-lib-1.0.post1-py_0.tar.bz2", MD5: "0123456789abcdef0123456789abcdef", Text: "https://example.org/lab/noarch/my-lib-1.0.post1-py_0.tar.bz2#0123456789abcdef0123456789abcdef"}},
		{"x @ https://anaconda.org/lab/x/1/download/noarch/x-1-0.conda", CondaSpec{Name: "x", Version: "==1", Build: "0", Subdir: "noarch", URL: "https://conda.anaconda.org/lab/noarch/x-1-0.conda", Text: "https://conda.anaconda.org/lab/noarch/x-1-0.conda"}},
		{"https://example.org/releases/v1/x-1-0.conda#sha256:" + strings.Repeat("ab", 32), CondaSpec{Name: "x", Version: "==1", Build: "0", URL: "https://example.org/releases/v1/x-1-0.conda", SHA256: strings.Repeat("ab", 32), Text: "https://example.org/releases/v1/x-1-0.conda#sha256:" + strings.Repeat("ab", 32)}},
	} {
		got, err := parseCondaSpec(test.in)
		if test.want.Text == "" {
			if err == nil {
				t.Errorf("%q gives %+v", test.in, got)
			}
			continue
		}
		if err != nil {
			t.Errorf("%q: %v", test.in, err)
			continue
		}
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("%q (-want +got):\n%s", test.in, diff)
		}
		// The text is a form that reads as itself.
		again, err := parseCondaSpec(got.Text)
		if err != nil || again != got {
			t.Errorf("%q read again gives %+v, %v", got.Text, again, err)
		}
	}
}

func TestCondaSpecRefused(t *testing.T) {
	for in, want := range map[string]string{
		"":                               "is empty",
		"numpy=":                         `has no version after "="`,
		"numpy==":                        `has no version after "=="`,
		"numpy===1.0":                    `has "===", which is pip's`,
		"numpy=<2":                       `the sign is "<="`,
		"numpy>=1,":                      `has a "," at its end`,
		"numpy=1.":                       `has the version "=1."`,
		"numpy=1=b=c":                    `has the version`,
		"numpy=1.20=":                    `has "=" at its end, where a build would stand; take it out`,
		"numpy 1 b c":                    "holds more than a name, a version and a build",
		"numpy=1,21":                     `write "numpy=1.21"`,
		"python 3,9":                     `write "python=3.9"`,
		"numpy==1.21,2":                  `write "numpy=1.21.2"`,
		"pytorch=1.7.1 cudatoolkit=11.0": `("- pytorch=1.7.1" and "- cudatoolkit=11.0")`,
		"conda install pytorch=1.7 tqdm -c pytorch -y":                            `("- pytorch=1.7" and "- tqdm"; and under "channels:", "- pytorch")`,
		"conda install -n base --channel=x tqdm":                                  `("- tqdm"; and under "channels:", "- x")`,
		"pip install -U torch --index-url https://example.org/whl --no-cache-dir": `("- torch" and "- --index-url https://example.org/whl")`,
		"numpy, scipy":                 `("- numpy" and "- scipy")`,
		"=1.0":                         "has no package name",
		"../x":                         "has no package name",
		"numpy=1;rm -rf /":             "has a marker",
		"numpy=$(id)":                  "has the version",
		"numpy=$HOME":                  "holds a variable",
		"numpy=`id`":                   "has the version",
		"numpy=1'":                     "has quotes inside",
		"numpy=^1.*$":                  "has the version",
		"numpy=1 (b)":                  "has the build",
		"numpy(>=1)":                   "has its version in (...)",
		"x[version='>=1'":              `holds a "["`,
		"x[version='>=1',build='a b']": "has the build",
		"x[version='']":                "has an empty version",
		"x[md5=0]":                     "has a hash without the address of a file",
		"x[fn=a]":                      `has the field "fn", which crun does not support`,
		"x=1[url=https://a.org/noarch/x-1-0.conda]":       "has a version beside the address of one file",
		"y[url=https://a.org/noarch/x-1-0.conda]":         "names y, and its address is that of x",
		"x[url=https://a.org/noarch/x-1-0.conda, md5=12]": `has the md5 "12"; allowed are 32`,
		"y @ https://a.org/noarch/x-1-0.conda":            "names y, and its address is that of x",
		"c::https://a.org/d/noarch/x-1-0.conda":           `names the channel "c" before an address that lies elsewhere`,
		"https://a.org/d/noarch/x-1-0.conda#12":           `has something other than a hash behind "#"`,
		"https://a.org/d/noarch/x-1-0.conda?token=b":      `holds "?", but a package lies in a folder`,
		"https://a.org/d/noarch/x.conda":                  "has the file name",
		"x[version=1,version=2]":                          `has the field "version" twice`,
		"a::x[channel=b]":                                 `has the field "channel" twice`,
		"a b::x":                                          `names the channel "a b"`,
		"https://example.org/x":                           "is an address, but not of a .conda",
		"https://example.org/a b.conda":                   "holds the character ' '",
		"--prefix=/x":                                     "is an option of pip",
	} {
		got, err := parseCondaSpec(in)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q gives %+v, %v; want %q", in, got, err, want)
		}
	}
}

func TestPipRequirement(t *testing.T) {
	hash := "sha256:" + strings.Repeat("0", 64)
	for _, test := range []struct {
		in, text, name string
		kind           PipKind
	}{
		{"NumPy == 1.24", "NumPy==1.24", "numpy", PipPackage},
		{"ruamel.yaml>=0.17,<1", "ruamel.yaml>=0.17,<1", "ruamel-yaml", PipPackage},
		{"torch (>=2.0)", "torch>=2.0", "torch", PipPackage},
		{"torch==2.1.0+cu121", "torch==2.1.0+cu121", "torch", PipPackage},
		{"x===1.0", "x===1.0", "x", PipPackage},
		{"x===as-it-is", "x===as-it-is", "x", PipPackage},
		{"x==v1.0-alpha_1.post2-dev", "x==v1.0-alpha_1.post2-dev", "x", PipPackage},
		{"x==1!2020a", "x==1!2020a", "x", PipPackage},
		{"x==1.0-1,!=1.5.*,~=1.4.2rc1,==1.*", "x==1.0-1,!=1.5.*,~=1.4.2rc1,==1.*", "x", PipPackage},
		{`x; "linux" in sys_platform and (os_name not in "nt" or python_version >= "3")`, `x; "linux" in sys_platform and (os_name not in "nt" or python_version >= "3")`, "x", PipPackage},
		{`requests[ socks , security]>=2.31 ;python_version<"3.10" and (os_name == 'posix')`, `requests[socks,security]>=2.31; python_version < "3.10" and (os_name == 'posix')`, "requests", PipPackage},
		{"x==1 --hash=" + hash + "  --hash " + hash, "x==1 --hash=" + hash + " --hash=" + hash, "x", PipPackage},
		{"https://example.org/x-1.0-py3-none-any.whl", "https://example.org/x-1.0-py3-none-any.whl", "", PipURL},
		{"My_Pkg[a] @ https://example.org/x-1.0.tar.gz ; python_version > '3'", "My_Pkg[a] @ https://example.org/x-1.0.tar.gz ; python_version > '3'", "my-pkg", PipURL},
		{"x@git+https://example.org/x.git@main", "x @ git+https://example.org/x.git@main", "x", PipVCS},
		{"git+https://example.org/x.git@3f2a1c9#egg=My_X&subdirectory=y", "git+https://example.org/x.git@3f2a1c9#egg=My_X&subdirectory=y", "my-x", PipVCS},
		{"-e .[dev]", "-e .[dev]", "", PipEditable},
		{"--editable=git+https://example.org/x.git#egg=x", "-e git+https://example.org/x.git#egg=x", "x", PipEditable},
		{"-rmore.txt", "-r more.txt", "", PipFile},
		{"--constraint c.txt", "-c c.txt", "", PipConstraint},
		{"./libs/x", "./libs/x", "", PipPath},
		{"x-1.0.tar.gz", "x-1.0.tar.gz", "", PipPath},
		{"-i https://example.org/simple", "--index-url https://example.org/simple", "", PipOption},
		{"-f https://example.org/links.html", "--find-links https://example.org/links.html", "", PipOption},
		{"--pre", "--pre", "", PipOption},
	} {
		got, err := parsePip(test.in, func(address string) string { return address })
		want := PipRequirement{Text: test.text, Name: test.name, Kind: test.kind}
		got.Path, got.Extras, got.written = "", "", ""
		if err != nil || got != want {
			t.Errorf("%q gives %+v, %v; want %+v", test.in, got, err, want)
			continue
		}
		if again, err := parsePip(got.Text, func(address string) string { return address }); err != nil || again.Text != got.Text || again.Kind != got.Kind {
			t.Errorf("%q read again gives %+v, %v", got.Text, again, err)
		}
	}
}

func TestPipRequirementRefused(t *testing.T) {
	for in, want := range map[string]string{
		"x==":                          `has no version after "=="`,
		"torchvision==0.8,2":           `write "torchvision==0.8.2"`,
		"pip install -r more.txt":      `("- -r more.txt")`,
		"x=>1":                         `the sign is ">="`,
		"x>=1,":                        `has nothing beside a ","`,
		"x[a b]":                       "has extras that are none",
		"x; ":                          `has nothing behind ";"`,
		"x; (python_version < '3'":     `with a "(" or ")" too many`,
		"x; python_version < 3":        "goes on in an unknown way",
		"x; os.system('id')":           `has "os.system" in its marker`,
		`x; python_version < "3.10">`:  `goes on in an unknown way at ">"`,
		`x; > python_version < "3.10"`: `goes on in an unknown way at "> python_version`,
		`x; python_version> < "3.10"`:  `goes on in an unknown way at "python_version >`,
		`x; python_version "3.10"`:     "goes on in an unknown way",
		`x; os_name == "posix" and`:    `goes on in an unknown way at "and"`,
		`x; (os_name == "posix" or) `:  "goes on in an unknown way",
		"x==4.*66.1":                   `has the version "==4.*66.1"; allowed are`,
		"x==4!.66":                     `has the version "==4!.66"; allowed are`,
		"x==4.66.":                     `has the version "==4.66."; write "==4.66"`,
		"x>=2.31-":                     `write ">=2.31"`,
		"x==1.0*":                      `write "==1.0", or "==1.0.*" for whatever begins so`,
		"x>=1.*":                       `the "*" goes with == and != alone: write ">=1"`,
		"x~=1":                         `needs two numbers at least: write "~=1.0", or ">=1"`,
		"x>=1.0+cu118":                 `goes with == and != alone: write "==1.0+cu118"`,
		"x==1.0.0rc1.post2+cu118.":     "has the version",
		"x==latest":                    `has the version "==latest"`,
		"x --hash=md5:0":               `has the hash "md5:0"`,
		"x==1 --install-option=--x":    "has the option",
		"x==$(id)":                     "has the version",
		"x==`id`":                      "has the version",
		"x==1\\":                       "is cut off by",
		"./$(id)":                      "holds the character '$'",
		"./a b":                        "holds the character ' '",
		`C:\libs\x`:                    `is a path of Windows`,
		"https://example.org/x.whl -y": "has an option behind it",
		"https://example.org/`id`":     "holds the character '`'",
		"--index-url x":                `has the scheme ""`,
		"--index-url https://a --pre":  "holds more than one option",
		"--no-such":                    "which pip does not know",
		"-e numpy":                     "names neither a folder nor a repository",
		"git://example.org/x.git":      `write "git+https" before "://"`,
		"svn+ftp://example.org/x":      `has the scheme "svn+ftp"`,
	} {
		got, err := parsePip(in, func(address string) string { return address })
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q gives %+v, %v; want %q", in, got, err, want)
		}
	}
}

func TestIsBelow(t *testing.T) {
	limit := release{3, 10}
	for version, want := range map[string]bool{
		"=3.9": true, "=3.9.*": true, "==3.9.18": true, ">=3.7,<3.10": true, "<=3.9": true, "~=3.9.1": true, "=2": true, "<3": true, "==3": true, "<=3": true,
		"": false, "=3": false, "=3.10": false, ">=3.9": false, "<3.11": false, "~=3.9": false, "<4": false, "=3.8|=3.11": false, "<3.10.1": false,
	} {
		if got := isBelow(version, limit); got != want {
			t.Errorf("isBelow(%q, 3.10) = %t", version, got)
		}
	}
}
