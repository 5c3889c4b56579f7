package e2e

import (
	"archive/tar"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/docker/docker/api/types/build"
	"github.com/docker/docker/api/types/image"
	"github.com/rogpeppe/go-internal/testscript"
)

// cmdBaseImage makes an image of a folder: by its Dockerfile, or of its files
// alone, for a platform that need not be true. It is removed behind the script.
func cmdBaseImage(ts *testscript.TestScript, neg bool, args []string) {
	usage(ts, neg, args, 3, "baseimage NAME PLATFORM FOLDER")
	ctx, c := context.Background(), dockerClient(ts)
	name, folder := args[0], ts.MkAbs(args[2])
	var files bytes.Buffer
	archive := tar.NewWriter(&files)
	ts.Check(archive.AddFS(os.DirFS(folder)))
	ts.Check(archive.Close())
	remove := func() {
		_, _ = c.ImageRemove(ctx, name, image.RemoveOptions{Force: true, PruneChildren: true})
	}
	remove()
	ts.Defer(func() {
		remove()
		c.Close()
	})
	var answer io.ReadCloser
	if _, err := os.Stat(folder + "/Dockerfile"); err == nil {
		response, err := c.ImageBuild(ctx, &files, build.ImageBuildOptions{Tags: []string{name}, Version: build.BuilderV1, Remove: true, NetworkMode: "none"})
		ts.Check(err)
		answer = response.Body
	} else {
		response, err := c.ImageLoad(ctx, savedImage(ts, name, args[1], files.Bytes()))
		ts.Check(err)
		answer = response.Body
	}
	defer answer.Close()
	for lines := json.NewDecoder(answer); ; {
		var line struct{ Stream, Error string }
		if err := lines.Decode(&line); errors.Is(err, io.EOF) {
			return
		} else if err != nil {
			ts.Fatalf("making %s: %v", name, err)
		}
		if line.Error != "" {
			ts.Fatalf("making %s: %s", name, line.Error)
		}
	}
}

// savedImage is an image of one layer as "docker save" writes it.
func savedImage(ts *testscript.TestScript, name, platform string, layer []byte) io.Reader {
	system, architecture, _ := strings.Cut(platform, "/")
	config, err := json.Marshal(map[string]any{
		"os": system, "architecture": architecture, "config": map[string]any{},
		"rootfs": map[string]any{"type": "layers", "diff_ids": []string{fmt.Sprintf("sha256:%x", sha256.Sum256(layer))}},
	})
	ts.Check(err)
	manifest, err := json.Marshal([]map[string]any{{"Config": "config.json", "RepoTags": []string{name + ":latest"}, "Layers": []string{"layer.tar"}}})
	ts.Check(err)
	var saved bytes.Buffer
	archive := tar.NewWriter(&saved)
	for _, file := range []struct {
		name string
		data []byte
	}{{"layer.tar", layer}, {"config.json", config}, {"manifest.json", manifest}} {
		ts.Check(archive.WriteHeader(&tar.Header{Name: file.name, Mode: 0o644, Size: int64(len(file.data))}))
		_, err := archive.Write(file.data)
		ts.Check(err)
	}
	ts.Check(archive.Close())
	return &saved
}
