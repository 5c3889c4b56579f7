package nvidia

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"crun.dev/crun/internal/cuda"
)

// twoGPUs has the form of nvidia-smi -q -x, with the parts that count.
const twoGPUs = `<?xml version="1.0" ?>
<!DOCTYPE nvidia_smi_log SYSTEM "nvsmi_device_v12.dtd">
<nvidia_smi_log>
	<timestamp>Mon Nov  3 10:00:00 2025</timestamp>
	<driver_version>550.54.14</driver_version>
	<cuda_version>12.4</cuda_version>
	<attached_gpus>2</attached_gpus>
	<gpu id="00000000:07:00.0">
		<product_name>NVIDIA A100-SXM4-80GB</product_name>
		<product_brand>NVIDIA</product_brand>
		<product_architecture>Ampere</product_architecture>
		<uuid>GPU-5d5ba0d6-d33d-2b2c-524d-9e3d8d2b8a77</uuid>
		<fb_memory_usage><total>81920 MiB</total><used>4 MiB</used><free>81916 MiB</free></fb_memory_usage>
		<processes><process_info><pid>1</pid><uuid>no GPU's</uuid></process_info></processes>
	</gpu>
	<gpu id="00000000:08:00.0">
		<product_name>Graphics Device</product_name>
		<product_architecture>Unknown Error</product_architecture>
		<uuid>GPU-00000000-0000-0000-0000-000000000001</uuid>
	</gpu>
</nvidia_smi_log>
`

func TestParse(t *testing.T) {
	host, err := Parse([]byte(twoGPUs))
	if err != nil {
		t.Fatal(err)
	}
	want := &Host{Driver: cuda.Driver{550, 54, 14}, CUDA: cuda.Version{Major: 12, Minor: 4}, GPUs: []GPU{
		{UUID: "GPU-5d5ba0d6-d33d-2b2c-524d-9e3d8d2b8a77", Name: "NVIDIA A100-SXM4-80GB", PCI: "00000000:07:00.0", Capability: cuda.Capability{Major: 8}, Free: 81916 << 20, Total: 81920 << 20},
		{UUID: "GPU-00000000-0000-0000-0000-000000000001", Name: "Graphics Device", PCI: "00000000:08:00.0"},
	}}
	if diff := cmp.Diff(want, host); diff != "" {
		t.Error(diff)
	}
	for _, text := range []string{"", "NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver.", "<nvidia_smi_log></nvidia_smi_log>", "<other/>"} {
		if host, err := Parse([]byte(text)); err == nil {
			t.Errorf("%q gives %+v", text, host)
		}
	}
}

func TestRead(t *testing.T) {
	for name, test := range map[string]struct {
		smi, version string
		want         string // the driver, or "" for an error
		gpus         int
	}{
		"nvidia-smi":            {smi: "[ \"$*\" = '-q -x' ] && cat <<'END'\n" + twoGPUs + "END", want: "550.54.14", gpus: 2},
		"the kernel module":     {version: "NVRM version: NVIDIA UNIX x86_64 Kernel Module  535.129.03  Thu Oct 19 18:56:32 UTC 2023\nGCC version:  gcc version 12.2.0\n", want: "535.129.03"},
		"the open one":          {version: "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  550.54.14  Release Build  (root@x)  Thu Feb 22 2024\n", want: "550.54.14"},
		"a broken nvidia-smi":   {smi: "echo failed; exit 9", version: "NVRM version: NVIDIA UNIX x86_64 Kernel Module  470.57.02  Tue Jul 13\n", want: "470.57.02"},
		"nothing that is right": {smi: "echo failed; exit 9"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			put := func(path, text string, mode os.FileMode) {
				path = filepath.Join(dir, path)
				if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), mode)); err != nil {
					t.Fatal(err)
				}
			}
			put("bin/none", "", 0o644)
			if test.smi != "" {
				put("bin/nvidia-smi", "#!/bin/sh\nPATH=/usr/bin:/bin\n"+test.smi+"\n", 0o755)
			}
			if test.version != "" {
				put("proc/"+versionFile, test.version, 0o644)
			}
			t.Setenv("PATH", filepath.Join(dir, "bin"))
			host, err := read(context.Background(), filepath.Join(dir, "proc"))
			switch {
			case test.want == "" && (err == nil || errors.Is(err, ErrNone)):
				t.Errorf("it gives %+v and %v", host, err)
			case test.want != "" && (err != nil || host.Driver.String() != test.want || host.CUDA.IsZero() || len(host.GPUs) != test.gpus):
				t.Errorf("it gives %+v and %v", host, err)
			}
		})
	}
	t.Setenv("PATH", t.TempDir())
	if _, err := read(context.Background(), t.TempDir()); !errors.Is(err, ErrNone) {
		t.Errorf("without a driver it says %v", err)
	}
}
