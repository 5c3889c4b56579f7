package e2e

import (
	"archive/tar"
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
		case strings.HasSuffix(file.Name, "layer.tar"):
			lists[file.Name] = listLayer(ts, outer)
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
