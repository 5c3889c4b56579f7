package buildkit

import (
	"archive/tar"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/moby/buildkit/client"
	gateway "github.com/moby/buildkit/frontend/gateway/client"
	digest "github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"crun.dev/crun/internal/untar/tartest"
)

func TestReadableNames(t *testing.T) {
	for name, want := range map[string]string{
		"[image 3/5] RUN --mount=type=tmpfs,target=/run     : 'install the pip packages' &&     /run/start pip":                  "[image 3/5] install the pip packages",
		`[image 3/5] RUN --mount=type=tmpfs,target=/run     ["/bin/sh", "-c", ": 'install the pip packages' && /run/start pip"]`: "[image 3/5] install the pip packages",
		"[toolbox 2/4] RUN --mount=type=bind,source=a,target=/b : 'get the tools: python' && if [ 'x' ]; then y; fi":             "[toolbox 2/4] get the tools: python",
		"[image 1/5] FROM docker.io/library/debian": "[image 1/5] FROM docker.io/library/debian",
		"[test 2/2] RUN echo 'hello' && true":       "[test 2/2] RUN echo 'hello' && true",
		"exporting to image":                        "exporting to image",
	} {
		if got := readable(name); got != want {
			t.Errorf("%q is shown as %q, want %q", name, got, want)
		}
	}
}

func TestOutputOfAStep(t *testing.T) {
	s := &step{}
	for i := range 30 {
		s.write(fmt.Appendf(nil, "line %d\n", i))
	}
	s.write([]byte("\x1b[31mred\x1b[0m 10%\r50%\rdone\x07\n\n"))
	s.write([]byte(strings.Repeat("x", 100)))
	s.write([]byte(strings.Repeat("y", 10000)))
	got := s.output()
	if len(got) > keptLines+1 || got[0] != "line 12" || !slices.Contains(got, "done") {
		t.Errorf("the output is %q", got)
	}
	if last := got[len(got)-1]; !strings.HasPrefix(last, "xx") || len(last) > keptLength+3 {
		t.Errorf("the line that has not ended is %d bytes long", len(last))
	}
}

func failedStep(name, text string, output ...string) *watch {
	w := &watch{steps: map[string]*step{}, quiet: true}
	s := &client.SolveStatus{Vertexes: []*client.Vertex{{Digest: "sha256:a", Name: name, Error: text}}}
	w.note(s)
	w.note(&client.SolveStatus{Logs: []*client.VertexLog{{Vertex: "sha256:a", Data: []byte(strings.Join(output, "\n"))}}})
	return w
}

func TestFailures(t *testing.T) {
	const name = "[image 2/3] RUN --mount=x : 'install' && y"
	for _, test := range []struct {
		about, text string
		output      []string
		want        string
	}{
		{"a plain one", "process \"x\" did not complete successfully: exit code: 7", []string{"a", "b"}, "building: the step \"install\" failed with exit code 7; its last lines:\n  a\n  b"},
		{"20.10's words", "executor failed running [/bin/sh -c x]: exit code: 1", []string{"a", "crun: no luck"}, "building: the step \"install\" failed with exit code 1: no luck; its last lines:\n  a"},
		{"a signal", "exit code: 139", nil, "building: the step \"install\" failed with exit code 139: it was ended by signal 11"},
		{"no exit code", "failed to solve: failed to mount: no such thing", nil, "building: the step \"install\" failed: failed to mount: no such thing"},
		{"a full disk", "exit code: 1", []string{"OSError: [Errno 28] No space left on device"}, "crun prune frees what nobody needs of it, \"docker system df\" shows what takes the space; its last lines:"},
		{"a full disk of BuildKit's", "failed to copy: write /var/lib: no space left on device", nil, "\"docker system df\" shows what takes the space"},
	} {
		err := failedStep(name, test.text, test.output...).failure(t.Context(), "building", errors.New("failed to solve: "+test.text))
		if !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s is told as\n%v\nwant\n%s", test.about, err, test.want)
		}
		var step *StepError
		if !errors.As(err, &step) || step.Step != "install" {
			t.Errorf("%s is no StepError of the step: %v", test.about, err)
		}
	}
}

func TestFailureOfNoStep(t *testing.T) {
	w := failedStep("[internal] load .dockerignore", "not found")
	err := w.failure(t.Context(), "building", errors.New("failed to solve: rpc error: code = Unknown desc = no such base"))
	if want := "building: no such base"; err.Error() != want {
		t.Errorf("the error is %q, want %q", err, want)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := w.failure(ctx, "building", errors.New("anything")); err != context.Canceled {
		t.Errorf("after a cancel the error is %v", err)
	}
}

func TestAttributes(t *testing.T) {
	got := attributes(Job{Platform: "linux/amd64", HostNetwork: true, Proxy: Proxy{HTTPS: "http://p:1", No: "lab"}})
	want := map[string]string{
		"filename": "Dockerfile", "platform": "linux/amd64", "force-network-mode": "host",
		"build-arg:HTTPS_PROXY": "http://p:1", "build-arg:https_proxy": "http://p:1", "build-arg:NO_PROXY": "lab", "build-arg:no_proxy": "lab",
	}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("the attributes are %v, want %v", got, want)
	}
	if got, there := attributes(Job{NoCache: true})["no-cache"]; got != "" || !there {
		t.Errorf("without any cache no-cache is %q", got)
	}
	// no-cache for single stages gives two answers one key.
	anew := attributes(Job{Anew: true})
	if value := anew["build-arg:"+ArgAnew]; value == "" || value == attributes(Job{Anew: true})["build-arg:"+ArgAnew] {
		t.Errorf("for what is built anew the argument is %q", value)
	}
	if _, there := anew["no-cache"]; there {
		t.Error("what is built anew is so by no-cache")
	}
}

func TestMemory(t *testing.T) {
	files := memory(map[string][]byte{"a/b/c.py": []byte("x"), "a/d": []byte("y"), "e": []byte("z")})
	walk := func(skip string) (names []string) {
		err := files.Walk(t.Context(), "", func(name string, entry fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			if name == skip {
				return fs.SkipDir
			}
			names = append(names, name)
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		return names
	}
	if got, want := walk("none"), []string{"a", "a/b", "a/b/c.py", "a/d", "e"}; !slices.Equal(got, want) {
		t.Errorf("it holds %v, want %v", got, want)
	}
	if got, want := walk("a"), []string{"e"}; !slices.Equal(got, want) {
		t.Errorf("without a it holds %v, want %v", got, want)
	}
}

func TestDistinct(t *testing.T) {
	files := map[string][]byte{"a.json": []byte("{}"), "start": []byte("x")}
	other, third := distinct(files), distinct(files)
	if string(files["a.json"]) != "{}" || string(other["start"]) != "x" {
		t.Error("it changes what it must not")
	}
	if bytes.Equal(other["a.json"], third["a.json"]) || strings.TrimSpace(string(other["a.json"])) != "{}" {
		t.Errorf("the lists are %q and %q", other["a.json"], third["a.json"])
	}
}

// The build function ends before the connection does.
func TestCancelGently(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	started := make(chan struct{})
	connection, run := cancelGently(ctx, func(c context.Context, _ gateway.Client) (*gateway.Result, error) {
		close(started)
		<-c.Done()
		return nil, c.Err()
	})
	ended := make(chan time.Time, 1)
	go func() {
		_, err := run(context.Background(), nil)
		if !errors.Is(err, context.Canceled) {
			t.Errorf("the build function's error is %v", err)
		}
		ended <- time.Now()
	}()
	<-started
	cancel()
	if connection.Err() != nil {
		t.Error("the connection ends at once")
	}
	<-connection.Done()
	select {
	case <-ended:
	case <-time.After(time.Second):
		t.Error("the connection ends before the build function")
	}
}

// archive makes a "docker save" archive.
func TestLayOut(t *testing.T) {
	folder := t.TempDir()
	manifest, err := layOut(tartest.Archive(t,
		tar.Header{Typeflag: tar.TypeReg, Name: "one/layer.tar", Uname: "layer one"},
		tar.Header{Typeflag: tar.TypeSymlink, Name: "two/layer.tar", Linkname: "../one/layer.tar"},
		tar.Header{Typeflag: tar.TypeReg, Name: "three/layer.tar", Uname: "\x1f\x8bpacked"},
		tar.Header{Typeflag: tar.TypeReg, Name: "abc.json", Uname: `{"os":"linux"}`},
		tar.Header{Typeflag: tar.TypeReg, Name: "manifest.json", Uname: `[{"Config":"abc.json","Layers":["one/layer.tar","two/layer.tar","three/layer.tar"]}]`},
	), folder)
	if err != nil {
		t.Fatal(err)
	}
	blob := func(d digest.Digest) []byte {
		data, err := os.ReadFile(filepath.Join(folder, "blobs", "sha256", d.Encoded()))
		if err != nil {
			t.Fatal(err)
		}
		if digest.FromBytes(data) != d {
			t.Errorf("the blob %s holds other bytes", d)
		}
		return data
	}
	var m ocispec.Manifest
	if err := json.Unmarshal(blob(manifest), &m); err != nil {
		t.Fatal(err)
	}
	if len(m.Layers) != 3 || string(blob(m.Layers[1].Digest)) != "layer one" || string(blob(m.Config.Digest)) != `{"os":"linux"}` {
		t.Errorf("the manifest is %+v", m)
	}
	if m.Layers[0].MediaType != ocispec.MediaTypeImageLayer || m.Layers[2].MediaType != ocispec.MediaTypeImageLayerGzip {
		t.Errorf("the layers are %+v", m.Layers)
	}
}

func TestLayOutOfBrokenArchives(t *testing.T) {
	for name, data := range map[string]*bytes.Buffer{
		"nothing":         bytes.NewBuffer(nil),
		"no tar":          bytes.NewBufferString(strings.Repeat("x", 2000)),
		"no manifest":     tartest.Archive(t, tar.Header{Typeflag: tar.TypeReg, Name: "a", Uname: "b"}),
		"a missing layer": tartest.Archive(t, tar.Header{Typeflag: tar.TypeReg, Name: "manifest.json", Uname: `[{"Config":"manifest.json","Layers":["none"]}]`}),
		"two images":      tartest.Archive(t, tar.Header{Typeflag: tar.TypeReg, Name: "manifest.json", Uname: `[{},{}]`}),
	} {
		if _, err := layOut(data, t.TempDir()); err == nil {
			t.Errorf("%s is taken", name)
		}
	}
}

// A bar writes over itself for as long as it likes, and hides no last word.
func TestStepBehindABar(t *testing.T) {
	var s step
	s.write([]byte("first\r\n"))
	for i := range 200 {
		s.write(fmt.Appendf(nil, "\r\x1b[Kfetch [====    ] %d of 888 MiB  torch", i))
	}
	s.write([]byte("\r\x1b[K"))
	s.write([]byte("crun: the disk is full\n"))
	if got := s.output(); !slices.Equal(got, []string{"first", "crun: the disk is full"}) {
		t.Errorf("the output is %q", got)
	}
}
