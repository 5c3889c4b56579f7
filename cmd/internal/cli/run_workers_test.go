package cli

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/opencontainers/runtime-spec/specs-go"

	"crun.dev/crun/run/plan"
)

func TestSayWorkers(t *testing.T) {
	quota, period := int64(200_000), uint64(100_000)
	p := &plan.Plan{Project: "/p", Spec: specs.Spec{Linux: &specs.Linux{Resources: &specs.LinuxResources{CPU: &specs.LinuxCPU{Quota: &quota, Period: &period}}}}}
	dir := t.TempDir()
	for name, text := range map[string]string{
		"train.py":  "import os\nDataLoader(d, num_workers=16)\n",
		"args.py":   "p.add_argument('--num_workers', default=8)\npersistent_workers=True\n",
		"many.py":   "num_workers: int = 8\nkw = {'num_workers': 6}\nnum_workers = 2\np.add_argument('--workers', default=4)\n",
		"fits.py":   "DataLoader(d, num_workers=2)\n",
		"conf.yaml": "num_workers: 9\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for _, test := range []struct{ command, want string }{
		{"train.py", `train.py:2: num_workers is 16, and the run has 2 cores: workers beyond that wait for each other, and each holds memory; write int(os.environ.get("CRUN_WORKERS", 4)) instead, and persistent_workers=True, which does not start them anew for each epoch`},
		{"torchrun --nproc_per_node 2 train.py", `train.py:2: num_workers is 16`},
		{"many.py", `many.py:1: num_workers is 8 (and 6 in line 2, 4 in line 4), and the run has 2 cores: `},
		{"many.py --workers 1", `many.py:1: num_workers is 8 (and 6 in line 2), and the run has 2 cores: `},
		{"torchrun --nproc_per_node 2 fits.py", `fits.py:1: num_workers is 2, and each of the 2 processes has 1 core: `},
		{"python -u train.py", `train.py:2: num_workers is 16`},
		{"args.py", `args.py:1: --num_workers is 8 where it is not given, and the run has 2 cores: workers beyond that wait for each other, and each holds memory; write int(os.environ.get("CRUN_WORKERS", 4)) instead`},
		{"args.py --num-workers 4", ""},
		{"args.py --num_workers=4", ""},
		{"fits.py --config conf.yaml", "conf.yaml:1: num_workers is 9, and the run has 2 cores: workers beyond that wait for each other, and each holds memory; write 2 or less"},
		{"fits.py --config=conf.yaml", "conf.yaml:1: num_workers is 9"},
		{"fits.py --config=nothing.yaml", ""},
		{"missing.py", ""},
		{"bash train.py", ""},
		{"true", ""},
	} {
		t.Run(test.command, func(t *testing.T) {
			state := t.TempDir()
			var said bytes.Buffer
			app := &App{Err: &said, Dir: dir, Getenv: func(name string) string {
				if name == "XDG_STATE_HOME" {
					return state
				}
				return ""
			}}
			p := *p
			if strings.HasPrefix(test.command, "torchrun") {
				p.Ranks = 2
			}
			app.sayWorkers(&p, strings.Fields(test.command))
			got := strings.TrimSuffix(strings.TrimPrefix(said.String(), "crun: warning: "), "\n")
			if !strings.HasPrefix(got, test.want) || (test.want == "") != (got == "") || strings.Contains(got, "persistent") && strings.Contains(test.command, "args.py") {
				t.Errorf("%q, want %q", got, test.want)
			}
			app.sayWorkers(&p, strings.Fields(test.command))
			if strings.Count(said.String(), "\n") > 1 {
				t.Errorf("said twice: %q", &said)
			}
		})
	}
}
