package buildkit

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"path/filepath"
	"strings"

	"github.com/distribution/reference"
	"github.com/docker/cli/cli/config"
	"github.com/moby/buildkit/client"
	"github.com/moby/buildkit/client/llb/sourceresolver"
	dockerfile "github.com/moby/buildkit/frontend/dockerfile/builder"
	gateway "github.com/moby/buildkit/frontend/gateway/client"
	"github.com/moby/buildkit/session"
	"github.com/moby/buildkit/session/auth/authprovider"
	"github.com/moby/buildkit/session/secrets/secretsprovider"
	"github.com/tonistiigi/fsutil"
	"golang.org/x/sync/errgroup"

	"crun.dev/crun/internal/turn"
)

// Answer is what File gives.
type Answer struct {
	// Data is the file.
	Data []byte
	// Digest is "sha256:HEX" of the image that resolve named, as its registry
	// has it.
	Digest string
	// User is the one that this image's commands run as, "" for root.
	User string
}

// File builds job's target and gives the file at path of it. Nothing is kept
// but BuildKit's cache. resolve names an image whose digest is wanted too, or
// is "".
func (b *Builder) File(ctx context.Context, job Job, path, resolve string) (Answer, error) {
	var answer Answer
	var noBase error // BuildKit gives our own errors back as text
	noOutput := func() *output { return nil }
	_, err := b.build(ctx, job, noOutput, func(ctx context.Context, c gateway.Client) (*gateway.Result, error) {
		if resolve != "" {
			if answer.Digest, answer.User, noBase = resolveImage(ctx, c, resolve, job.Mirrors); noBase != nil {
				return nil, noBase
			}
		}
		result, err := dockerfile.Build(ctx, targeting(c, job.Target))
		if err != nil {
			return nil, err
		}
		ref, err := result.SingleRef()
		if err != nil {
			return nil, err
		}
		answer.Data, err = ref.ReadFile(ctx, gateway.ReadRequest{Filename: path})
		return gateway.NewResult(), err
	})
	if noBase != nil && ctx.Err() == nil {
		err = fmt.Errorf("%s: %w", job.Title, noBase)
	}
	return answer, err
}

func resolveImage(ctx context.Context, c gateway.Client, name string, mirrors map[string]string) (digest, user string, err error) {
	asked := name
	if mirror, ok := mirrors[name]; ok {
		asked = mirror
	}
	named, err := reference.ParseNormalizedNamed(asked)
	if err != nil {
		return "", "", fmt.Errorf("%q is no name of an image: %w", name, err)
	}
	_, found, data, err := c.ResolveImageConfig(ctx, reference.TagNameOnly(named).String(), sourceresolver.Opt{
		LogName:  "find the base image " + name,
		ImageOpt: &sourceresolver.ResolveImageOpt{ResolveMode: "default"},
	})
	if err != nil {
		return "", "", &baseError{name: name, asked: asked, err: err}
	}
	var image struct {
		Config struct{ User string } `json:"config"`
	}
	if err := json.Unmarshal(data, &image); err != nil {
		return "", "", &baseError{name: name, asked: asked, err: err}
	}
	return found.String(), image.Config.User, nil
}

// Image builds job's target as an image called names, after job.Check has been
// built, and puts it into the engine. It gives the image's id there.
func (b *Builder) Image(ctx context.Context, job Job, names []string) (string, error) {
	newOutput := func() *output { return b.output(ctx, names) }
	var refused error // BuildKit gives our own errors back as text
	response, err := b.build(ctx, job, newOutput, func(ctx context.Context, c gateway.Client) (*gateway.Result, error) {
		if job.Check != "" {
			data, err := evaluate(ctx, targeting(c, job.Check), job.CheckFile)
			if err != nil {
				return nil, err
			}
			if refused = job.Checked(data); refused != nil {
				return nil, refused
			}
		}
		return dockerfile.Build(ctx, targeting(c, job.Target))
	})
	if refused != nil && ctx.Err() == nil {
		return "", refused
	}
	if err != nil {
		return "", err
	}
	// What BuildKit calls the image's digest is the id for some image stores
	// and a manifest's digest for others; the engine knows.
	img, err := b.engine.Image(ctx, names[0])
	if errors.Is(err, ErrNoImage) {
		return "", fmt.Errorf("the image was built (%s), but the engine does not have %s: is it being removed at the same time?", response["containerimage.digest"], names[0])
	}
	return img.ID, err
}

// evaluate builds a stage and gives a file of it.
func evaluate(ctx context.Context, c gateway.Client, path string) ([]byte, error) {
	result, err := dockerfile.Build(ctx, c)
	if err != nil {
		return nil, err
	}
	ref, err := result.SingleRef()
	if err != nil {
		return nil, err
	}
	if err := ref.Evaluate(ctx); err != nil {
		return nil, err
	}
	return ref.ReadFile(ctx, gateway.ReadRequest{Filename: path})
}

// output is where an image goes.
type output struct {
	entry client.ExportEntry
	// wait ends when what was sent has been taken; err is the build's.
	wait func(err error) error
}

func (b *Builder) output(ctx context.Context, names []string) *output {
	attrs := map[string]string{"name": strings.Join(names, ",")}
	if b.embedded() {
		return &output{
			entry: client.ExportEntry{Type: "moby", Attrs: attrs},
			wait:  func(error) error { return nil },
		}
	}
	// Compressing what the engine unpacks at once would be waiting for nothing.
	attrs["compression"] = "uncompressed"
	reader, writer := io.Pipe()
	loaded := make(chan error, 1)
	go func() {
		err := b.engine.load(ctx, reader)
		reader.CloseWithError(errors.Join(errors.New("the engine does not take the image"), err))
		loaded <- err
	}()
	return &output{
		entry: client.ExportEntry{Type: client.ExporterDocker, Attrs: attrs, Output: func(map[string]string) (io.WriteCloser, error) {
			return writer, nil
		}},
		wait: func(err error) error {
			writer.CloseWithError(err) // where BuildKit did not get so far
			if loadErr := <-loaded; loadErr != nil && (err == nil || strings.Contains(err.Error(), "the engine does not take the image")) {
				return loadErr
			}
			return nil
		},
	}
}

// build runs one build function with job's files, secrets and settings.
func (b *Builder) build(ctx context.Context, job Job, newOutput func() *output, run gateway.BuildFunc) (map[string]string, error) {
	response, err := b.try(ctx, job, newOutput, run)
	if err == nil || ctx.Err() != nil || !strings.Contains(err.Error(), lostSession) {
		return response, err
	}
	job.Files = distinct(job.Files)
	return b.try(ctx, job, newOutput, run)
}

func (b *Builder) try(ctx context.Context, job Job, newOutput func() *output, run gateway.BuildFunc) (map[string]string, error) {
	c, err := b.connect(ctx)
	if err != nil {
		return nil, err
	}
	leave, err := b.takeTurn(ctx)
	if err != nil {
		return nil, err
	}
	defer leave()
	handed, err := b.handOver(ctx, job.Local)
	if err != nil {
		return nil, err
	}
	defer handed.remove()
	options := client.SolveOpt{
		FrontendAttrs: attributes(job),
		LocalMounts: map[string]fsutil.FS{
			"context":    memory(job.Files),
			"dockerfile": memory(map[string][]byte{"Dockerfile": []byte(job.Dockerfile)}),
		},
		Session: []session.Attachable{
			secretsprovider.FromMap(job.Secrets),
			authprovider.NewDockerAuthProvider(authprovider.DockerAuthProviderConfig{
				AuthConfigProvider: authprovider.LoadAuthConfig(config.LoadDefaultConfigFile(io.Discard)),
			}),
		},
		OCIStores:    handed.stores,
		CacheImports: cacheEntries(b.options.CacheFrom),
	}
	maps.Copy(options.FrontendAttrs, handed.attributes)
	if job.HostNetwork {
		options.AllowedEntitlements = []string{"network.host"}
	}
	watch, err := newWatch(b.options, job.Hidden)
	if err != nil {
		return nil, err
	}
	// Last: from here on the engine waits for the image, until out.wait.
	out := newOutput()
	if out != nil {
		options.Exports = []client.ExportEntry{out.entry}
		options.CacheExports = cacheEntries(b.options.CacheTo)
	}
	status := make(chan *client.SolveStatus)
	var response *client.SolveResponse
	var group errgroup.Group
	group.Go(func() error {
		var err error
		connection, gently := cancelGently(ctx, run)
		response, err = c.Build(connection, options, "crun", gently, status)
		if out != nil {
			if loadErr := out.wait(err); loadErr != nil {
				return loadErr
			}
		}
		return err
	})
	// A display that ends before the build does would stop the build's
	// reports, and with them the build.
	watch.follow(context.WithoutCancel(ctx), status)
	if err := group.Wait(); err != nil {
		return nil, watch.failure(ctx, job.Title, b.gone(ctx, err))
	}
	return response.ExporterResponse, nil
}

// takeTurn waits for the builds of other processes, where the engine does not
// stand two at once. The folder of the engine's socket stands for the engine.
func (b *Builder) takeTurn(ctx context.Context) (leave func(), err error) {
	socket, local := strings.CutPrefix(b.engine.endpoint.Host, "unix://")
	if !b.alone || !local {
		return func() {}, nil
	}
	return turn.Take(ctx, filepath.Dir(socket), func() {
		b.options.Notes("another crun build is at work, and an engine before Docker 23.0 does not stand two at once: waiting for it")
	})
}

// attributes are job's settings as the Dockerfile frontend takes them.
func attributes(job Job) map[string]string {
	attrs := map[string]string{"filename": "Dockerfile"}
	if job.Platform != "" {
		attrs["platform"] = job.Platform
	}
	if job.NoCache {
		attrs["no-cache"] = ""
	}
	if job.Anew {
		// Not by no-cache: two answers to one question would have one key, and
		// what is copied out of them could be the other's.
		attrs["build-arg:"+ArgAnew] = rand.Text()
	}
	if job.HostNetwork {
		attrs["force-network-mode"] = "host"
	}
	for name, mirror := range job.Mirrors {
		if named, err := reference.ParseNormalizedNamed(name); err == nil {
			attrs["context:"+contextName(named)] = "docker-image://" + mirror
		}
	}
	// The frontend knows these names: they reach the steps and nothing else.
	for name, value := range map[string]string{
		"HTTP_PROXY": job.Proxy.HTTP, "HTTPS_PROXY": job.Proxy.HTTPS, "NO_PROXY": job.Proxy.No,
	} {
		if value != "" {
			attrs["build-arg:"+name] = value
			attrs["build-arg:"+strings.ToLower(name)] = value
		}
	}
	return attrs
}

// contextName is what the Dockerfile frontend looks an image's name up by.
func contextName(named reference.Named) string {
	return strings.TrimSuffix(reference.FamiliarString(reference.TagNameOnly(named)), ":latest")
}

// targeted is a gateway whose options name another stage.
type targeted struct {
	gateway.Client
	stage string
}

func targeting(c gateway.Client, stage string) gateway.Client {
	return &targeted{Client: c, stage: stage}
}

func (t *targeted) BuildOpts() gateway.BuildOpts {
	options := t.Client.BuildOpts()
	options.Opts = maps.Clone(options.Opts)
	options.Opts["target"] = t.stage
	return options
}
