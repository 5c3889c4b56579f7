package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
)

// startup is what every command waits for before it does anything.
func (s *suite) startup() error {
	r, err := pair(
		command{name: "crun version", args: []string{s.crun, "version"}},
		command{name: "docker --version", args: []string{"docker", "--version"}},
		s.pairs)
	if err == nil {
		row("`crun version`", "`docker --version`", r, "15 ms")
	}
	return err
}

// run is a run that does nothing, against docker run with the limits of the
// profile small written out by hand.
func (s *suite) run() error {
	byHand := []string{"docker", "run", "--rm", "--memory=4g", "--memory-swap=4g", "--cpus=2", "--pids-limit=1024",
		"--shm-size=1g", "--tmpfs=/tmp:exec,mode=1777,size=1g", "--ulimit=nofile=65536:65536",
		"--volume=" + s.project + ":" + s.project, "--workdir=" + s.project, s.image, "true"}
	r, err := pair(
		command{name: "crun run", args: []string{s.crun, "run", "-q", "--profile", "small", "true"}, dir: s.project},
		command{name: "docker run", args: byHand, dir: s.project},
		s.pairs)
	if err == nil {
		row("`crun run true`", "`docker run --rm`", r, "1.0")
	}
	return err
}

// noopBuild is a build that finds everything as it was, against docker build
// of the same Dockerfile with a full cache.
func (s *suite) noopBuild() error {
	folder, err := os.MkdirTemp("", "crun-bench-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(folder)
	context := filepath.Join(folder, "context")
	if err := exec.Command(s.crun, "build", "--dry-run", "--output", context, s.project).Run(); err != nil {
		return fmt.Errorf("writing the Dockerfile: %w", err)
	}
	byHand := command{name: "docker build", dir: context, env: []string{"DOCKER_BUILDKIT=1"},
		args: []string{"docker", "build", "-q", "--target", "image", "."}}
	r, err := pair(
		command{name: "crun build", args: []string{s.crun, "build", "-q"}, dir: s.project},
		byHand, s.pairs)
	if err == nil {
		row("`crun build`, nothing changed", "`docker build` of its Dockerfile", r, "0.5")
	}
	return err
}

// imageSize compares with an image that is made the plain way: one RUN step
// that fetches an installer, installs, and removes installer and caches.
func (s *suite) imageSize() error {
	return fmt.Errorf("image size: not written yet")
}

// builtImage builds the project's image, or finds it, and gives its id.
func builtImage(crun, project string) (string, error) {
	out, err := exec.Command(crun, "build", "-q", "-o", "json", project).Output()
	if err != nil {
		return "", fmt.Errorf("building the image: %w", err)
	}
	var built struct {
		ID string `json:"id"`
	}
	if err := json.Unmarshal(out, &built); err != nil || built.ID == "" {
		return "", fmt.Errorf("crun build -o json gave %q, which holds no id", out)
	}
	return built.ID, nil
}

// size gives an image's size in bytes, as the engine counts it.
func size(image string) (int64, error) {
	out, err := exec.Command("docker", "image", "inspect", "-f", "{{.Size}}", image).Output()
	if err != nil {
		return 0, fmt.Errorf("inspecting %s: %w", image, err)
	}
	return strconv.ParseInt(strings.TrimSpace(string(out)), 10, 64)
}
