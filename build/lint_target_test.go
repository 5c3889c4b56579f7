package build

import (
	"strings"
	"testing"

	"crun.dev/crun/build/environment"
)

func TestLintTarget(t *testing.T) {
	const head = "name: a\nchannels: [conda-forge]\ndependencies:\n  - python=3.11\n  - pip\n"
	const pip = "  - pip:\n    - "
	for name, test := range map[string]struct {
		text, cuda, host string
		want             []string // nothing means no finding
	}{
		"nobody asks":             {pip + "torch==2.4.1+cpu\n", "", "", nil},
		"a torch for CPUs":        {pip + "torch==2.4.1+cpu\n", "12.4", "", []string{":7:7: error: torch==2.4.1+cpu takes a torch for CPUs", `write "- torch==2.4.1", which comes from PyPI with CUDA`}},
		"conda's for CPUs":        {"  - pytorch=2.1=cpu_py*\n", "12.4", "", []string{`:6:5: error: pytorch=2.1=cpu_py* takes a torch for CPUs`, `"- pytorch=2.1=*cuda*"`}},
		"cpuonly":                 {"  - cpuonly\n", CUDAAuto, "12.2", []string{"(CUDA 12.2, that of the host's driver)"}},
		"a driver that is older":  {pip + "torch==2.4.1\n", "11.8", "", []string{":7:7: error: torch==2.4.1 is built for CUDA 12.1", "(it needs driver 525.60.13)", `"- --extra-index-url https://download.pytorch.org/whl/cu118" and "- torch==2.4.1+cu118"`}},
		"no build for it":         {pip + "torch==2.9.0\n", "11.8", "", []string{`the last torch for CUDA 11.8 is 2.7`, `"- torch==2.7.*"`}},
		"an index":                {pip + "--extra-index-url https://download.example.org/whl/cu121\n    - torch==2.4.1\n", "11.8", "", []string{":8:7: error: torch==2.4.1 is built for CUDA 12.1"}},
		"within a major version":  {pip + "torch==2.4.1\n", "12.0", "", nil},
		"the index that does":     {pip + "--extra-index-url https://download.example.org/whl/cu118\n    - torch==2.4.1+cu118\n", "11.8", "", nil},
		"conda's CUDA":            {"  - pytorch-cuda=12.1\n", "11.8", "", []string{`:6:5: error: pytorch-cuda=12.1 chooses CUDA 12.1`, `write "- pytorch-cuda=11.8"`}},
		"conda's build":           {"  - pytorch=2.5=cuda126*\n", "11.8", "", []string{"chooses CUDA 12.6", `"- pytorch=2.5=*cuda*"`}},
		"a toolkit without torch": {"  - cudatoolkit=11.8\n", "10.2", "", nil},
		"a toolkit":               {"  - cudatoolkit=11.8\n  - pytorch\n", "10.2", "", []string{`"- cudatoolkit=10.2"`}},
		"what nobody can know":    {"  - pytorch=2.1\n" + pip + "torch>=2\n", "11.8", "", nil},
		"CPUs":                    {pip + "torch==2.4.1\n", CUDANone, "", []string{":7:7: note: torch==2.4.1 brings CUDA 12.1 along", `"- --extra-index-url https://download.pytorch.org/whl/cpu" and "- torch==2.4.1+cpu" have none`}},
		"CPUs indeed":             {pip + "torch==2.4.1+cpu\n", CUDANone, "", nil},
	} {
		findings, err := LintText([]byte(head+test.text), "e.yml", Options{Platform: "linux-64", Extras: Extras{CUDA: test.cuda}, HostCUDA: test.host})
		if err != nil {
			t.Fatal(err)
		}
		var said []string
		for _, f := range findings {
			if f.Code == environment.CodeTarget {
				said = append(said, f.String())
			}
		}
		text := strings.Join(said, "\n")
		for _, want := range test.want {
			if !strings.Contains(text, want) {
				t.Errorf("%s: %q is not in\n%s", name, want, text)
			}
		}
		if test.want == nil && text != "" || len(said) > 1 {
			t.Errorf("%s: found\n%s", name, text)
		}
	}
	// Lines of a requirements.txt have no dash.
	findings, _ := LintText([]byte("torch==2.4.1\n"), "requirements.txt", Options{Platform: "linux-64", Extras: Extras{CUDA: "11.8"}})
	if text := findings[len(findings)-1].Message; !strings.Contains(text, `write "--extra-index-url https://download.pytorch.org/whl/cu118" and "torch==2.4.1+cu118"`) {
		t.Errorf("of a requirements.txt is said %s", text)
	}
}
