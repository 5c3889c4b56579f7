package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// startup is what every command waits for before it does anything.
func (s *suite) startup() error {
	r, err := pair(
		command{name: "crun version", args: []string{s.crun, "version"}},
		command{name: "docker --version", args: []string{docker(), "--version"}},
		s.pairs)
	if err == nil {
		row("`crun version`", "`docker --version`", r, "15 ms")
	}
	return err
}

// run is a run that does nothing, against docker run with the limits of the
// profile small written out by hand.
func (s *suite) run() error {
	nofile, err := s.plannedNofile()
	if err != nil {
		return err
	}
	byHand := []string{docker(), "run", "--rm", "--memory=4g", "--memory-swap=4g", "--cpus=2", "--pids-limit=1024",
		"--shm-size=1g", "--tmpfs=/tmp:exec,mode=1777,size=1g", "--ulimit=nofile=" + nofile,
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

// plannedNofile gives the descriptors that the plan asks for, as docker writes
// them: fewer than the profile's where the engine may not give as many.
func (s *suite) plannedNofile() (string, error) {
	cmd := exec.Command(s.crun, "run", "--profile", "small", "--dry-run", "-o", "json", "true")
	cmd.Dir = s.project
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("crun run --dry-run: %w", err)
	}
	var plan struct {
		Spec struct {
			Process struct {
				Rlimits []struct {
					Type       string
					Soft, Hard uint64
				}
			}
		}
	}
	if err := json.Unmarshal(out, &plan); err != nil {
		return "", err
	}
	for _, limit := range plan.Spec.Process.Rlimits {
		if limit.Type == "RLIMIT_NOFILE" {
			return fmt.Sprintf("%d:%d", limit.Soft, limit.Hard), nil
		}
	}
	return "", fmt.Errorf("the plan of the profile small has no nofile")
}

// noopBuild is a build that finds everything as it was, against docker build
// of the same Dockerfile with a full cache. The last stage, which only checks
// imports, is left out: old engines' own Dockerfile syntax has no --network.
func (s *suite) noopBuild() error {
	folder, err := os.MkdirTemp("", "crun-bench-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(folder)
	if err := s.writeContext(folder); err != nil {
		return err
	}
	secrets, err := writeSecrets(folder)
	if err != nil {
		return err
	}
	byHand := append([]string{docker(), "build", "-q", "--target", "image"}, secrets...)
	r, err := pair(
		command{name: "crun build", args: []string{s.crun, "build", "-q"}, dir: s.project},
		command{name: "docker build", args: append(byHand, "."), dir: folder, env: []string{"DOCKER_BUILDKIT=1"}},
		s.pairs)
	if err == nil {
		row("`crun build`, nothing changed", "`docker build` of its Dockerfile", r, "0.5")
	}
	return err
}

// writeSecrets writes what a build by hand must be given where the channel is
// a mirror, and gives docker's flags for it.
func writeSecrets(folder string) ([]string, error) {
	config, err := machineConfig()
	if err != nil {
		return nil, err
	}
	sources, err := json.Marshal(map[string]any{"channels": map[string][]string{publicChannel: {config.Channel}}})
	if err != nil {
		return nil, err
	}
	path := filepath.Join(folder, "sources.json")
	if err := os.WriteFile(path, sources, 0o600); err != nil {
		return nil, err
	}
	return []string{"--secret", "id=crun-ca,src=" + config.CA, "--secret", "id=crun-sources,src=" + path}, nil
}

// writeContext writes the image's Dockerfile and its files into folder.
func (s *suite) writeContext(folder string) error {
	cmd := exec.Command(s.crun, "build", "--dry-run", "-o", "json")
	cmd.Dir = s.project
	out, err := cmd.Output()
	if err != nil {
		return fmt.Errorf("crun build --dry-run: %w", err)
	}
	var context struct {
		Dockerfile string            `json:"dockerfile"`
		Files      map[string]string `json:"files"`
	}
	if err := json.Unmarshal(out, &context); err != nil {
		return err
	}
	dockerfile, _, _ := strings.Cut(context.Dockerfile, "# Nothing of this stage is in the image.")
	context.Files["Dockerfile"] = dockerfile
	for name, content := range context.Files {
		path := filepath.Join(folder, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(path, []byte(content), 0o755); err != nil {
			return err
		}
	}
	return nil
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
