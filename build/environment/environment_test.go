package environment

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode"

	"crun.dev/crun/internal/yamlfile"
)

func parse(t *testing.T, text string) *Environment {
	t.Helper()
	env, _, err := Parse([]byte(text), Options{FolderName: "folder"})
	if err != nil {
		t.Fatal(err)
	}
	return env
}

func TestNames(t *testing.T) {
	for _, test := range []struct{ file, folder, name, image, dir string }{
		{"train", "f", "train", "train", "/opt/conda/envs/train"},
		{"My Env", "f", "My Env", "my-env", "/opt/conda/envs/My-Env"},
		{"base", "f", "base", "base", "/opt/conda"},
		{"root", "f", "root", "root", "/opt/conda"},
		{"39", "f", "39", "39", "/opt/conda/envs/39"},
		{"a..b__c", "f", "a..b__c", "a.b_c", "/opt/conda/envs/a..b__c"},
		{"_x_", "f", "_x_", "x", "/opt/conda/envs/_x_"},
		{"实验", "f", "实验", "env", "/opt/conda/envs/env"},
		{"$(id)", "f", "$(id)", "id", "/opt/conda/envs/id"},
		{"-rf", "f", "-rf", "rf", "/opt/conda/envs/rf"},
		{"", "My Folder!", "My-Folder", "my-folder", "/opt/conda/envs/My-Folder"},
		{"", "...", "env", "env", "/opt/conda/envs/env"},
		{"~", strings.Repeat("x", 300), strings.Repeat("x", 128), strings.Repeat("x", 128), "/opt/conda/envs/" + strings.Repeat("x", 128)},
	} {
		text := "channels: [conda-forge]\ndependencies: [python=3.9]\n"
		if test.file != "" {
			text += "name: " + test.file + "\n"
		}
		env, _, err := Parse([]byte(text), Options{FolderName: test.folder})
		if err != nil {
			t.Errorf("%q: %v", test.file, err)
			continue
		}
		if env.Name != test.name || env.ImageName() != test.image || env.EnvDir() != test.dir {
			t.Errorf("%q in %q: name %q, image %q, folder %q", test.file, test.folder, env.Name, env.ImageName(), env.EnvDir())
		}
	}
	for _, name := range []string{"a/b", "..", ".", `"a\nb"`, `"a\u202eb"`, strings.Repeat("x", 200), "[a]"} {
		_, _, err := Parse([]byte("dependencies: [python=3.9]\nname: "+name+"\n"), Options{})
		if err == nil || !strings.HasPrefix(err.Error(), "environment.yml:2:7: name ") {
			t.Errorf("name %q: %v", name, err)
		}
	}
}

func TestPythonOption(t *testing.T) {
	env, _, err := Parse([]byte("dependencies: [numpy]\n"), Options{Python: "3.11.4"})
	if err != nil || env.Conda[0].Text != "python=3.11.4" {
		t.Errorf("%v, %v", env, err)
	}
	for _, python := range []string{"3", "3.x", "3.9; id", "-3.9"} {
		if _, _, err := Parse([]byte("dependencies: [numpy]\n"), Options{Python: python}); err == nil {
			t.Errorf("python %q is taken", python)
		}
	}
}

func TestBadFiles(t *testing.T) {
	deep := strings.Repeat("[", 500) + strings.Repeat("]", 500)
	bomb := "a: &a [x, x, x, x, x, x, x, x, x, x]\n"
	for c := 'b'; c <= 'j'; c++ {
		bomb += fmt.Sprintf("%c: &%c [%s]\n", c, c, strings.TrimSuffix(strings.Repeat("*"+string(c-1)+", ", 10), ", "))
	}
	for name, test := range map[string]struct{ file, want string }{
		"empty":    {"", "environment.yml: is empty"},
		"blank":    {"\n\n", "environment.yml: is empty"},
		"null":     {"~\n", "environment.yml: is empty"},
		"binary":   {"\x7fELF\x02\x00\x00", "is a binary file"},
		"latin-1":  {"name: caf\xe9\n", "environment.yml:1:10: holds the byte 0xE9, which is not UTF-8"},
		"50 MB":    {strings.Repeat("- x\n", 50<<18), "is larger than 1 MiB"},
		"deep":     {"name: " + deep, "nested"},
		"bomb":     {bomb, "aliases expand"},
		"self":     {"dependencies: &a [*a]\n", `environment.yml:1:19: anchor "a" contains itself`},
		"long":     {"dependencies: [" + strings.Repeat("x", 5000) + "]\n", "is 5000 bytes long"},
		"colons":   {"dependencies: [\"" + strings.Repeat("::", 2000) + "\"]\n", `::..." names the channel ""`},
		"mapping":  {"? {a: b}\n: c\n", "a key is a mapping"},
		"many":     {"dependencies:\n" + strings.Repeat("- x=>1\n", 1000), "has 950 more errors"},
		"block":    {"dependencies:\n- |\n  numpy\n  scipy\n", "holds several lines"},
		"nul":      {"dependencies: [\"nu\\0mpy\"]\n", "holds"},
		"new line": {"channels: [\"a\\nb\"]\n", "is neither a name"},
	} {
		t.Run(name, func(t *testing.T) {
			start := time.Now()
			_, findings, err := Parse([]byte(test.file), Options{})
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("%v", err)
			}
			if len(findings) > 0 {
				t.Errorf("findings beside an error: %v", findings)
			}
			if took := time.Since(start); took > 5*time.Second {
				t.Errorf("took %s", took)
			}
			for _, err := range flatten(err) {
				var e *yamlfile.Error
				if !errors.As(err, &e) {
					t.Errorf("%T: %v", err, err)
				}
			}
		})
	}
}

func TestRedact(t *testing.T) {
	for in, want := range map[string]string{
		"plain text":                                                        "plain text",
		"https://example.org/simple":                                        "https://example.org/simple",
		"https://example.org:8080/a@b":                                      "https://example.org:8080/a@b",
		"https://u:hunter2@example.org/x":                                   "https://***@example.org/x",
		"https://hunter2@example.org/x":                                     "https://***@example.org/x",
		"https://u:hun@ter2@example.org/x":                                  "https://***@example.org/x",
		"https://u:hunter2/x@example.org/x":                                 "https://***@example.org/x",
		"https://u:hunter2 x@example.org/x":                                 "https://***@example.org/x",
		`"git+https://hunter2@example.org/x.git@v1"`:                        `"git+https://***@example.org/x.git@v1"`,
		"git+ssh://git@example.org/x.git":                                   "git+ssh://git@example.org/x.git",
		"git+https://git@example.org/x.git@develop":                         "git+https://git@example.org/x.git@develop",
		"git+https://git:hunter2@example.org/x.git":                         "git+https://***@example.org/x.git",
		"git+ssh://git:hunter2@example.org/x.git":                           "git+ssh://git:***@example.org/x.git",
		"https://conda.example.org/t/hunter2/lab":                           "https://conda.example.org/t/***/lab",
		"https://conda.example.org/t/x/t/hunter2/lab":                       "https://conda.example.org/t/***/lab",
		"https://example.org/x?token=hunter2&a=b":                           "https://example.org/x?token=***&a=b",
		"https://a.org/x?X-Amz-Signature=hunter2#y":                         "https://a.org/x?X-Amz-Signature=***#y",
		"http://u:hunter2@a.org and http://v:hunter2@b.org":                 "http://***@a.org and http://***@b.org",
		"u:hunter2@a.org/x":                                                 "***@a.org/x",
		"see //u:hunter2@a.org/x":                                           "see //***@a.org/x",
		`"https:/u:hunter2@a.org"`:                                          `"https:/***@a.org"`,
		"--index-url=https:u:hunter2@a.org":                                 "--index-url=***@a.org",
		"https://a.org/x;token=hunter2":                                     "https://a.org/x;token=***",
		"https://u:hunter2":                                                 "https://u:***",
		"https://a.org:8080/x https://b.org:80":                             "https://a.org:8080/x https://b.org:80",
		"debian:12@sha256:0123":                                             "debian:12@sha256:0123",
		"git@github.com:a/b.git@v1":                                         "git@github.com:a/b.git@v1",
		"x@https://a.org/x":                                                 "x@https://a.org/x",
		"https://a.org/conda/t/ab-01234567-89ab-cdef-0123-456789abcdef/lab": "https://a.org/conda/t/***/lab",
		"https://a.org/packages/t/tqdm/tqdm-4.0-py3-none-any.whl":           "https://a.org/packages/t/tqdm/tqdm-4.0-py3-none-any.whl",
	} {
		if got := Redact(in); got != want {
			t.Errorf("Redact(%q) = %q, want %q", in, got, want)
		}
	}
}

// TestNoSecret looks for secrets in everything that the package gives out.
func TestNoSecret(t *testing.T) {
	for _, place := range []string{
		"channels: [\"https://conda.example.org/t/hunter2/lab\"]\ndependencies: [python=3.9]",
		"channels: [\"https://u:hunter2@conda.example.org/lab/\"]\ndependencies: [python=3.9]",
		"channels: [\"https://u:hunter2@conda example.org/lab\"]",
		"channels: [\"https://u:hunter2@conda.example.org/lab?x\"]",
		"channels: [\"https://u:hun$ter2 hunter2@conda.example.org/lab\"]",
		"dependencies: [\"https://u:hunter2@conda.example.org/lab::numpy\"]",
		"dependencies: [\"https://u:hunter2@conda.example.org/lab::numpy=>1\"]",
		"dependencies: [\"https://u:hunter2@conda.example.org/linux-64/x-1-0.conda\"]",
		"dependencies: [\"https://u:hunter2@conda.example.org/x\"]",
		"dependencies: [{pip: [\"--extra-index-url https://u:hunter2@pypi.example.org/simple\"]}]",
		"dependencies: [{pip: [\"--extra-index https://u:hunter2@pypi.example.org/simple\"]}]",
		"dependencies: [{pip: [\"-r https://u:hunter2@example.org/r.txt\"]}]",
		"dependencies: [{pip: [\"git+https://hunter2@git.example.org/x.git\"]}]",
		"dependencies: [{pip: [\"-e git+https://u:hunter2@git.example.org/x.git#egg=x\"]}]",
		"dependencies: [{pip: [\"x @ https://files.example.org/x.whl?token=hunter2\"]}]",
		"dependencies: [{pip: [\"x @ https://u:hunter2@files.example.org/x.whl ; nothing\"]}]",
		"dependencies: [{pip: [\"x https://u:hunter2@files.example.org/x.whl\"]}]",
		"dependencies: [{https://u:hunter2@files.example.org: 1}]",
		"dependencies: https://u:hunter2@files.example.org",
		"name: https://u:hunter2@files.example.org",
		"https://u:hunter2@files.example.org: x",
		"https://u:hunter2@files.example.org",
		"dependencies:\n  - python=3.9\n  -https://u:hunter2@files.example.org/x\n  - pip",
		"dependencies: [python=3.9]\nvariables:\n  A: b\n  HF_TOKEN hunter2\n",
		"dependencies: [python=3.9]\nvariables:\n  A: b\n  HF_TOKEN=hunter2\n",
		"dependencies: [python=3.9]\nvariables:\n  A: b\n  HF_TOKEN:hunter2\n",
		"dependencies: [python=3.9]\nvariables:\n  A: b\n   WANDB_API_KEY: hunter2\n",
		"dependencies: [python=3.9]\nvariables:\n  A: b\n  - my_secret='hunter2'\n",
		"dependencies: [python=3.9]\nvariables:\n  A: b\n  HF_TOKEN=\"hunter2\"\n",
		"dependencies: [python=3.9]\nvariables:\n  A: b\n  - HF_TOKEN: \"hunter2\"\n",
		"dependencies: [python=3.9]\nvariables:\n  A: b\n  DB_PASSWORD=correct horse hunter2\n",
		"dependencies: [python=3.9]\nvariables:\n  A: b\n  - DB_PASSWORD=\"correct \\\"horse hunter2\"\n",
		"dependencies: [python=3.9]\nvariables:\n  HF_TOKEN: \"correct\" hunter2\n",
		"dependencies: [python=3.9]\nvariables:\n  - @HF_TOKEN=\"correct\" hunter2\n",
		"dependencies: [python=3.9]\nvariables:\n  HF_TOKEN: @hunter2\n",
		"dependencies: [python=3.9]\nvariables:\n  A: b\n -\"HF_TOKEN\": hunter2\n",
		"dependencies: [python=3.9]\nvariables:\n  HF_TOKEN: \"hunter2\n",
		"dependencies: [python=3.9]\nvariables:\n  HF_TOKEN: - hunter2\n",
	} {
		env, findings, err := Parse([]byte(place), Options{})
		out := fmt.Sprint(findings, err)
		if env != nil {
			data, jsonErr := json.Marshal(env)
			if jsonErr != nil {
				t.Fatal(jsonErr)
			}
			out += fmt.Sprintf("%+v %#v %s %s %v", env, env.Credentials, env.Canonical(), data, env.Unsupported())
		}
		if err == nil && len(findings) == 0 {
			t.Errorf("%s: nothing is said", place)
		}
		// The name of a broken file is only ever shown.
		if strings.Contains(out, "hunter2") {
			t.Errorf("%s:\n%s", place, out)
		}
	}
}

func TestSecretVariable(t *testing.T) {
	const text = "channels: [a]\ndependencies: [python=3.9]\nvariables: {WANDB_API_KEY: hunter2, PROXY: \"http://u:hunter2@proxy\"}\n"
	env, findings, err := Parse([]byte(text), Options{})
	if err != nil || len(findings) != 2 {
		t.Fatalf("%v, %v", findings, err)
	}
	if out := fmt.Sprint(findings, string(env.Canonical())); strings.Contains(out, "hunter2") {
		t.Error(out)
	}
	other := parse(t, strings.Replace(text, ": hunter2", ": hunter3", 1))
	if env.Name = other.Name; string(other.Canonical()) != string(env.Canonical()) {
		t.Error("the value counts, and is not in the image")
	}
}

func TestReveal(t *testing.T) {
	env := parse(t, "channels: [\"https://conda.example.org/t/hunter2/lab/\"]\ndependencies: [python=3.9]\n")
	if env.Channels[0] != "https://conda.example.org/lab" || len(env.Credentials) != 1 {
		t.Fatalf("%v, %v", env.Channels, env.Credentials)
	}
	if c := env.Credentials[0]; c.Reveal() != "https://conda.example.org/t/hunter2/lab" || c.URL != env.Channels[0] {
		t.Errorf("%s, %s", c.URL, c.Reveal())
	}
}

func TestCanonical(t *testing.T) {
	const plain = "name: x\nchannels: [a, b]\ndependencies: [python=3.9, numpy=1.26, pip, pip: [x, y]]\nvariables: {A: 1, B: 2}\n"
	first := string(parse(t, plain).Canonical())
	want := `{"name":"x","channels":["a","b"],"conda":["numpy=1.26","pip","python=3.9"],"pip":[["x","y"]],"variables":{"A":"1","B":"2"}}`
	if first != want {
		t.Errorf("got  %s\nwant %s", first, want)
	}
	for what, text := range map[string]string{
		"comments and blanks":    "# c\nname:   x\nchannels: [a, b]  # c\ndependencies: ['python = 3.9', numpy=1.26, pip, pip: [x, y]]\nvariables: {A: 1, B: 2}\n",
		"order of keys":          "variables: {B: 2, A: 1}\ndependencies: [python=3.9, numpy=1.26, pip, pip: [x, y]]\nchannels: [a, b]\nname: x\n",
		"order of conda specs":   strings.Replace(plain, "python=3.9, numpy=1.26", "numpy=1.26, python=3.9", 1),
		"prefix":                 plain + "prefix: /x\n",
		"python that was added":  strings.Replace(plain, "python=3.9, ", "", 1),
		"a conda package, again": strings.Replace(plain, "pip,", "pip, numpy=1.26,", 1),
	} {
		if got := string(parse(t, text).Canonical()); got != first {
			t.Errorf("%s counts: %s", what, got)
		}
	}
	for what, text := range map[string]string{
		"order of channels":  strings.Replace(plain, "[a, b]", "[b, a]", 1),
		"order of pip lines": strings.Replace(plain, "[x, y]", "[y, x]", 1),
		"sections of pip":    strings.Replace(plain, "pip: [x, y]", "pip: [x], pip: [y]", 1),
		"name":               strings.Replace(plain, "name: x", "name: y", 1),
		"variable":           strings.Replace(plain, "A: 1", "A: 3", 1),
	} {
		text = strings.Replace(text, "pip: [x], pip: [y]", "{pip: [x]}, {pip: [y]}", 1)
		if got := string(parse(t, text).Canonical()); got == first {
			t.Errorf("%s does not count", what)
		}
	}
}

func TestFind(t *testing.T) {
	dir := t.TempDir()
	_, err := Find(dir)
	want := "no environment file in " + dir + " (looked for environment.yml, environment.yaml, env.yml, env.yaml, conda.yml, conda.yaml, conda-lock.yml, requirements.txt, pyproject.toml); crun init writes a first environment.yml, or name another file: -f FILE"
	if err == nil || err.Error() != want || !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("got  %v\nwant %s", err, want)
	}
	write := func(name string) {
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write("environment-gpu.yml")
	write("compose.yml")
	if err := os.Mkdir(filepath.Join(dir, "environment.yml"), 0o755); err != nil {
		t.Fatal(err)
	}
	if _, err = Find(dir); err == nil || !strings.HasSuffix(err.Error(), "; name the one that is meant: -f environment-gpu.yml") {
		t.Errorf("%v", err)
	}
	write("env.yaml")
	write("conda.yml")
	if got, err := Find(dir); err != nil || got != filepath.Join(dir, "env.yaml") {
		t.Errorf("%s, %v", got, err)
	}
	if _, err := Find(filepath.Join(dir, "nowhere")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("%v", err)
	}
}

func TestSelector(t *testing.T) {
	for _, test := range []struct {
		text, platform string
		holds, ok      bool
	}{
		{"linux", "linux-64", true, true},
		{"win", "linux-64", false, true},
		{"not win", "linux-64", true, true},
		{"linux and not (aarch64 or ppc64le)", "linux-64", true, true},
		{"linux and not (aarch64 or ppc64le)", "linux-aarch64", false, true},
		{"x86_64", "linux-aarch64", false, true},
		{"py<39", "linux-64", false, false},
		{"linux and cuda", "linux-64", false, false},
		{"linux linux", "linux-64", false, false},
		{"(linux", "linux-64", false, false},
		{"not", "linux-64", false, false},
	} {
		holds, ok := evaluate(test.text, test.platform)
		if ok != test.ok || ok && holds != test.holds {
			t.Errorf("[%s] on %s: %t, %t", test.text, test.platform, holds, ok)
		}
	}
}

// What looks like a terminal's command must not reach one by a message.
func TestMessagesArePrintable(t *testing.T) {
	for _, text := range []string{
		`"\e[2Jname": x`, `name: "\e[2J"`, `channels: ["\e[2J"]`, `dependencies: ["\e[2J"]`, `dependencies: "\e[2J"`,
		`dependencies: [{"\e[2J": "\e[2J"}]`, `dependencies: [{"\e[2J": [a]}]`, `dependencies: [{pip: ["\e[2J"]}]`,
		`dependencies: [{pip: [{"\e[2J": "\e[2J"}]}]`, `dependencies: {"\e[2J": "\e[2J"}`, `variables: {"\e[2J": x}`, `variables: {A: "\e[2J"}`,
		`variables: {"PATH\e[2J": x}`, "dependencies:\n- python\n- \"a\\e[2J\" # [win]\n", "a: *\x9b2J\n",
	} {
		_, findings, err := Parse([]byte(text), Options{FolderName: "x"})
		for _, r := range fmt.Sprint(findings, strings.ReplaceAll(fmt.Sprint(err), "\n", "")) {
			if unicode.IsControl(r) {
				t.Errorf("%s: %q, %q", text, findings, err)
				break
			}
		}
	}
}

// A credential is taken out before an address is looked at, but is part of
// what a request is made from.
func TestCredentialIsOneWord(t *testing.T) {
	for _, text := range []string{
		`channels: ["https://u:hun\nter2@h/x"]`, `channels: ["https://u:hunter2 @h/x"]`, `dependencies: ["https://u:hun\tter2@h/x::a"]`,
		`dependencies: [{pip: ["a @ git+https://u:hun\x01ter2@h/x.git@v1"]}]`, `dependencies: [{pip: ["--index-url https://u:hun\x01ter2@h/x"]}]`,
	} {
		_, _, err := Parse([]byte(text), Options{FolderName: "x"})
		if err == nil || strings.Contains(err.Error(), "ter2") || !strings.Contains(err.Error(), "%XX") {
			t.Errorf("%s: %v", text, err)
		}
	}
}

// TestEncodings: what editors and tools make of one file is one environment.
func TestEncodings(t *testing.T) {
	const plain = "name: x\nchannels: [a]\ndependencies:\n  - python=3.9\n  - numpy\n"
	want := string(parse(t, plain).Canonical())
	wide := func(order func(byte) []byte, text string) string {
		var b strings.Builder
		for _, c := range []byte(text) {
			b.Write(order(c))
		}
		return b.String()
	}
	little := func(c byte) []byte { return []byte{c, 0} }
	big := func(c byte) []byte { return []byte{0, c} }
	for name, text := range map[string]string{
		"UTF-16 little":          "\xFF\xFE" + wide(little, plain),
		"UTF-16 big":             "\xFE\xFF" + wide(big, plain),
		"UTF-16 without a mark":  wide(little, plain),
		"UTF-16 big, no mark":    wide(big, plain),
		"UTF-16, CRLF":           "\xFF\xFE" + wide(little, strings.ReplaceAll(plain, "\n", "\r\n")),
		"mark":                   "\uFEFF" + plain,
		"two marks":              "\uFEFF\uFEFF" + plain,
		"a mark in the middle":   strings.Replace(plain, "dependencies", "\uFEFFdependencies", 1),
		"old Mac":                strings.ReplaceAll(plain, "\n", "\r"),
		"mixed line ends":        "name: x\r\nchannels: [a]\rdependencies:\n  - python=3.9\r\r\n  - numpy",
		"line separators":        strings.ReplaceAll(plain, "\n", "\u2028"),
		"end of a DOS file":      plain + "\x1a",
		"Latin-1 in a comment":   "# caf\xe9\n" + plain,
		"GBK behind a value":     strings.Replace(plain, "numpy", "numpy  # \xbb\xb7\xbe\xb3", 1),
		"version of YAML":        "%YAML 1.2\n---\n" + plain,
		"JSON":                   `{"name": "x", "channels": ["a"], "dependencies": ["python=3.9", "numpy"]}`,
		"blanks behind the keys": "name : x  \nchannels :\n- a \ndependencies :\n- python=3.9\t\n- numpy \n",
	} {
		env, _, err := Parse([]byte(text), Options{FolderName: "folder"})
		if err != nil {
			t.Errorf("%s: %v", name, err)
		} else if got := string(env.Canonical()); got != want {
			t.Errorf("%s: %s", name, got)
		}
	}
	for text, want := range map[string]string{
		"\xFF\xFE\x00\x00n\x00\x00\x00":                         "environment.yml: is UTF-32 text; save it as UTF-8",
		"name: x\ndependencies:\n  - caf\xe9\n":                 "environment.yml:3:8: holds the byte 0xE9",
		"name: x\ndependencies:\n  - a\x1b[0m\n":                "environment.yml:3:6: holds the control character U+001B",
		"name: x\ndependencies:\n  - a\x0c\n":                   "environment.yml:3:6: holds the control character U+000C",
		"PK\x03\x04\x14\x00":                                    "environment.yml: is a binary file",
		"# \xe9\nname: x\ndependencies: [python=3.9, numpy=>1]": `environment.yml:3:28: "numpy=>1"`,
	} {
		if _, _, err := Parse([]byte(text), Options{}); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%q: %v, want %s", text, err, want)
		}
	}
}
