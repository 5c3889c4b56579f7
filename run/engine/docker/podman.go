package docker

import (
	"context"
	"encoding/json"
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
	host, err := client.ParseHostURL(e.ep.APIHost())
	if err != nil {
		return err
	}
	c, ok := e.api.(interface{ HTTPClient() *http.Client })
	if !ok {
		return fmt.Errorf("container %.12s cannot be set up", id)
	}
	hc := c.HTTPClient()
	scheme, address := "http", host.Host
	if transport, ok := hc.Transport.(*http.Transport); ok && transport.TLSClientConfig != nil {
		scheme = "https"
	}
	if host.Scheme != "tcp" && host.Scheme != "http" && host.Scheme != "https" {
		address = client.DummyHost
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, scheme+"://"+address+"/v4.0.0/libpod/containers/"+id+"/init", nil)
	if err != nil {
		return err
	}
	answer, err := hc.Do(request)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	if answer.StatusCode < 400 { // 304: it is already
		return nil
	}
	var said struct{ Message string }
	body, _ := io.ReadAll(io.LimitReader(answer.Body, 64<<10))
	if json.Unmarshal(body, &said) != nil || said.Message == "" {
		said.Message = answer.Status
	}
	return fmt.Errorf("setting up container %.12s: %s", id, said.Message)
}
