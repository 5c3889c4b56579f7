package buildkit

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/distribution/reference"
	"github.com/docker/cli/cli/config"
	"github.com/docker/docker/api/types/image"
	"github.com/docker/docker/api/types/registry"
)

// PushError is a registry that does not take an image.
type PushError struct {
	Name string
	Text string
}

func (e *PushError) Error() string {
	text := fmt.Sprintf("pushing %s: %s", e.Name, e.Text)
	lower := strings.ToLower(e.Text)
	named, err := reference.ParseNormalizedNamed(e.Name)
	switch {
	case err == nil && (strings.Contains(lower, "unauthorized") || strings.Contains(lower, "denied") || strings.Contains(lower, "no basic auth") || strings.Contains(lower, "authentication required")):
		text += "; docker login " + reference.Domain(named) + " gives crun the right to"
	case strings.Contains(lower, "http response to https client"):
		text += "; the engine takes a registry without TLS only where \"insecure-registries\" of its daemon.json names it"
	}
	return text
}

// Push sends an image that the engine has under name to name's registry, with
// the login that docker's own configuration has for it. out gets what the engine
// says is done, or is nil. It gives the digest that the registry knows it by.
func (e *Engine) Push(ctx context.Context, name string, out io.Writer) (digest string, err error) {
	login, err := loginOf(name)
	if err != nil {
		return "", err
	}
	stream, err := e.client.ImagePush(ctx, name, image.PushOptions{RegistryAuth: login})
	if err != nil {
		if ctx.Err() != nil {
			return "", ctx.Err()
		}
		return "", &PushError{Name: name, Text: err.Error()}
	}
	defer stream.Close()
	for lines := json.NewDecoder(stream); ; {
		var line struct {
			ID, Status, Error string
			Aux               struct{ Digest string }
		}
		if err := lines.Decode(&line); errors.Is(err, io.EOF) {
			return digest, nil
		} else if err != nil {
			return "", e.failure(ctx, "pushing "+name, err)
		}
		switch {
		case line.Error != "":
			return "", &PushError{Name: name, Text: line.Error}
		case line.Aux.Digest != "":
			digest = line.Aux.Digest
		case out != nil && line.ID != "" && (line.Status == "Pushed" || line.Status == "Layer already exists"):
			fmt.Fprintf(out, "%s: %s\n", line.ID, line.Status)
		}
	}
}

// loginOf is the caller's login for the registry of name, as docker has it
// (config.json or a credential helper), as the engine takes it.
func loginOf(name string) (string, error) {
	named, err := reference.ParseNormalizedNamed(name)
	if err != nil {
		return "", fmt.Errorf("%q is no name of an image: %w", name, err)
	}
	key := reference.Domain(named)
	if key == "docker.io" {
		key = "https://index." + key + "/v1/" // what docker login calls it
	}
	login, err := config.LoadDefaultConfigFile(io.Discard).GetAuthConfig(key)
	if err != nil {
		return "", fmt.Errorf("reading the login for %s from docker's configuration: %w", key, err)
	}
	return registry.EncodeAuthConfig(registry.AuthConfig{
		Username: login.Username, Password: login.Password, Auth: login.Auth, ServerAddress: login.ServerAddress,
		IdentityToken: login.IdentityToken, RegistryToken: login.RegistryToken,
	})
}
