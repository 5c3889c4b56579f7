package main

import (
	_ "embed"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"

	"gopkg.in/yaml.v3"
)

// plainDockerfile installs packages the plain way: everything in one RUN step,
// which removes its installer and its caches again.
//
//go:embed plain.Dockerfile
var plainDockerfile []byte

//go:embed plain_install.py
var plainInstall []byte

// publicChannel is where conda-forge is without a mirror.
const publicChannel = "https://conda.anaconda.org/conda-forge"

// machine is what the plain Dockerfile needs of crun's config.yaml.
type machine struct{ Base, Channel, CA string }

// machineConfig reads the configuration that crun itself is given.
func machineConfig() (machine, error) {
	m := machine{Base: "debian:bookworm-slim", Channel: publicChannel, CA: "/etc/ssl/certs/ca-certificates.crt"}
	if path := os.Getenv("SSL_CERT_FILE"); path != "" {
		m.CA = path
	}
	path := os.Getenv("CRUN_CONFIG")
	if path == "" {
		return m, nil
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return m, err
	}
	var config struct {
		Base    string
		Mirrors struct{ Conda map[string]string }
	}
	if err := yaml.Unmarshal(data, &config); err != nil {
		return m, fmt.Errorf("reading %s: %w", path, err)
	}
	if config.Base != "" {
		m.Base = config.Base
	}
	if url := config.Mirrors.Conda["conda-forge"]; url != "" {
		m.Channel = url
	}
	return m, nil
}

// size gives an image's size in bytes, as the engine counts it.
func size(image string) (int64, error) {
	out, err := exec.Command(docker(), "image", "inspect", "-f", "{{.Size}}", image).Output()
	if err != nil {
		return 0, fmt.Errorf("inspecting %s: %w", image, err)
	}
	return strconv.ParseInt(strings.TrimSpace(string(out)), 10, 64)
}
