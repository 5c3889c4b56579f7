package bundle

import (
	"archive/tar"
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/opencontainers/runtime-spec/specs-go"

	"crun.dev/crun/run/inside"
	"crun.dev/crun/run/plan"
)

// small is a plan as the profile small gives it.
func small(t *testing.T, change func(*plan.Request)) *plan.Plan {
	t.Helper()
	shm, pids := int64(1<<30), int64(1024)
	network := plan.NetworkNone
	req := plan.Request{
		ID: "d25svvp2912z", Name: "train-912z", Profile: "small", Command: []string{"train.py"}, Dir: "/home/ann/p", Project: "/home/ann/p",
		Account: plan.Account{User: "ann", UID: 1000, GID: 1000, Home: "/home/ann"},
		Host:    plan.Host{CPUs: 8, Memory: 32 << 30, CgroupVersion: 1, SwapLimit: true, ScratchRoot: "/scratch"},
		Limits: plan.Limits{
			Memory: &plan.Amount{Value: 4 << 30}, CPUs: &plan.Amount{Value: 2e9}, Pids: &pids, ShmSize: &shm, Network: &network,
			TmpDir: &plan.TmpDir{Size: 5 << 30, Kind: plan.Disk},
		},
	}
	if change != nil {
		change(&req)
	}
	p, _, err := plan.Make(req)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestSpec(t *testing.T) {
	p := small(t, nil)
	before, _ := json.Marshal(p)
	spec, err := Spec(p, "/bundles/b", 1)
	if err != nil {
		t.Fatal(err)
	}
	if after, _ := json.Marshal(p); !bytes.Equal(before, after) {
		t.Error("the plan has changed")
	}
	if want := inside.Command([]string{"python", "train.py"}); !slices.Equal(spec.Process.Args, want) {
		t.Errorf("args %q, want %q", spec.Process.Args, want)
	}
	for _, m := range spec.Mounts {
		if strings.HasPrefix(m.Source, "/scratch") {
			t.Errorf("%s is of the engine's tmpdir: %s", m.Destination, m.Source)
		}
	}
	resources := *spec.Linux.Resources
	if len(resources.Devices) != 1 || resources.Devices[0].Allow {
		t.Errorf("devices %+v", resources.Devices)
	}
	resources.Devices = nil
	if diff := cmp.Diff(*p.Spec.Linux.Resources, resources); diff != "" {
		t.Errorf("the limits differ (-plan +bundle):\n%s", diff)
	}
	if c := spec.Process.Capabilities; len(c.Effective) != 0 || len(c.Permitted) != 0 || slices.Contains(c.Bounding, "CAP_SYS_ADMIN") {
		t.Errorf("%+v", c)
	}
	mount := func(path string) (found specs.Mount) {
		for _, m := range spec.Mounts {
			if m.Destination == path {
				if found.Destination != "" {
					t.Errorf("two mounts on %s", path)
				}
				found = m
			}
		}
		return found
	}
	if m := mount(plan.ShmPath); !slices.Contains(m.Options, "size=1073741824") {
		t.Errorf("%+v", m)
	}
	if m := mount(plan.TmpPath); m.Source != "/bundles/b/tmp" {
		t.Errorf("%+v", m)
	}
	if m := mount("/var/tmp"); m.Source != "/bundles/b/tmp" {
		t.Errorf("%+v", m)
	}
	if m := mount("/home/ann/p"); m.Source != "/home/ann/p" {
		t.Errorf("%+v", m)
	}
	if m := mount("/etc/resolv.conf"); m.Destination != "" {
		t.Errorf("without a network there is %+v", m)
	}
	for kind, want := range map[specs.LinuxNamespaceType]bool{specs.NetworkNamespace: true, specs.PIDNamespace: true, specs.CgroupNamespace: false} {
		if got := slices.ContainsFunc(spec.Linux.Namespaces, func(n specs.LinuxNamespace) bool { return n.Type == kind }); got != want {
			t.Errorf("namespace %s: %v", kind, got)
		}
	}
	if spec, _ := Spec(small(t, func(r *plan.Request) { r.Limits.Network = nil; r.Limits.ShmSize = nil }), "/b", 2); slices.ContainsFunc(spec.Linux.Namespaces, func(n specs.LinuxNamespace) bool { return n.Type == specs.NetworkNamespace }) ||
		!slices.ContainsFunc(spec.Mounts, func(m specs.Mount) bool { return m.Destination == "/etc/resolv.conf" }) ||
		!slices.ContainsFunc(spec.Mounts, func(m specs.Mount) bool { return m.Destination == plan.ShmPath }) {
		t.Errorf("the host's network, the usual /dev/shm: %+v", spec.Mounts)
	}
}

func TestCheck(t *testing.T) {
	p := small(t, func(r *plan.Request) {
		r.Limits.Network = nil
		r.Limits.GPUs = &plan.GPULimit{Count: 1}
		r.Host.GPUDriver = "nvidia"
		r.Ports = []plan.Port{{Host: 6006, Container: 6006}}
	})
	err := Check(p)
	for _, want := range []string{"--gpus none", "leave out -p"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
	p.SecretEnv = []string{"HF_TOKEN"}
	all := strings.Join(Warnings(p), "\n")
	if !strings.Contains(all, "shares the host's") || !strings.Contains(all, "no value of HF_TOKEN") {
		t.Error(all)
	}
}

// image packs files as an engine exports them, the caller's own.
func image(t *testing.T, headers ...tar.Header) *bytes.Buffer {
	t.Helper()
	var buf bytes.Buffer
	w := tar.NewWriter(&buf)
	for _, h := range headers {
		h.Uid, h.Gid, h.ModTime = os.Getuid(), os.Getgid(), time.Unix(1e9, 0)
		data := []byte(nil)
		if h.Typeflag == tar.TypeReg {
			data = []byte("data of " + h.Name)
			h.Size = int64(len(data))
		}
		if err := w.WriteHeader(&h); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write(data); err != nil {
			t.Fatal(err)
		}
	}
	w.Close()
	return &buf
}

func TestWrite(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "new", "a bundle")
	files := image(t,
		tar.Header{Typeflag: tar.TypeDir, Name: "bin/", Mode: 0o755},
		tar.Header{Typeflag: tar.TypeReg, Name: "bin/su", Mode: 0o4755},
		tar.Header{Typeflag: tar.TypeSymlink, Name: "bin/sh", Linkname: "/bin/su"},
		tar.Header{Typeflag: tar.TypeLink, Name: "bin/hard", Linkname: "bin/su"},
		tar.Header{Typeflag: tar.TypeDir, Name: "closed/", Mode: 0o500},
		tar.Header{Typeflag: tar.TypeReg, Name: "closed/file", Mode: 0o400},
		tar.Header{Typeflag: tar.TypeReg, Name: ".dockerenv", Mode: 0o755},
		tar.Header{Typeflag: tar.TypeChar, Name: "dev/null", Mode: 0o666},
	)
	if err := Write(dir, small(t, nil), 1, files); err != nil {
		t.Fatal(err)
	}
	root := filepath.Join(dir, RootFolder)
	info, err := os.Stat(root + "/bin/su")
	if err != nil || info.Mode() != 0o755|os.ModeSetuid || !info.ModTime().Equal(time.Unix(1e9, 0)) {
		t.Errorf("%v, %v", info, err)
	}
	if hard, err := os.Stat(root + "/bin/hard"); err != nil || !os.SameFile(hard, info) {
		t.Error("the hard link is none")
	}
	if target, err := os.Readlink(root + "/bin/sh"); err != nil || target != "/bin/su" {
		t.Errorf("%q, %v", target, err)
	}
	if info, err := os.Stat(root + "/closed"); err != nil || info.Mode().Perm() != 0o500 {
		t.Errorf("%v, %v", info, err)
	}
	if _, err := os.Lstat(root + "/.dockerenv"); err == nil {
		t.Error("programs would think that they are in Docker")
	}
	if info, err := os.Stat(filepath.Join(dir, TmpFolder)); err != nil || info.Mode()&(os.ModePerm|os.ModeSticky) != 0o777|os.ModeSticky {
		t.Errorf("%v, %v", info, err)
	}
	os.Chmod(root+"/closed", 0o700) // for the test's own clean-up
	if err := Write(dir, small(t, nil), 1, image(t)); err == nil || !strings.Contains(err.Error(), "is not empty") {
		t.Errorf("over a bundle: %v", err)
	}
}

// A tar that is cut off, or leads out, leaves nothing behind.
func TestWriteFails(t *testing.T) {
	out := t.TempDir()
	whole := image(t, tar.Header{Typeflag: tar.TypeReg, Name: "a", Mode: 0o644}, tar.Header{Typeflag: tar.TypeReg, Name: "b", Mode: 0o644}).Bytes()
	for name, files := range map[string][]byte{
		"cut off": whole[:516],
		"through a link out": image(t, tar.Header{Typeflag: tar.TypeSymlink, Name: "etc", Linkname: out},
			tar.Header{Typeflag: tar.TypeReg, Name: "etc/passwd", Mode: 0o644}).Bytes(),
		"a hard link out": image(t, tar.Header{Typeflag: tar.TypeSymlink, Name: "up", Linkname: "../../.."},
			tar.Header{Typeflag: tar.TypeLink, Name: "x", Linkname: "up/etc/hostname"}).Bytes(),
	} {
		parent := t.TempDir()
		if err := Write(filepath.Join(parent, "b"), small(t, nil), 1, bytes.NewReader(files)); err == nil {
			t.Errorf("%s: no error", name)
		}
		if left, _ := os.ReadDir(parent); len(left) > 0 {
			t.Errorf("%s: left %v", name, left)
		}
	}
	if left, _ := os.ReadDir(out); len(left) > 0 {
		t.Errorf("written outside: %v", left)
	}
	// A name that climbs stays in the bundle.
	dir := filepath.Join(t.TempDir(), "b")
	if err := Write(dir, small(t, nil), 1, image(t, tar.Header{Typeflag: tar.TypeReg, Name: "../../x", Mode: 0o644})); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(dir, RootFolder, "x")); err != nil {
		t.Error(err)
	}
}
