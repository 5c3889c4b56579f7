package e2e

import (
	"archive/tar"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"strings"
	"time"

	"github.com/docker/docker/api/types/filters"
	"github.com/docker/docker/api/types/image"
	"github.com/docker/docker/client"
	"github.com/rogpeppe/go-internal/testscript"
)

// Commands of the scripts of builds:
//
//	forget NAME...          remove the images of these environments before and after the script
//	look FILE IMAGE         write the image's configuration and history, as JSON, into FILE
//	contents FILE IMAGE     write the names of all files of the image's layers into FILE
//	nowhere IMAGE TEXT...   fail where a TEXT is in a layer, a name or the configuration
//	replace FILE OLD NEW    replace a text of a file
func init() {
	commands["forget"] = cmdForget
	commands["look"] = cmdLook
	commands["contents"] = cmdContents
	commands["nowhere"] = cmdNowhere
	commands["replace"] = cmdReplace
}

func dockerClient(ts *testscript.TestScript) *client.Client {
	c, err := client.NewClientWithOpts(client.FromEnv, client.WithAPIVersionNegotiation())
	ts.Check(err)
	return c
}

func cmdForget(ts *testscript.TestScript, neg bool, args []string) {
	usage(ts, neg, args, 1, "forget NAME...")
	c := dockerClient(ts)
	forget := func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		for _, name := range args {
			images, err := c.ImageList(ctx, image.ListOptions{Filters: filters.NewArgs(filters.Arg("label", "dev.crun.env="+name))})
			ts.Check(err)
			for _, i := range images {
				_, err := c.ImageRemove(ctx, i.ID, image.RemoveOptions{Force: true, PruneChildren: true})
				if err != nil && !strings.Contains(err.Error(), "No such image") {
					ts.Logf("removing the image of %s: %v", name, err)
				}
			}
		}
	}
	forget()
	ts.Defer(func() {
		forget()
		c.Close()
	})
}

func cmdLook(ts *testscript.TestScript, neg bool, args []string) {
	usage(ts, neg, args, 2, "look FILE IMAGE")
	c := dockerClient(ts)
	defer c.Close()
	inspected, err := c.ImageInspect(context.Background(), args[1])
	ts.Check(err)
	history, err := c.ImageHistory(context.Background(), args[1])
	ts.Check(err)
	var data bytes.Buffer
	encoder := json.NewEncoder(&data)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", " ")
	ts.Check(encoder.Encode(inspected))
	ts.Check(encoder.Encode(history))
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), data.Bytes(), 0o644))
}

// eachFile calls fn with each file of an image: of its layers and of what the
// engine keeps of it.
func eachFile(ts *testscript.TestScript, ref string, fn func(name string, layer bool, content io.Reader)) {
	c := dockerClient(ts)
	defer c.Close()
	archive, err := c.ImageSave(context.Background(), []string{ref})
	ts.Check(err)
	defer archive.Close()
	outer := tar.NewReader(archive)
	for {
		entry, err := outer.Next()
		if errors.Is(err, io.EOF) {
			return
		}
		ts.Check(err)
		if !strings.HasSuffix(entry.Name, "layer.tar") {
			fn(entry.Name, false, outer)
			continue
		}
		inner := tar.NewReader(outer)
		for {
			file, err := inner.Next()
			if errors.Is(err, io.EOF) {
				break
			}
			ts.Check(err)
			fn("/"+file.Name, true, inner)
		}
	}
}

func cmdContents(ts *testscript.TestScript, neg bool, args []string) {
	usage(ts, neg, args, 2, "contents FILE IMAGE")
	var names strings.Builder
	eachFile(ts, args[1], func(name string, layer bool, _ io.Reader) {
		if layer {
			names.WriteString(name + "\n")
		}
	})
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), []byte(names.String()), 0o644))
}

func cmdNowhere(ts *testscript.TestScript, neg bool, args []string) {
	usage(ts, neg, args, 2, "nowhere IMAGE TEXT...")
	eachFile(ts, args[0], func(name string, _ bool, content io.Reader) {
		data, err := io.ReadAll(content)
		ts.Check(err)
		for _, text := range args[1:] {
			if strings.Contains(name, text) || bytes.Contains(data, []byte(text)) {
				ts.Fatalf("%q is in %s", text, name)
			}
		}
	})
}

func cmdReplace(ts *testscript.TestScript, neg bool, args []string) {
	usage(ts, neg, args, 3, "replace FILE OLD NEW")
	data, err := os.ReadFile(ts.MkAbs(args[0]))
	ts.Check(err)
	if !bytes.Contains(data, []byte(args[1])) {
		ts.Fatalf("%s holds no %q", args[0], args[1])
	}
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), bytes.ReplaceAll(data, []byte(args[1]), []byte(args[2])), 0o644))
}
