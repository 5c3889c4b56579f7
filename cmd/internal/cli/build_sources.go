package cli

import (
	"bytes"
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"crun.dev/crun/build"
	"crun.dev/crun/build/buildkit"
	"crun.dev/crun/build/toolfiles"
	"crun.dev/crun/cmd/internal/config"
	"crun.dev/crun/internal/boundedfile"
	"crun.dev/crun/internal/yamlfile"
)

// maxToolFile is far above any file of a tool's settings, in bytes.
const maxToolFile = 1 << 20

// maxBundle is far above any bundle of certificates, in bytes: a system's has
// 0.3 MB.
const maxBundle = 16 << 20

// toolFiles reads what conda, pip and curl have been told, with what --secret
// gives in the place of the files.
func (app *App) toolFiles(given map[string][]byte) toolfiles.Files {
	return toolfiles.Read(toolfiles.Options{
		Getenv: app.Getenv, Given: given,
		ReadFile: func(path string) ([]byte, error) {
			return boundedfile.Read(path, maxToolFile)
		},
		List: func(folder string) []string {
			entries, _ := os.ReadDir(folder) // sorted
			names := make([]string, len(entries))
			for i, entry := range entries {
				names[i] = entry.Name()
			}
			return names
		},
	})
}

// sourcesOf is where a build fetches from: what config.yaml says, then what the
// tools' own files do.
func (app *App) sourcesOf(cfg *config.Config, secrets []string) (build.Sources, error) {
	given, err := app.readSecrets(secrets)
	if err != nil {
		return build.Sources{}, err
	}
	tools := app.toolFiles(given)
	sources := build.Sources{
		Conda: cfg.Mirrors.Conda, Apt: cfg.Mirrors.Apt, PipIndex: cfg.Mirrors.Pip.IndexURL, PipExtra: cfg.Mirrors.Pip.ExtraIndexURLs,
		URLs: cfg.Mirrors.URLs, Registries: cfg.Mirrors.Registry, Tools: tools, Patience: cfg.Patience, Origin: cfg.Origin,
		Proxy: buildkit.Proxy{HTTP: cfg.Proxy.HTTP, HTTPS: cfg.Proxy.HTTPS, No: cfg.Proxy.No},
	}
	if cfg.Proxy.HTTP == "" && cfg.Proxy.HTTPS == "" {
		sources.Proxy.HTTP = cmp.Or(tools.Conda.HTTP, tools.Pip.Proxy)
		sources.Proxy.HTTPS = cmp.Or(tools.Conda.HTTPS, tools.Pip.Proxy)
		sources.ProxyFrom = cmp.Or(tools.Conda.ProxyFrom, tools.Pip.ProxyFrom)
	}
	if cfg.CA != "" {
		if sources.CA, err = boundedfile.Read(cfg.CA, maxBundle); err != nil {
			return sources, fmt.Errorf("reading the certificates that %s names: %w", cfg.Origin["ca"], err)
		}
	}
	// An authority that conda or pip has been told of is one more.
	for _, bundle := range []string{tools.Conda.Bundle, tools.Pip.Bundle} {
		if bundle == "" || bundle == cfg.CA {
			continue
		}
		data, err := boundedfile.Read(bundle, maxBundle)
		if err != nil {
			app.note("the certificates in %s, which conda or pip is told to use, cannot be read: %v", bundle, err)
			continue
		}
		if !bytes.Contains(sources.CA, bytes.TrimSpace(data)) {
			sources.CA = append(append(bytes.TrimRight(sources.CA, "\n"), '\n'), data...)
		}
	}
	return sources, nil
}

// dropLocalProxy leaves out a proxy that only this machine reaches, where the
// build is on another.
func (app *App) dropLocalProxy(sources *build.Sources, remote bool) {
	told := false
	for _, proxy := range []*string{&sources.Proxy.HTTP, &sources.Proxy.HTTPS} {
		if *proxy == "" {
			continue
		}
		if address, why := (runPlace{remote: remote, hostNetwork: true}).reach(*proxy); address == "" {
			if *proxy = ""; !told {
				told = true
				app.note("the build goes through no proxy: %s", why)
			}
		}
	}
}

// checkSecrets refuses values of --secret that name nothing.
func checkSecrets(cmd *cobra.Command, secrets []string) error {
	for _, text := range secrets {
		if _, _, _, err := parseSecret(text); err != nil {
			return usagef(cmd, "--secret %v", err)
		}
	}
	return nil
}

// parseSecret reads "id=NAME,src=FILE" or "id=NAME,env=VARIABLE", as docker
// build takes it.
func parseSecret(text string) (id, src, env string, err error) {
	for field := range strings.SplitSeq(text, ",") {
		key, value, ok := strings.Cut(field, "=")
		switch {
		case !ok || value == "":
			return "", "", "", fmt.Errorf("has %q, which is no KEY=VALUE; write id=netrc,src=FILE or id=netrc,env=VARIABLE", key)
		case key == "id":
			id = value
		case key == "src" || key == "source":
			src = value
		case key == "env":
			env = value
		case key == "type" && (value == "file" || value == "env"):
		default:
			return "", "", "", fmt.Errorf("has the unknown key %q; there are id, src and env", key)
		}
	}
	if !slices.Contains(toolfiles.Names, id) {
		return "", "", "", fmt.Errorf("has the id %q; allowed are %s", id, strings.Join(toolfiles.Names, ", "))
	}
	if src == "" && env == "" {
		env = id // as docker build does
	}
	if src != "" && env != "" {
		return "", "", "", fmt.Errorf("of %s has both src and env; leave one out", id)
	}
	return id, src, env, nil
}

// readSecrets reads the files and variables that --secret names.
func (app *App) readSecrets(secrets []string) (map[string][]byte, error) {
	given := map[string][]byte{}
	for _, text := range secrets {
		id, src, env, err := parseSecret(text)
		if err != nil {
			return nil, fmt.Errorf("--secret %w", err)
		}
		if env != "" {
			value := app.Getenv(env)
			if value == "" {
				return nil, fmt.Errorf("--secret id=%s: the variable %s is not set; set it, or name a file (src=FILE)", id, env)
			}
			given[id] = []byte(value)
			continue
		}
		if rest, ok := strings.CutPrefix(src, "~/"); ok {
			src = filepath.Join(app.Getenv("HOME"), rest)
		}
		data, err := yamlfile.Read(app.rel(src)) // a shell's <(command) too
		if err != nil {
			return nil, fmt.Errorf("--secret id=%s: %w", id, err)
		}
		given[id] = data
	}
	return given, nil
}
