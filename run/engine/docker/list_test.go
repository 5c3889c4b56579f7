package docker

import (
	"archive/tar"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/docker/docker/api/types/image"
	"github.com/docker/docker/client"

	"crun.dev/crun/run/engine"
)

func TestRealList(t *testing.T) {
	e, img := realEngine(t)
	p := shellPlan(t, img, "true")
	id := create(t, e, p)
	list, err := e.List(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(list, func(c engine.Container) bool { return c.ID == id })
	if i < 0 || list[i].Run != p.ID || list[i].Status != "created" {
		t.Errorf("got %+v", list)
	}
}

func TestRealLogs(t *testing.T) {
	e, img := realEngine(t)
	id := create(t, e, shellPlan(t, img, "echo out; echo err >&2"))
	execute(t, e, id, "")
	// Another process, which has not made the container, reads them.
	other, err := Open(t.Context(), e.ep, Options{})
	if err != nil {
		t.Fatal(err)
	}
	stream, err := other.Logs(t.Context(), id, false)
	if err != nil {
		t.Fatal(err)
	}
	defer stream.Close()
	var stdout, stderr bytes.Buffer
	if err := stream.Demux(&stdout, &stderr); err != nil || stdout.String() != "out\n" || stderr.String() != "err\n" {
		t.Errorf("got %q, %q, %v", &stdout, &stderr, err)
	}
}

func TestRealImage(t *testing.T) {
	e, _ := realEngine(t)
	c := e.api.(*client.Client)
	var empty bytes.Buffer
	w := tar.NewWriter(&empty)
	if err := errors.Join(w.WriteHeader(&tar.Header{Name: "x", Typeflag: tar.TypeReg}), w.Close()); err != nil {
		t.Fatal(err)
	}
	ref := fmt.Sprintf("crun-test/image-%d:1", os.Getpid())
	body, err := c.ImageImport(t.Context(), image.ImportSource{Source: bytes.NewReader(empty.Bytes()), SourceName: "-"}, ref,
		image.ImportOptions{Changes: []string{"LABEL dev.crun.lock=sha256:x", "ENV A=b", "WORKDIR /w"}})
	if err != nil {
		t.Fatal(err)
	}
	_, _ = io.Copy(io.Discard, body)
	body.Close()
	t.Cleanup(func() {
		if _, err := c.ImageRemove(context.Background(), ref, image.RemoveOptions{Force: true}); err != nil {
			t.Error(err)
		}
	})
	img, err := e.Image(t.Context(), ref)
	if err != nil || !slices.Equal(img.Tags, []string{ref}) || img.Labels["dev.crun.lock"] != "sha256:x" || img.WorkingDir != "/w" || !slices.Contains(img.Env, "A=b") || time.Since(img.Created).Abs() > time.Hour {
		t.Errorf("got %+v, %v", img, err)
	}
	if byID, err := e.Image(t.Context(), img.ID); err != nil || byID.ID != img.ID {
		t.Errorf("by id: got %+v, %v", byID, err)
	}
}
