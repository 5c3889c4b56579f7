package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

// largeRoom is what the engine's disk must have free, in bytes: the image three
// times over, the caches, and what fetches them.
const largeRoom = 40 << 30

// large takes a real CUDA build of torch (3.7 GB of wheels) through lock, build,
// check and a training without a GPU, then changes one pip line, and compares
// that with the same change by hand.
func large(crun, project string) error {
	if err := room("/"); err != nil {
		return err
	}
	w, err := newWorkshop(crun, "bench-large", "torch, numpy, tqdm")
	if err != nil {
		return err
	}
	defer w.close()
	e := environment{conda: []string{"python=3.9", "pip"}, pip: []string{"torch==2.8.0", "numpy==2.0.2", "tqdm==4.66.5"}}
	edited := e.with("tqdm==4.66.5", "tqdm==4.66.4")

	cold, err := w.build(e)
	if err != nil {
		return err
	}
	fmt.Printf("crun build, nothing fetched yet: %.1f s (%s); %s down, image %s\n", cold.time.Seconds(), shares(cold), megabytes(cold.down), megabytes(cold.size))
	script, err := os.ReadFile(filepath.Join(project, "train.py"))
	if err != nil {
		return err
	}
	if err := os.WriteFile(w.path("project", "train.py"), script, 0o644); err != nil {
		return err
	}
	run := exec.Command(w.crun, "run", "--memory", "4g", "--cpus", "2", "train.py", "--epochs", "2")
	run.Dir, run.Env = w.path("project"), w.environ()
	out, err := run.CombinedOutput()
	if err != nil {
		return fmt.Errorf("the training failed: %w\n%s", err, out)
	}
	fmt.Printf("%s", out)
	if !strings.Contains(string(out), "torch 2.8.0") {
		return fmt.Errorf("the training did not run with torch 2.8.0")
	}
	noop, err := w.build(e)
	if err != nil {
		return err
	}
	ours, err := w.build(edited)
	if err != nil {
		return err
	}
	fmt.Printf("crun build, nothing changed: %.2f s\n", noop.time.Seconds())
	fmt.Printf("crun build, one pip line changed: %.1f s (%s); %s down, %s exported\n", ours.time.Seconds(), shares(ours), megabytes(ours.down), megabytes(ours.exported))
	fmt.Println("\n| edit | | seconds | ratio to crun | down | exported | image |")
	fmt.Println("| --- | --- | --- | --- | --- | --- | --- |")
	ours.row("one pip line", "crun", ours)
	// A step that keeps no caches costs the same at each edit.
	a, err := w.byHand("a", edited)
	if err != nil {
		return err
	}
	a.row("one pip line", "one `RUN`, no caches", ours)
	w.forget("a")
	if _, err := w.byHand("b", e); err != nil {
		return err
	}
	b, err := w.byHand("b", edited)
	if err != nil {
		return err
	}
	b.row("one pip line", "one `RUN`, cache mounts", ours)
	fmt.Printf("\naims: 10 times (a), here %.1f; 3 times (b), here %.1f\n", a.time.Seconds()/ours.time.Seconds(), b.time.Seconds()/ours.time.Seconds())
	return nil
}

// room refuses where the engine's disk has too little.
func room(root string) error {
	if out, err := exec.Command(docker(), "info", "-f", "{{.DockerRootDir}}").Output(); err == nil {
		root = strings.TrimSpace(string(out))
	}
	var disk unix.Statfs_t
	if err := unix.Statfs(root, &disk); err != nil {
		return fmt.Errorf("asking how much is free at %s: %w", root, err)
	}
	if free := int64(disk.Bavail) * disk.Bsize; free < largeRoom {
		return fmt.Errorf("%s has %.0f GB free, and this needs %.0f GB: crun prune --older-than 0s frees build caches", root, float64(free)/1e9, float64(largeRoom)/1e9)
	}
	return nil
}
