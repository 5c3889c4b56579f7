// Package nvidia reads what NVIDIA's driver says of this machine: its version
// and its GPUs.
package nvidia

import (
	"context"
	"encoding/xml"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"crun.dev/crun/internal/cuda"
	"crun.dev/crun/internal/lazyregexp"
)

// Host is a machine with a driver.
type Host struct {
	Driver cuda.Driver
	// CUDA is the version that the driver is made for; zero where nobody knows.
	CUDA cuda.Version
	// GPUs are in the order of their indices. They are empty where nvidia-smi
	// does not answer.
	GPUs []GPU
}

// GPU is one of them.
type GPU struct {
	// UUID is the form that engines take too: "GPU-5d5ba0d6-...".
	UUID string
	Name string // "NVIDIA A100-SXM4-80GB"
	// PCI is its address on the bus, as nvidia-smi writes it: "00000000:07:00.0".
	PCI string
	// Capability is zero where its name does not tell.
	Capability cuda.Capability
	// Free and Total are of its memory, in bytes; 0 of Total where nobody knows.
	Free, Total int64
}

// ErrNone says that the machine has no driver.
var ErrNone = errors.New("no NVIDIA driver is loaded")

// answerTime is how long nvidia-smi may take: without persistence mode it wakes
// each GPU first, a second or two for each.
const answerTime = 30 * time.Second

// versionFile is the driver's own; proc is "/proc" but for tests.
const versionFile = "driver/nvidia/version"

// Read asks the driver of this machine: nvidia-smi on PATH, else the files
// below /proc, which know no GPUs' names. The error is ErrNone where there is
// no driver.
func Read(ctx context.Context) (*Host, error) { return read(ctx, "/proc") }

func read(ctx context.Context, proc string) (*Host, error) {
	ctx, cancel := context.WithTimeout(ctx, answerTime)
	defer cancel()
	cmd := exec.CommandContext(ctx, "nvidia-smi", "-q", "-x")
	cmd.Env = append(os.Environ(), "LC_ALL=C")
	cmd.WaitDelay = time.Second
	out, smiErr := cmd.Output()
	if smiErr == nil {
		host, err := Parse(out)
		if err == nil {
			return host, nil
		}
		smiErr = err
	}
	data, err := os.ReadFile(filepath.Join(proc, versionFile))
	if errors.Is(err, os.ErrNotExist) && errors.Is(smiErr, exec.ErrNotFound) {
		return nil, ErrNone
	}
	if driver, ok := kernelDriver(string(data)); ok {
		host := &Host{Driver: driver}
		host.CUDA, _ = cuda.Of(driver)
		return host, nil
	}
	if ctx.Err() != nil {
		return nil, fmt.Errorf("asking nvidia-smi: no answer within %s", answerTime)
	}
	return nil, fmt.Errorf("asking nvidia-smi: %w", smiErr)
}

// kernelModule is the driver's line of versionFile: "NVRM version: NVIDIA UNIX
// x86_64 Kernel Module  535.129.03  Thu Oct 19 ...", and "NVIDIA UNIX Open
// Kernel Module for x86_64  550.54.14  Release Build ..." of the open one.
var kernelModule = lazyregexp.New(`(?m)^NVRM version:.*?\s(\d{3}\.\d+(?:\.\d+)?)\s`)

func kernelDriver(text string) (cuda.Driver, bool) {
	m := kernelModule.FindStringSubmatch(text)
	if m == nil {
		return nil, false
	}
	return cuda.ParseDriver(m[1])
}

// Parse reads what "nvidia-smi -q -x" prints.
func Parse(data []byte) (*Host, error) {
	var log struct {
		XMLName xml.Name `xml:"nvidia_smi_log"`
		Driver  string   `xml:"driver_version"`
		CUDA    string   `xml:"cuda_version"`
		GPUs    []struct {
			PCI          string `xml:"id,attr"`
			Product      string `xml:"product_name"`
			Architecture string `xml:"product_architecture"`
			UUID         string `xml:"uuid"`
			Total        string `xml:"fb_memory_usage>total"`
			Free         string `xml:"fb_memory_usage>free"`
		} `xml:"gpu"`
	}
	if err := xml.Unmarshal(data, &log); err != nil {
		return nil, fmt.Errorf("what nvidia-smi prints cannot be read: %w", err)
	}
	driver, ok := cuda.ParseDriver(strings.TrimSpace(log.Driver))
	if !ok {
		return nil, fmt.Errorf("nvidia-smi says %q of its driver's version", log.Driver)
	}
	host := &Host{Driver: driver}
	var err error
	if host.CUDA, err = cuda.ParseVersion(strings.TrimSpace(log.CUDA)); err != nil {
		host.CUDA, _ = cuda.Of(driver) // drivers before 410 do not say
	}
	for _, g := range log.GPUs {
		gpu := GPU{UUID: strings.TrimSpace(g.UUID), Name: strings.TrimSpace(g.Product), PCI: strings.TrimSpace(g.PCI)}
		gpu.Capability, _ = cuda.CapabilityOf(gpu.Name, strings.TrimSpace(g.Architecture))
		free, freeOK := mebibytes(g.Free)
		if total, ok := mebibytes(g.Total); ok && freeOK {
			gpu.Free, gpu.Total = free, total
		}
		host.GPUs = append(host.GPUs, gpu)
	}
	return host, nil
}

// mebibytes reads "81559 MiB"; "N/A" and their like are not known.
func mebibytes(text string) (int64, bool) {
	number, ok := strings.CutSuffix(strings.TrimSpace(text), " MiB")
	n, err := strconv.ParseInt(number, 10, 64)
	return n << 20, ok && err == nil && n >= 0 && n < 1<<40
}
