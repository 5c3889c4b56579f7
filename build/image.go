package build

import (
	"cmp"
	"slices"

	"crun.dev/crun/build/lock"
	"crun.dev/crun/dockerfiles"
)

// condaRoot is where Miniconda lies in an image.
const condaRoot = "/opt/conda"

// The virtual packages that a solve is given; __glibc is read in the base
// image. They are a platform's, never those of the machine that builds.
func virtualPackages(platform, cuda string) []string {
	arch := map[string]string{"linux-64": "x86_64", "linux-aarch64": "aarch64"}[platform]
	// 4.18 is the kernel of the oldest distribution that engines of today run on.
	virtual := []string{"__unix=0", "__linux=4.18", "__archspec=1=" + arch}
	if cuda != "" {
		virtual = append(virtual, "__cuda="+cuda)
	}
	return virtual
}

// minicondaSpecs are the packages of /opt/conda.
var minicondaSpecs = []string{"conda", "python=3.9"}

// solveRequest is the question for the project's conda packages.
func (p *Project) solveRequest(k kept) solveRequest {
	env := p.Environment
	request := solveRequest{Prefix: env.EnvDir(), Platform: p.Options.Platform, Virtual: virtualPackages(p.Options.Platform, p.Request.CUDA)}
	for _, channel := range channelsOf(env) {
		request.Channels = append(request.Channels, [2]string{channel, channelURL(channel)})
	}
	for _, spec := range env.Conda {
		request.Specs = append(request.Specs, spec.Text)
	}
	request.Files, request.Exact = condaFiles(env), env.Exact
	if p.Options.Miniconda && env.EnvDir() != condaRoot {
		request.Miniconda = minicondaSpecs
	}
	for _, pkg := range k.packages {
		request.Locked = append(request.Locked, condaPackage(pkg))
	}
	for _, pkg := range k.miniconda {
		request.LockedMiniconda = append(request.LockedMiniconda, condaPackage(pkg))
	}
	return request
}

// pipRequest is the question for the project's pip packages.
func (p *Project) pipRequest(k kept) pipRequest {
	options := pipOptionsOf(p.Environment)
	request := pipRequest{
		Prefix: p.Environment.EnvDir(), Indexes: options.indexes, PipOptions: options.other,
		Constraints: lineTexts(p.Environment.Constraints), Overrides: lineTexts(p.Environment.Overrides), PipSolve: options.solve,
	}
	request.Local, _ = p.localSources()
	for _, r := range pipPackages(p.Environment) {
		if r.Path != "" {
			continue
		}
		request.Pip = append(request.Pip, p.lockedLine(r.Text, packageLine(r), k))
	}
	request.Compiled = compiledNames()
	for _, d := range k.distributions {
		request.Locked = append(request.Locked, distribution(d))
	}
	return request
}

// image is what the Dockerfile of a lock is written from. It is a pure
// function of the project and the lock.
func (p *Project) image(l *lock.Lock) dockerfiles.Image {
	// A lock that was just solved and the same one read from its file must give
	// the same lists, byte for byte: else the first edit builds all layers anew.
	l = l.Canonical()
	env := p.Environment
	image := dockerfiles.Image{
		Base: from(l.Base), ToolboxBase: p.Options.ToolboxBase, User: l.Base.User,
		EnvDir: env.EnvDir(), EnvName: env.Name, CondaCommand: len(l.Miniconda) > 0,
		Check:       encode(p.checkRequest(l)),
		Lock:        l.Marshal(),
		CacheDomain: p.Options.CacheDomain,
	}
	if len(l.Apt) > 0 {
		image.Layers = append(image.Layers, aptLayer(l.Apt))
	}
	conda := func(prefix, name, title string, packages []lock.Package) {
		if len(packages) > 0 {
			image.Layers = append(image.Layers, dockerfiles.Layer{
				Kind: dockerfiles.KindConda, Title: title, File: name,
				Content: encode(newCondaList(prefix, l.Platform, packages)),
			})
		}
	}
	pip := func(name, title string, packages []lock.Distribution) {
		if len(packages) > 0 {
			options := pipOptionsOf(env)
			list := pipList{Prefix: env.EnvDir(), Indexes: options.indexes, Options: options.other}
			for _, d := range packages {
				list.Packages = append(list.Packages, distribution(d))
			}
			image.Layers = append(image.Layers, dockerfiles.Layer{
				Kind: dockerfiles.KindPip, Title: title, File: name, Content: encode(list),
			})
		}
	}
	compiled, others := splitCompiled(slices.DeleteFunc(slices.Clone(l.Pip), isLocal))
	heavyPip, restPip := splitHeavyPip(l.Conda, others)
	var pipNeeds []string
	if len(heavyPip) > 0 {
		pipNeeds = []string{"python"}
	}
	heavy, rest := splitHeavy(l.Conda, pipNeeds...)
	conda(condaRoot, "miniconda.json", "install Miniconda", l.Miniconda)
	conda(env.EnvDir(), "heavy.json", "install the large conda packages", heavy)
	pip("heavypip.json", "install the large pip packages", heavyPip)
	conda(env.EnvDir(), "conda.json", "install the conda packages", rest)
	if len(compiled) > 0 {
		image.Layers = append(image.Layers, p.compiledLayer(l, compiled, restPip))
	}
	layer, files, hasLocal := p.localLayer(l)
	along, asked := splitAsked(restPip, askedPip(env))
	pip("pipdeps.json", "install the packages that the pip packages need", along)
	pip("pip.json", "install the pip packages", asked)
	if hasLocal {
		image.Layers, image.Local = append(image.Layers, layer), files
	}
	for _, v := range env.Variables {
		if !v.IsSecret() {
			image.Variables = append(image.Variables, dockerfiles.Pair{Name: v.Name, Value: v.Value})
		}
	}
	image.Labels = []dockerfiles.Pair{
		{Name: LabelSchema, Value: SchemaVersion},
		{Name: LabelLock, Value: l.Digest()},
		{Name: LabelEnv, Value: env.Name},
		{Name: LabelPython, Value: l.Python},
		{Name: LabelPlatform, Value: l.Platform},
		{Name: LabelCheck, Value: line(p.checkLabel(l))},
	}
	if torch := version(l.Conda, l.Pip, "pytorch", "torch"); torch != "" {
		image.Labels = append(image.Labels, dockerfiles.Pair{Name: LabelTorch, Value: torch})
	}
	if t, ok := torchOf(l); ok && t.kind() != "" {
		image.Labels = append(image.Labels, dockerfiles.Pair{Name: LabelCUDA, Value: t.kind()})
		if archs := t.archs(l.Platform); archs != "" {
			image.Labels = append(image.Labels, dockerfiles.Pair{Name: LabelArchs, Value: string(archs)})
		}
	}
	if l.Compiler != "" {
		image.Labels = append(image.Labels, dockerfiles.Pair{Name: LabelCompiler, Value: l.Compiler})
	}
	return image
}

// from is what the image's FROM names: bytes that cannot change where a
// registry has the image, else its name.
func from(base lock.Base) string {
	if base.Digest != "" {
		return base.Digest
	}
	return base.Reference
}

// version finds a package by its conda and its pip name; pip's counts, for it
// is installed over conda's.
func version(conda []lock.Package, pip []lock.Distribution, condaName, pipName string) string {
	if i := slices.IndexFunc(pip, func(d lock.Distribution) bool { return d.Name == pipName }); i >= 0 {
		return pip[i].Version
	}
	if i := slices.IndexFunc(conda, func(p lock.Package) bool { return p.Name == condaName }); i >= 0 {
		return conda[i].Version
	}
	return ""
}

// Dockerfile gives what Build would build, without asking anybody: the image's
// Dockerfile where the lock is that of the files here, else the one that
// chooses the packages; next then says what follows.
func (p *Project) Dockerfile() (context *dockerfiles.Context, next string, err error) {
	if reason := p.outdated(baseImage{}); reason != "" {
		context, err = p.solveContext(p.Options.Base, kept{})
		return context, "first the packages are chosen, by this Dockerfile (" + reason + "); the image's own follows from " + cmp.Or(p.LockFile, "what is chosen"), err
	}
	context, err = dockerfiles.RenderImage(p.image(p.Lock))
	return context, "", err
}

// isLocal tells whether a distribution lies on this machine.
func isLocal(d lock.Distribution) bool { return d.Path != "" }
