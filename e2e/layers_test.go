package e2e

import (
	"archive/tar"
	"bufio"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"
)

// A command of the scripts of builds:
//
//	layers FILE IMAGE  write all entries of the image's layers above its base into FILE, with
//	                   owners, times and digests, but not the folder /etc: see docs/lock.md
func init() { commands["layers"] = cmdLayers }

func cmdLayers(ts *testscript.TestScript, neg bool, args []string) {
	usage(ts, neg, args, 2, "layers FILE IMAGE")
	c := dockerClient(ts)
	defer c.Close()
	archive, err := c.ImageSave(context.Background(), []string{args[1]})
	ts.Check(err)
	defer archive.Close()
	lists := map[string]string{} // by the layer's name in the archive
	var manifest []struct{ Layers []string }
	for outer := tar.NewReader(archive); ; {
		file, err := outer.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		ts.Check(err)
		switch {
		case file.Name == "manifest.json":
			ts.Check(json.NewDecoder(outer).Decode(&manifest))
		default:
			if content, layer := openLayer(ts, file, outer); layer {
				lists[file.Name] = listLayer(ts, content)
			}
		}
	}
	var all strings.Builder
	for i, name := range manifest[0].Layers {
		if i > 0 {
			fmt.Fprintf(&all, "layer %d\n%s", i, lists[name])
		}
	}
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), []byte(all.String()), 0o644))
}

// openLayer gives the content of a saved image's file: of a layer its tar.
// Since Docker 25 the archive is an OCI layout, whose blobs are layers or JSON;
// the containerd store keeps layers compressed.
func openLayer(ts *testscript.TestScript, file *tar.Header, content io.Reader) (_ io.Reader, layer bool) {
	buffered := bufio.NewReader(content)
	magic, _ := buffered.Peek(2)
	switch {
	case file.Typeflag != tar.TypeReg || len(magic) == 0 || magic[0] == '{':
		return buffered, false
	case !strings.HasSuffix(file.Name, "layer.tar") && !strings.HasPrefix(file.Name, "blobs/"):
		return buffered, false
	case string(magic) == "\x1f\x8b":
		unpacked, err := gzip.NewReader(buffered)
		ts.Check(err)
		return unpacked, true
	}
	return buffered, true
}

// listLayer gives a line for each entry of a layer, in its order.
func listLayer(ts *testscript.TestScript, layer io.Reader) string {
	var list strings.Builder
	for entries := tar.NewReader(layer); ; {
		e, err := entries.Next()
		if errors.Is(err, io.EOF) {
			return list.String()
		}
		ts.Check(err)
		sum := sha256.New()
		_, err = io.Copy(sum, entries)
		ts.Check(err)
		if e.Name != "etc/" && e.Name != "etc" {
			fmt.Fprintf(&list, "%s %c %o %d:%d %d %s %v %x\n", e.Name, e.Typeflag, e.Mode&0o7777, e.Uid, e.Gid, e.ModTime.Unix(), e.Linkname, e.PAXRecords, sum.Sum(nil))
		}
	}
}
