package buildkit

import (
	"context"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/distribution/reference"
	"github.com/docker/cli/cli/config"
	"github.com/docker/docker/api/types/registry"
)

// EngineFacts is what the engine says of itself.
type EngineFacts struct {
	Name    string // "Docker Engine" or "Podman"
	Version string
	// DataRoot is the folder of images and containers on the engine's host.
	DataRoot string
	// Proxy is the one that the engine pulls images through.
	Proxy Proxy
}

// Facts asks the engine.
func (e *Engine) Facts(ctx context.Context) (EngineFacts, error) {
	info, err := e.client.Info(ctx)
	if err != nil {
		return EngineFacts{}, e.failure(ctx, "asking the engine", err)
	}
	name := "Docker Engine"
	// Docker names its containerd, and Podman itself in its version alone.
	if info.ContainerdCommit.ID == "" {
		version, err := e.client.ServerVersion(ctx)
		if err != nil {
			return EngineFacts{}, e.failure(ctx, "asking the engine for its version", err)
		}
		if isPodman(version) {
			name = "Podman"
		}
	}
	return EngineFacts{
		Name: name, Version: info.ServerVersion, DataRoot: info.DockerRootDir,
		Proxy: Proxy{HTTP: info.HTTPProxy, HTTPS: info.HTTPSProxy, No: info.NoProxy},
	}, nil
}

// Host is the engine's address, as people know it.
func (e *Engine) Host() string { return e.endpoint.Host }

// Reach asks the registry of the image called name for it, through the engine,
// which fetches nothing.
func (e *Engine) Reach(ctx context.Context, name string) error {
	named, err := reference.ParseNormalizedNamed(name)
	if err != nil {
		return fmt.Errorf("%q is no name of an image: %w", name, err)
	}
	login := ""
	if found, err := config.LoadDefaultConfigFile(io.Discard).GetAuthConfig(reference.Domain(named)); err == nil {
		auth := registry.AuthConfig{Username: found.Username, Password: found.Password, Auth: found.Auth, IdentityToken: found.IdentityToken, RegistryToken: found.RegistryToken}
		if login, err = registry.EncodeAuthConfig(auth); err != nil {
			login = ""
		}
	}
	_, err = e.client.DistributionInspect(ctx, reference.TagNameOnly(named).String(), login)
	return err
}

// DockerProxy is the proxy that ~/.docker/config.json names for the containers
// of the engine at host.
func DockerProxy(host string) Proxy {
	proxies := config.LoadDefaultConfigFile(io.Discard).Proxies
	p, ok := proxies[host]
	if !ok {
		p = proxies["default"]
	}
	return Proxy{HTTP: p.HTTPProxy, HTTPS: p.HTTPSProxy, No: p.NoProxy}
}

// CacheRule says when BuildKit drops what a build has downloaded.
type CacheRule struct {
	// After is how long it is kept since its last use, Above how many bytes of
	// it are kept for longer.
	After time.Duration
	Above int64
}

// DownloadRules are the rules that BuildKit has for downloads alone.
func (b *Builder) DownloadRules(ctx context.Context) ([]CacheRule, error) {
	c, err := b.connect(ctx)
	if err != nil {
		return nil, err
	}
	workers, err := c.ListWorkers(ctx)
	if err != nil {
		return nil, b.unreachable(ctx, err)
	}
	var rules []CacheRule
	for _, worker := range workers {
		for _, policy := range worker.GCPolicy {
			mounts := slices.ContainsFunc(policy.Filter, func(filter string) bool { return slices.Contains(cacheMountFilters, filter) })
			if mounts && policy.KeepDuration > 0 {
				rules = append(rules, CacheRule{After: policy.KeepDuration, Above: max(policy.MaxUsedSpace, policy.ReservedSpace)})
			}
		}
	}
	return rules, nil
}

// cacheMountFilters are how BuildKit's default rules name cache mounts: one
// filter with several types, or one for each.
var cacheMountFilters = []string{
	"type==source.local,type==exec.cachemount,type==source.git.checkout", "type==exec.cachemount",
}
