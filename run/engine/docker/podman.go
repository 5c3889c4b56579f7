package docker

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/docker/docker/api/types"
	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/client"
)

// attachable attaches, and where the engine is Podman readies the container
// first: there nobody attaches to one that was made and not yet set up, which
// Docker does in one step. Which of both it is does not need to be asked, since
// Docker never refuses as Podman does: with 409.
func (e *Engine) attachable(ctx context.Context, id string, options container.AttachOptions) (types.HijackedResponse, error) {
	conn, err := e.api.ContainerAttach(ctx, id, options)
	// The client has no type for what it could not upgrade.
	if err == nil || !strings.HasSuffix(err.Error(), fmt.Sprintf("received %d", http.StatusConflict)) {
		return conn, err
	}
	if err := e.setUp(ctx, id); err != nil {
		return conn, err
	}
	return e.api.ContainerAttach(ctx, id, options)
}

// setUp is Podman's own call "init": cgroup, mounts and the process are there
// after it, and the process waits to be started. One that is set up stays so.
// https://docs.podman.io/en/latest/_static/api.html, ContainerInitLibpod
func (e *Engine) setUp(ctx context.Context, id string) error {
	_, err := e.raw(ctx, http.MethodPost, "/v4.0.0/libpod/containers/"+id+"/init") // 304: it is already
	if err != nil {
		return fmt.Errorf("setting up container %.12s: %w", id, err)
	}
	return nil
}

// rootlessPodman tells whether Podman is an ordinary user's: it says so beside
// what Docker's answer has.
func (e *Engine) rootlessPodman(ctx context.Context) (bool, error) {
	body, err := e.raw(ctx, http.MethodGet, "/v"+e.api.ClientVersion()+"/info")
	if err != nil {
		return false, err
	}
	var info struct{ Rootless bool }
	return info.Rootless, json.Unmarshal(body, &info)
}

// raw makes a call that the client has no method for, and gives the answer.
func (e *Engine) raw(ctx context.Context, method, path string) ([]byte, error) {
	host, err := client.ParseHostURL(e.ep.APIHost())
	if err != nil {
		return nil, err
	}
	c, ok := e.api.(interface{ HTTPClient() *http.Client })
	if !ok {
		return nil, errors.ErrUnsupported
	}
	hc := c.HTTPClient()
	scheme, address := "http", host.Host
	if transport, ok := hc.Transport.(*http.Transport); ok && transport.TLSClientConfig != nil {
		scheme = "https"
	}
	if host.Scheme != "tcp" && host.Scheme != "http" && host.Scheme != "https" {
		address = client.DummyHost
	}
	request, err := http.NewRequestWithContext(ctx, method, scheme+"://"+address+path, nil)
	if err != nil {
		return nil, err
	}
	answer, err := hc.Do(request)
	if err != nil {
		return nil, err
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(io.LimitReader(answer.Body, 1<<20))
	if answer.StatusCode < 400 {
		return body, err
	}
	var said struct{ Message string }
	if json.Unmarshal(body, &said) != nil || said.Message == "" {
		said.Message = answer.Status
	}
	return nil, errors.New(said.Message)
}
