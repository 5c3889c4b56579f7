package build

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"time"

	"crun.dev/crun/build/buildkit"
	"crun.dev/crun/build/environment"
	"crun.dev/crun/build/probe"
	"crun.dev/crun/dockerfiles"
	"crun.dev/crun/internal/lazyregexp"
)

// Tried is a source that was tried.
type Tried struct {
	// Kind is image, apt, conda or pip; Name what people call the source.
	Kind string `json:"kind"`
	Name string `json:"name"`
	// Address is where it is asked, without a password.
	Address string `json:"address"`
	// From is host, build or engine.
	From    string     `json:"from"`
	OK      bool       `json:"ok"`
	Problem probe.Kind `json:"problem,omitempty"`
	Reason  string     `json:"reason"`
	Seconds float64    `json:"seconds"`
	// Key is what to write in config.yaml for another place, by its parts.
	Key []string `json:"key,omitempty"`
}

// Doctor tries what builds fetch from.
type Doctor struct {
	Solver Solver
	// Images and Reach ask the engine, the second one an image's registry
	// through it.
	Images Images
	Reach  func(ctx context.Context, name string) error
	// Sources are the machine's, Environment what is to be built.
	Sources     Sources
	Environment *environment.Environment
	// Base and ToolboxBase are images, Platform is BuildKit's.
	Base, ToolboxBase, Platform string
	// Limit is how long one source may take.
	Limit time.Duration
}

// source is one that is tried.
type source struct {
	kind, name string
	// real is the address with its password; paths below it are asked for.
	real  string
	paths []string
	key   []string
	// unchecked is where it is said that the certificate is not checked, or "".
	unchecked string
}

// condaPaths are the lists of packages that a channel may have.
var condaPaths = []string{"/noarch/repodata_shards.msgpack.zst", "/noarch/repodata.json.zst", "/noarch/repodata.json"}

func (d *Doctor) sources() []source {
	s := d.Sources
	var list []source
	for _, name := range channelsOf(d.Environment) {
		parts := s.parts(name)
		if parts == nil {
			parts = []string{name}
		}
		for _, part := range parts {
			list = append(list, source{"conda", environment.Bare(part), s.channel(part), condaPaths, []string{"mirrors", "conda", name}, ""})
		}
	}
	add := func(name, real, path string, key ...string) {
		unchecked := ""
		if s.Tools.Pip.Trusts(real) {
			unchecked = s.Tools.Pip.TrustedFrom
		}
		list = append(list, source{"pip", name, real, []string{path}, key, unchecked})
	}
	options := pipOptionsOf(d.Environment)
	for _, index := range options.indexes {
		switch {
		case index != pypi:
			add(index, s.real(d.credential(index)), "/", "mirrors", "urls", index)
		case s.index() != "":
			add(pypi, s.index(), "/pip/", "mirrors", "pip", "index_url")
		}
	}
	for _, index := range s.extraIndexes() {
		add(environment.Bare(index), s.real(index), "/", "mirrors", "pip", "extra_index_urls")
	}
	return list
}

// credential is an address of the environment file with its password.
func (d *Doctor) credential(address string) string {
	for _, c := range d.Environment.Credentials {
		if c.URL == address {
			return c.Reveal()
		}
	}
	return address
}

// Network tries them all: from this machine, and from inside a build where that
// can be had. Every source is given to tried as soon as it is known.
func (d *Doctor) Network(ctx context.Context, tried func(Tried)) error {
	client := probe.New(d.Sources.Proxy.HTTP, d.Sources.Proxy.HTTPS, d.Sources.Proxy.No, d.Sources.CA, d.Limit)
	toolbox, err := d.images(ctx, tried)
	if err != nil {
		return err
	}
	sources := d.sources()
	if toolbox && d.asksPyPI() {
		if address, err := d.defaultIndex(ctx); err == nil {
			sources = append(sources, source{"pip", pypi, address, []string{"pip/"}, []string{"mirrors", "pip", "index_url"}, ""})
		} else if ctx.Err() != nil {
			return ctx.Err()
		} else {
			tried(Tried{Kind: "pip", Name: pypi, From: "build", Problem: probe.Unreachable, Key: []string{"mirrors", "pip", "index_url"},
				Reason: "the tools of the build, which know its address, cannot be fetched: " + firstLine(err)})
		}
	}
	for _, s := range sources {
		var addresses []string
		for _, path := range s.paths {
			addresses = append(addresses, strings.TrimRight(s.real, "/")+"/"+strings.TrimLeft(path, "/"))
		}
		outcome := client.Try(ctx, addresses...)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if outcome.Kind == probe.Missing && s.kind == "pip" && s.name != pypi {
			outcome.Kind = probe.None // an index need not have a page of all
		}
		tried(s.tried("host", outcome))
	}
	if !toolbox {
		return nil
	}
	return d.inside(ctx, sources, tried)
}

func (s source) tried(from string, o probe.Outcome) Tried {
	if o.Kind == probe.Certificate && s.unchecked != "" {
		o.Kind, o.Reason = probe.None, "reached; its certificate is not checked (trusted-host in "+s.unchecked+")"
	}
	t := Tried{
		Kind: s.kind, Name: s.name, Address: environment.Bare(s.real), From: from, OK: o.OK(), Problem: o.Kind, Reason: o.Reason, Seconds: o.Took.Seconds(),
	}
	if !t.OK {
		t.Key = s.key
	}
	return t
}

// asksPyPI tells whether pip's own index is asked at its own address.
func (d *Doctor) asksPyPI() bool {
	if d.Sources.index() != "" {
		return false
	}
	indexes := pipOptionsOf(d.Environment).indexes
	return len(indexes) == 0 || indexes[0] == pypi
}

// images tries the images that builds start from, and tells whether the
// toolbox's can be had.
func (d *Doctor) images(ctx context.Context, tried func(Tried)) (toolbox bool, err error) {
	names := []string{d.Base}
	if d.ToolboxBase != d.Base {
		names = append(names, d.ToolboxBase)
	}
	for _, name := range names {
		t := Tried{Kind: "image", Name: name, Address: name, From: "engine", Reason: "the engine has it", OK: true}
		_, err := d.Images.Image(ctx, name)
		if errors.Is(err, buildkit.ErrNoImage) {
			asked := name
			if mirror := d.Sources.MirrorOf(name); mirror != "" {
				asked, t.Address = mirror, mirror
			}
			start := time.Now()
			limited, cancel := context.WithTimeout(ctx, d.Limit)
			reached := d.Reach(limited, asked)
			cancel()
			t.Seconds, t.Reason = time.Since(start).Seconds(), "its registry has it"
			if reached != nil {
				outcome := probe.Text(reached.Error())
				t.OK, t.Problem, t.Reason = false, outcome.Kind, outcome.Reason
				t.Key = []string{"mirrors", "registry", registryKey(name)}
			}
		} else if err != nil {
			return false, err
		}
		if ctx.Err() != nil {
			return false, ctx.Err()
		}
		tried(t)
		if name == d.ToolboxBase {
			toolbox = t.OK
		}
	}
	return toolbox, nil
}

// registryKey is what the registry of an image is called in config.yaml.
func registryKey(name string) string {
	domain, _, _ := strings.Cut(normalName(name), "/")
	if domain == hub() {
		return DockerHub
	}
	return domain
}

func (d *Doctor) job(ctx context.Context, title, target string) (buildkit.Job, error) {
	rendered, err := dockerfiles.RenderProbe(dockerfiles.Probe{ToolboxBase: d.ToolboxBase, Seconds: int(d.Limit.Seconds())})
	if err != nil {
		return buildkit.Job{}, err
	}
	job := buildkit.Job{
		Title: title, Dockerfile: rendered.Dockerfile, Files: rendered.Files, Target: target, Platform: d.Platform,
		Secrets: d.Sources.secrets(d.Environment), Proxy: d.Sources.Proxy, HostNetwork: d.Sources.needsHostNetwork(d.Environment),
		Hidden: d.Sources.file(d.Environment).Hidden, Anew: true,
	}
	b := &builder{images: d.Images, request: Request{Sources: d.Sources}, missing: []string{familiar(repository(d.ToolboxBase))}}
	found, err := d.Images.Image(ctx, d.ToolboxBase)
	switch {
	case errors.Is(err, buildkit.ErrNoImage):
		job.Mirrors = b.mirrors(job.Dockerfile)
	case err != nil:
		return job, err
	case len(found.Digests) == 0:
		job.Local = []string{d.ToolboxBase}
	}
	return job, nil
}

// defaultIndex asks pip for the address of its index.
func (d *Doctor) defaultIndex(ctx context.Context) (string, error) {
	job, err := d.job(ctx, "asking pip for its index", dockerfiles.StageIndex)
	if err != nil {
		return "", err
	}
	answer, err := d.Solver.File(ctx, job, dockerfiles.IndexFile, "")
	return strings.TrimSpace(string(answer.Data)), err
}

// inside tries the sources from a step of a build.
func (d *Doctor) inside(ctx context.Context, sources []source, tried func(Tried)) error {
	job, err := d.job(ctx, "trying the sources from inside a build", dockerfiles.StageProbe)
	if err != nil {
		return err
	}
	var addresses strings.Builder
	for _, s := range sources {
		address := environment.Bare(s.real)
		if s.name == pypi {
			address = strings.TrimRight(address, "/") + "/pip"
		}
		addresses.WriteString(strings.TrimRight(address, "/") + "/\n")
	}
	job.Secrets[dockerfiles.SecretProbe] = []byte(addresses.String())
	answer, err := d.Solver.File(ctx, job, dockerfiles.ProbeFile, "")
	if err != nil {
		return err
	}
	blocks := readProbe(string(answer.Data))
	for i, block := range blocks {
		if i > len(sources) {
			break
		}
		if i == 0 {
			for _, t := range block.apt() {
				tried(t)
			}
			continue
		}
		tried(sources[i-1].tried("build", block.outcome()))
	}
	return nil
}

// block is what a step of a build says of one try.
type block struct {
	code int
	took time.Duration
	text string
	// sources are apt's.
	sources string
}

var tryLine = lazyregexp.New(`^try (\d+) (\d+)$`)

// readProbe reads ProbeFile.
func readProbe(text string) []block {
	text, sources, _ := strings.Cut(text, "\nsources\n")
	var blocks []block
	for line := range strings.Lines(text) {
		if match := tryLine.FindStringSubmatch(strings.TrimSuffix(line, "\n")); match != nil {
			code, _ := strconv.Atoi(match[1])
			milliseconds, _ := strconv.Atoi(match[2])
			blocks = append(blocks, block{code: code, took: time.Duration(milliseconds) * time.Millisecond, sources: sources})
		} else if len(blocks) > 0 {
			blocks[len(blocks)-1].text += line
		}
	}
	return blocks
}

// outcome is what an address without its password gives: a server that wants
// one, or has no such page, is there.
func (b block) outcome() probe.Outcome {
	outcome := probe.Outcome{Reason: "reached", Took: b.took}
	if b.code == 0 {
		return outcome
	}
	found := probe.Text(b.text)
	if found.Kind == probe.Login || found.Kind == probe.Missing {
		return outcome
	}
	found.Took = b.took
	return found
}

var (
	aptError   = lazyregexp.New(`^(?:Err|Ign):\d+ (\S+) `)
	aptAddress = lazyregexp.New(`^(?:deb(?:\s+\[[^\]]*\])?|URIs:)\s+(https?://\S+)`)
)

// apt is what "apt-get update" says of each of the image's archives.
func (b block) apt() []Tried {
	var all []Tried
	seen := map[string]bool{}
	for line := range strings.Lines(b.sources) {
		match := aptAddress.FindStringSubmatch(line)
		if match == nil {
			continue
		}
		address := environment.Bare(strings.TrimRight(match[1], "/"))
		if seen[address] {
			continue
		}
		seen[address] = true
		name := address[strings.LastIndexByte(address, '/')+1:]
		t := Tried{Kind: "apt", Name: name, Address: address, From: "build", OK: true, Reason: "reached", Seconds: b.took.Seconds()}
		if reason := b.failed(address); reason != "" {
			outcome := probe.Text(reason)
			t.OK, t.Problem, t.Reason, t.Key = false, outcome.Kind, outcome.Reason, []string{"mirrors", "apt", name}
		}
		all = append(all, t)
	}
	return all
}

// failed is what apt says of an archive that failed, in the line behind it.
func (b block) failed(address string) string {
	lines := strings.Split(b.text, "\n")
	for i, line := range lines[:len(lines)-1] {
		if match := aptError.FindStringSubmatch(line); match != nil && strings.HasPrefix(match[1]+"/", address+"/") {
			return lines[i+1]
		}
	}
	return ""
}

func firstLine(err error) string {
	line, _, _ := strings.Cut(err.Error(), "\n")
	return line
}
