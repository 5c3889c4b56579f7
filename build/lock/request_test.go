package lock

import (
	"encoding/json"
	"testing"
)

func TestKey(t *testing.T) {
	base := Request{
		Environment: json.RawMessage(`{"name":"x","conda":["python>=3.9"]}`),
		Base:        "debian:12", Platform: "linux-64", Channels: []string{"a", "b"}, Apt: []string{"git", "curl"}, Miniconda: true, LayoutVersion: 1,
	}
	// A change here makes every lock in the world stale.
	if got := base.Key(); got != "sha256:367bbadd4c61e4f5668f5118a6e18992f515920b1ccdad37ebb4536cfd459afb" {
		t.Errorf("the key is %s", got)
	}
	for what, change := range map[string]func(*Request){
		"order of the environment's keys": func(r *Request) { r.Environment = json.RawMessage(`{ "conda": ["python>=3.9"], "name": "x" }`) },
		"how JSON writes a sign":          func(r *Request) { r.Environment = json.RawMessage(`{"name":"x","conda":["python\u003e=3.9"]}`) },
		"order of apt":                    func(r *Request) { r.Apt = []string{"curl", "git", "curl"} },
		"an empty list":                   func(r *Request) { r.Apt = append([]string{}, r.Apt...) },
	} {
		r := base
		change(&r)
		if r.Key() != base.Key() || Explain(base, r) != "" {
			t.Errorf("%s counts: %s", what, Explain(base, r))
		}
	}
	for what, change := range map[string]func(*Request){
		"environment":       func(r *Request) { r.Environment = json.RawMessage(`{"name":"x","conda":["python>=3.10"]}`) },
		"base":              func(r *Request) { r.Base = "debian:13" },
		"python":            func(r *Request) { r.Python = "3.10" },
		"order of channels": func(r *Request) { r.Channels = []string{"b", "a"} },
		"cuda":              func(r *Request) { r.CUDA = "12.4" },
		"platform":          func(r *Request) { r.Platform = "linux-aarch64" },
		"apt":               func(r *Request) { r.Apt = nil },
		"compiler":          func(r *Request) { r.Compiler = "false" },
		"miniconda":         func(r *Request) { r.Miniconda = false },
		"layout":            func(r *Request) { r.LayoutVersion = 2 },
		"no JSON":           func(r *Request) { r.Environment = json.RawMessage(`{`) },
		"nothing":           func(r *Request) { r.Environment = nil },
	} {
		r := base
		change(&r)
		if r.Key() == base.Key() {
			t.Errorf("%s does not count", what)
		}
		if Explain(base, r) == "" {
			t.Errorf("%s is not explained", what)
		}
	}
}

func TestExplain(t *testing.T) {
	const old = `{"name":"x","channels":["conda-forge"],"conda":["numpy=1.26","pip","python=3.9"],"pip":[["einops==0.8.0","torch>=2.0"]],"variables":{"A":"1","B":"2"}}`
	for _, test := range []struct{ now, want string }{
		{old, ""},
		{`{"name":"x","channels":["conda-forge"],"conda":["numpy=1.26","pip","python=3.9","scipy=1.10"],"pip":[["einops==0.8.0","torch>=2.0"]],"variables":{"A":"1","B":"2"}}`, "scipy 1.10 added"},
		{`{"name":"x","channels":["conda-forge"],"conda":["pip","python=3.9"],"pip":[["einops==0.8.0","torch>=2.0"]],"variables":{"A":"1","B":"2"}}`, "numpy 1.26 removed"},
		{`{"name":"x","channels":["conda-forge"],"conda":["numpy=2.0","pip","python"],"pip":[["einops==0.8.0","torch>=2.0"]],"variables":{"A":"1","B":"2"}}`, "numpy 1.26 -> 2.0, python 3.9 -> any"},
		{`{"name":"x","channels":["conda-forge"],"conda":["conda-forge::numpy=1.26","pip","python=3.9"],"pip":[["einops==0.8.0","torch>=2.0"]],"variables":{"A":"1","B":"2"}}`, "numpy 1.26 -> conda-forge::numpy 1.26"},
		{`{"name":"x","channels":["nvidia","conda-forge"],"conda":["numpy=1.26","pip","python=3.9"],"pip":[["einops==0.8.0","torch>=2.0"]],"variables":{"A":"1","B":"2"}}`, "channel nvidia added"},
		{`{"name":"x","channels":["conda-forge"],"conda":["numpy=1.26","pip","python=3.9"],"pip":[["Einops==0.8.1","torch>=2.0","--pre"]],"variables":{"A":"1","B":"2"}}`, "einops 0.8.0 -> Einops 0.8.1 (pip), --pre (pip) added"},
		{`{"name":"x","channels":["conda-forge"],"conda":["numpy=1.26","pip","python=3.9"],"pip":[["einops==0.8.0"],["torch>=2.0"]],"variables":{"A":"1","B":"2"}}`, "order of the pip packages changed"},
		{`{"name":"x","channels":["conda-forge"],"conda":["numpy=1.26","pip","python=3.9"],"pip":[["einops==0.8.0","torch>=2.1","git+https://git.example.org/x.git"]],"variables":{"A":"1","B":"2"}}`, "torch >=2.0 -> >=2.1 (pip), git+https://git.example.org/x.git (pip) added"},
		{`{"name":"x","channels":["conda-forge"],"conda":["numpy=1.26","pip","python=3.9"],"pip":[["einops==0.8.0","torch>=2.0"]],"variables":{"A":"private","C":"2"}}`, "variable A changed, variable B removed, variable C added"},
		{`{"name":"y","conda":["python=3.10"]}`, "name changed from x to y, channel conda-forge removed, python 3.9 -> 3.10 and 6 more changes"},
	} {
		if got := Explain(Request{Environment: json.RawMessage(old)}, Request{Environment: json.RawMessage(test.now)}); got != test.want {
			t.Errorf("%s\ngot  %s\nwant %s", test.now, got, test.want)
		}
	}
	// A lock may be anybody's, and hold what a terminal obeys.
	evil := Request{Environment: json.RawMessage(`{"name":"a\nb","conda":["\u001b]0;title\u0007"]}`), Base: "x\x1b[31m"}
	if got, want := Explain(evil, Request{Environment: json.RawMessage(`{"name":"c"}`), Base: "y"}), `name changed from a\nb to c, \x1b]0;title\a removed, base image changed from x\x1b[31m to y`; got != want {
		t.Errorf("got  %q\nwant %q", got, want)
	}
	before := Request{Base: "a", Apt: []string{"git", "vim"}, Miniconda: true, LayoutVersion: 1}
	for _, test := range []struct {
		now  Request
		want string
	}{
		{Request{Base: "b", Apt: []string{"git", "vim"}, Miniconda: true, LayoutVersion: 1}, "base image changed from a to b"},
		{Request{Base: "a", Apt: []string{"git", "vim"}, Miniconda: true, LayoutVersion: 1, Python: "3.10"}, "--python changed from none to 3.10"},
		{Request{Base: "a", Apt: []string{"git", "curl"}, Miniconda: true, LayoutVersion: 1}, "apt package curl added, apt package vim removed"},
		{Request{Base: "a", Apt: []string{"git", "vim"}, LayoutVersion: 2}, "Miniconda removed, this crun lays images out in another way"},
	} {
		if got := Explain(before, test.now); got != test.want {
			t.Errorf("got  %s\nwant %s", got, test.want)
		}
	}
}
