package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"crun.dev/crun/build/buildkit"
	"crun.dev/crun/internal/endpoint"
)

// environment is what is built: its conda specs and its pip lines.
type environment struct {
	conda, pip []string
}

// imports are the modules that e can be checked by: torch is not there in every one.
func (w *workshop) imports(e environment) string {
	hasTorch := func(line string) bool { return strings.Contains(line, "torch") }
	if slices.ContainsFunc(slices.Concat(e.conda, e.pip), hasTorch) {
		return w.modules
	}
	return strings.TrimPrefix(w.modules, "torch, ")
}

func (e environment) with(old, new string) environment {
	change := func(lines []string) (changed []string) {
		for _, line := range lines {
			if line != old {
				changed = append(changed, line)
			} else if new != "" {
				changed = append(changed, new)
			}
		}
		return changed
	}
	return environment{conda: change(e.conda), pip: change(e.pip)}
}

func (e environment) file(name string) string {
	text := "name: " + name + "\nchannels: [conda-forge]\ndependencies:\n"
	for _, spec := range e.conda {
		text += "  - " + spec + "\n"
	}
	text += "  - pip:\n"
	for _, line := range e.pip {
		text += "    - " + line + "\n"
	}
	return text
}

// workshop builds environments by crun and by hand, and counts what each costs.
type workshop struct {
	crun    string
	folder  string // of everything that is written
	machine machine
	traffic *traffic
	name    string              // no other bench's: of the environment, the caches and the images
	modules string              // what is imported as a check
	made    map[string][]string // ids of the images that were built by hand, by kind
}

// cost is what a build took.
type cost struct {
	time     time.Duration
	down     int64 // bytes from channel and index
	exported int64 // bytes of the layers that the image before had not
	size     int64 // bytes of the image
	spent    map[string]time.Duration
}

func newWorkshop(crun, name, modules string) (*workshop, error) {
	machine, err := machineConfig()
	if err != nil {
		return nil, err
	}
	traffic, err := newTraffic(machine.Channel)
	if err != nil {
		return nil, err
	}
	folder, err := os.MkdirTemp("", "crun-bench-")
	if err != nil {
		return nil, err
	}
	name += "-" + strings.ToLower(fmt.Sprintf("%x", time.Now().Unix()))
	w := &workshop{crun: crun, folder: folder, machine: machine, traffic: traffic, name: name, modules: modules, made: map[string][]string{}}
	config := fmt.Sprintf("base: %s\ntoolbox_base: %s\ncache_domain: %s\nmirrors:\n  conda: {conda-forge: %q}\n  pip: {index_url: %q}\n",
		machine.Base, machine.Base, name, traffic.channel(), traffic.index())
	return w, errorOr(
		os.WriteFile(w.path("config.yaml"), []byte(config), 0o644),
		os.MkdirAll(w.path("project"), 0o755),
		os.MkdirAll(w.path("plain"), 0o755),
		os.WriteFile(w.path("plain", "install.py"), plainInstall, 0o644),
	)
}

func errorOr(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

func (w *workshop) path(parts ...string) string {
	return filepath.Join(append([]string{w.folder}, parts...)...)
}

// close removes what was made but for what crun's steps have left in the build
// cache: those say not for which environment they ran.
func (w *workshop) close() {
	w.traffic.close()
	w.forget("a", "b")
	if ids, err := exec.Command(docker(), "images", "-q", "--no-trunc", "--filter", "label=dev.crun.env="+w.name).Output(); err == nil {
		for _, id := range strings.Fields(string(ids)) {
			_ = exec.Command(docker(), "image", "rm", "-f", id).Run()
		}
	}
	_ = os.RemoveAll(w.folder)
}

// forget removes the images of kinds that were made by hand, and their part of
// the build cache.
func (w *workshop) forget(kinds ...string) {
	for _, kind := range kinds {
		// An image whose tag has gone to the next one would keep its part of the cache.
		for _, id := range w.made[kind] {
			_ = exec.Command(docker(), "image", "rm", "-f", id).Run()
		}
		delete(w.made, kind)
	}
	found, err := endpoint.Find(endpoint.Options{Getenv: os.Getenv})
	if err != nil {
		return
	}
	engine, err := buildkit.NewEngine(found)
	if err != nil {
		return
	}
	defer engine.Close()
	builder := buildkit.New(engine, buildkit.Options{})
	defer builder.Close()
	records, err := builder.Cache(context.Background())
	if err != nil {
		return
	}
	var ids []string
	for _, r := range records {
		if strings.Contains(r.What, w.name) && !r.InUse {
			ids = append(ids, r.ID)
		}
	}
	_, _ = builder.PruneCache(context.Background(), ids)
}

func (w *workshop) tag(kind string) string { return "crun-bench/" + w.name + ":" + kind }

// environ is the process's own with the bench's config.
func (w *workshop) environ() []string {
	return append(os.Environ(), "CRUN_CONFIG="+w.path("config.yaml"), "BUILDKIT_HOST=", "BUILDKIT_PROGRESS=")
}

// build builds e with crun.
func (w *workshop) build(e environment) (cost, error) {
	if err := os.WriteFile(w.path("project", "environment.yml"), []byte(e.file(w.name)), 0o644); err != nil {
		return cost{}, err
	}
	tag := w.tag("crun")
	before := layers(tag)
	cmd := exec.Command(w.crun, "build", "--progress", "rawjson", "-t", tag)
	cmd.Dir, cmd.Env = w.path("project"), w.environ()
	var progress, out bytes.Buffer
	cmd.Stderr, cmd.Stdout = &progress, &out
	down, start := w.traffic.bytes(), time.Now()
	if err := cmd.Run(); err != nil {
		return cost{}, fmt.Errorf("crun build: %w\n%s", err, tail(progress.Bytes()))
	}
	c := cost{time: time.Since(start), down: w.traffic.bytes() - down, spent: spent(progress.Bytes())}
	return c, c.measure(tag, before)
}

// byHand builds e with one RUN step. Kind is "a" where the step cleans its
// caches up, "b" where they are cache mounts.
func (w *workshop) byHand(kind string, e environment) (cost, error) {
	caches, noCache := "", "--no-cache-dir"
	if kind == "b" {
		caches = fmt.Sprintf("--mount=type=cache,id=%s,target=/root/.cache --mount=type=cache,id=%s-apt,target=/var/cache/apt --mount=type=cache,id=%s-lists,target=/var/lib/apt/lists \\\n    ",
			w.name, w.name, w.name)
		noCache = ""
	}
	text := strings.NewReplacer("@CACHES@", caches, "@NOCACHE@", noCache, "@CLEAN@", map[string]string{
		"a": "/root/.cache /var/lib/apt/lists/* /var/cache/apt/*", "b": "",
	}[kind], "@NAME@", w.name, "@SPECS@", quoted(e.conda), "@PIP@", quoted(e.pip), "@MODULES@", w.imports(e)).Replace(string(plainDockerfile))
	if err := os.WriteFile(w.path("plain", "Dockerfile"), []byte(text), 0o644); err != nil {
		return cost{}, err
	}
	tag := w.tag(kind)
	before := layers(tag)
	host := strings.Split(strings.TrimPrefix(w.traffic.index(), "http://"), ":")[0]
	cmd := exec.Command(docker(), "build", "-t", tag, "--build-arg", "BASE="+w.machine.Base, "--build-arg", "CHANNEL="+w.traffic.channel(),
		"--build-arg", "INDEX="+w.traffic.index(), "--build-arg", "HOST="+host, "--secret", "id=ca,src="+w.machine.CA, w.path("plain"))
	cmd.Env = append(os.Environ(), "DOCKER_BUILDKIT=1", "BUILDKIT_PROGRESS=plain")
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	down, start := w.traffic.bytes(), time.Now()
	if err := cmd.Run(); err != nil {
		return cost{}, fmt.Errorf("docker build of the plain Dockerfile: %w\n%s", err, tail(out.Bytes()))
	}
	c := cost{time: time.Since(start), down: w.traffic.bytes() - down}
	id, err := exec.Command(docker(), "image", "inspect", "-f", "{{.Id}}", tag).Output()
	if err != nil {
		return cost{}, fmt.Errorf("asking for the id of %s: %w", tag, err)
	}
	w.made[kind] = append(w.made[kind], strings.TrimSpace(string(id)))
	return c, c.measure(tag, before)
}

func quoted(words []string) string {
	text := ""
	for _, word := range words {
		text += " '" + word + "'"
	}
	return text
}

func tail(output []byte) []byte { return output[max(0, len(output)-4000):] }

// layers are the layers of an image, none where there is no such image.
func layers(tag string) map[string]bool {
	found := map[string]bool{}
	out, err := exec.Command(docker(), "image", "inspect", "-f", "{{json .RootFS.Layers}}", tag).Output()
	var list []string
	if err == nil && json.Unmarshal(out, &list) == nil {
		for _, layer := range list {
			found[layer] = true
		}
	}
	return found
}

// measure adds what the image tag is, and what of it is not in before.
func (c *cost) measure(tag string, before map[string]bool) (err error) {
	if c.size, err = size(tag); err != nil {
		return err
	}
	out, err := exec.Command(docker(), "image", "inspect", "-f", "{{json .RootFS.Layers}}", tag).Output()
	if err != nil {
		return err
	}
	var ids []string
	if err := json.Unmarshal(out, &ids); err != nil {
		return err
	}
	// The history has a size for each step, newest first; steps without a
	// layer have none, and a layer of nothing has none to count either.
	if out, err = exec.Command(docker(), "history", "--human=false", "--no-trunc", "--format", "{{.Size}}\t{{.CreatedBy}}", tag).Output(); err != nil {
		return err
	}
	var sizes []int64
	for _, line := range strings.Split(strings.TrimSpace(string(out)), "\n") {
		text, by, _ := strings.Cut(line, "\t")
		var n int64
		_, _ = fmt.Sscan(text, &n)
		if n > 0 || strings.Contains(by, "RUN") {
			sizes = append([]int64{n}, sizes...)
		}
	}
	for i, id := range ids {
		if !before[id] && i < len(sizes) {
			c.exported += sizes[i]
		}
	}
	return nil
}
