package gpucheck

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// The program is tried with a torch that stands in for one with GPUs.
func TestCheck(t *testing.T) {
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Fatal("the check is tested with python3: install it (apt-get install python3)")
	}
	fake, err := filepath.Abs("testdata")
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		name, gpus, fault, how string
		want                   string // the problem, or the summary
	}{
		{"one GPU", "1", "", "", "torch 9.9.9 (CUDA 12.4) works on NVIDIA Fake 0: 4 steps"},
		{"two GPUs", "2", "", "", "torch 9.9.9 (CUDA 12.4) works on NVIDIA Fake 0, NVIDIA Fake 1: 8 steps"},
		{"no GPU", "0", "", "with exit code 1", "find the GPUs: RuntimeError: Found no NVIDIA driver on your system."},
		{"allocation", "1", "allocate", "with exit code 1", "allocate on GPU 0: RuntimeError: CUDA error: allocate is broken"},
		{"matrices", "2", "matmul", "with exit code 1", "multiply matrices on GPU 0: RuntimeError: CUDA error: matmul is broken"},
		{"wrong value", "1", "wrong matmul", "with exit code 1", "multiply matrices on GPU 0: RuntimeError: a product of matrices has a wrong value"},
		{"cuDNN", "1", "conv", "with exit code 1", "cuDNN convolution on GPU 0: RuntimeError: CUDA error: conv is broken"},
		{"cuDNN is not there", "1", "no cudnn", "with exit code 1", "cuDNN convolution on GPU 0: RuntimeError: torch cannot use cuDNN"},
		{"NCCL", "2", "nccl", "with exit code 1", "NCCL sum over 2 GPUs: RuntimeError: CUDA error: nccl is broken"},
		{"crash", "1", "crash at conv", "by SIGKILL", "cuDNN convolution on GPU 0: the process ended by SIGKILL"},
	} {
		t.Run(test.name, func(t *testing.T) {
			c := exec.Command(python, Command()[1:]...)
			c.Env = append(os.Environ(), "PYTHONPATH="+fake, "PYTHONDONTWRITEBYTECODE=1", "FAKE_GPUS="+test.gpus, "FAKE_FAULT="+test.fault)
			out, err := c.Output()
			if (err == nil) != (test.how == "") {
				t.Errorf("it ended with %v", err)
			}
			r, err := Parse("a line of torch's\n"+string(out), test.how)
			if err != nil {
				t.Fatal(err)
			}
			got := r.Problem()
			if r.OK {
				got = r.Summary()
			}
			if got != test.want {
				t.Errorf("%q, want %q", got, test.want)
			}
		})
	}
	t.Run("no torch", func(t *testing.T) {
		c := exec.Command(python, append([]string{"-S", "-E"}, Command()[1:]...)...)
		c.Dir = t.TempDir()
		out, err := c.Output()
		if err != nil {
			t.Fatal(err)
		}
		if r, err := Parse(string(out), ""); err != nil || !r.OK || !strings.HasPrefix(r.Summary(), "no torch in the image") {
			t.Errorf("%+v, %v", r, err)
		}
	})
	if _, err := Parse("python: not found\n", "with exit code 127"); err == nil || !strings.Contains(err.Error(), "with exit code 127") {
		t.Errorf("%v", err)
	}
}
