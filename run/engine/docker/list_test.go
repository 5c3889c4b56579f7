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

func TestRealImagesByLock(t *testing.T) {
	e, _ := realEngine(t)
	c := e.api.(*client.Client)
	digest := fmt.Sprintf("sha256:test%d", os.Getpid())
	var empty bytes.Buffer
	w := tar.NewWriter(&empty)
	if err := errors.Join(w.WriteHeader(&tar.Header{Name: "x", Typeflag: tar.TypeReg}), w.Close()); err != nil {
		t.Fatal(err)
	}
	var refs []string
	for i := range 2 {
		ref := fmt.Sprintf("crun-test/lock-%d:%d", os.Getpid(), i)
		if i > 0 {
			time.Sleep(1100 * time.Millisecond) // the list has whole seconds
		}
		body, err := c.ImageImport(t.Context(), image.ImportSource{Source: bytes.NewReader(empty.Bytes()), SourceName: "-"}, ref,
			image.ImportOptions{Changes: []string{"LABEL dev.crun.lock=" + digest, "ENV A=b", "WORKDIR /w"}})
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
		refs = append(refs, ref)
	}
	list, err := e.ImagesByLock(t.Context(), digest)
	if err != nil || len(list) != 2 || !slices.Equal(list[0].Tags, refs[1:]) || !slices.Equal(list[1].Tags, refs[:1]) {
		t.Fatalf("got %+v, %v", list, err)
	}
	img, err := e.Image(t.Context(), list[0].ID)
	if err != nil || img.ID != list[0].ID || img.Labels["dev.crun.lock"] != digest || img.WorkingDir != "/w" || !slices.Contains(img.Env, "A=b") || time.Since(img.Created).Abs() > time.Hour {
		t.Errorf("got %+v, %v", img, err)
	}
	if list, err := e.ImagesByLock(t.Context(), "sha256:none"); err != nil || len(list) != 0 {
		t.Errorf("got %+v, %v", list, err)
	}
}
