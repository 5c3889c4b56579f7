package dataloader

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestInScript(t *testing.T) {
	for _, test := range []struct {
		name, source string
		want         []Number
	}{
		{"argument", "import torch\nloader = DataLoader(data, batch_size=4, num_workers=16)\n", []Number{{2, 16, "", "num_workers=16"}}},
		{"variable", "num_workers = 8  # num_workers=32\n", []Number{{1, 8, "", "num_workers = 8"}}},
		{"over lines", "DataLoader(data,\n    num_workers\n    =16)\n", []Number{{3, 16, "", "num_workers =16"}}},
		{"argparse", "p.add_argument('--num-workers', type=int,\n  default=12, help='num_workers=3')\n", []Number{{2, 12, "--num-workers", "default=12"}}},
		{"argparse, short", `p.add_argument("-j", "--workers", default=4, type=int)`, []Number{{1, 4, "--workers", "default=4"}}},
		{"another option", `p.add_argument("--epochs", default=90); x("--num_workers")`, nil},
		{"another option behind", `p.add_argument("--num_workers", type=int); p.add_argument("--epochs", default=90)`, nil},
		{"comment", "# num_workers=16\n", nil},
		{"text", "print('num_workers=16')\n\"\"\"\nnum_workers=16\n\"\"\"\n'''num_workers=1'''\n", nil},
		{"quote in text", `x = 'it\'s num_workers=3'; num_workers=5`, []Number{{1, 5, "", "num_workers=5"}}},
		{"computed", "num_workers=int(os.environ.get('CRUN_WORKERS', 4))\nnum_workers=args.n\nmy_num_workers=3\nnum_workers==4", nil},
		{"annotated", "@dataclass\nclass C:\n    num_workers: int = 14\n    num_workers: Optional[int] = 15\n", []Number{{3, 14, "", "num_workers: int = 14"}, {4, 15, "", "num_workers: Optional[int] = 15"}}},
		{"of a trainer", "TrainingArguments(dataloader_num_workers=13)\nval_num_workers = 6", []Number{{1, 13, "", "dataloader_num_workers=13"}, {2, 6, "", "val_num_workers = 6"}}},
		{"constant", "NUM_WORKERS = 18\n", []Number{{1, 18, "", "NUM_WORKERS = 18"}}},
		{"key", `kw = {"num_workers": 20, 'x': 1}; s = '{"num_workers": 3}'`, []Number{{1, 20, "", `"num_workers": 20`}}},
		{"attribute", "args.num_workers = 64", []Number{{1, 64, "", "num_workers = 64"}}},
		{"expressions", "num_workers=2*8\nnum_workers=16 // n\nd = {'num_workers': 4 * n}\nnum_workers = 9 if gpu else 0", []Number{{4, 9, "", "num_workers = 9"}}},
		{"spellings of an option", "p.add_argument('--n_workers', default=10)\np.add_argument('--nworkers', default=11)\np.add_argument('--dataloader-num-workers', default=12)\np.add_argument('--max-workers', default=13)",
			[]Number{{1, 10, "--n_workers", "default=10"}, {2, 11, "--nworkers", "default=11"}, {3, 12, "--dataloader-num-workers", "default=12"}}},
		{"click", `@click.option("--num-workers", default=19)`, []Number{{1, 19, "--num-workers", "default=19"}}},
		{"absl", `flags.DEFINE_integer("num_workers", 17, "x"); s = 'DEFINE_integer("num_workers", 3)'`, []Number{{1, 17, "--num_workers", `DEFINE_integer("num_workers", 17`}}},
		{"lines in order", "p.add_argument('--workers', default=5)\nnum_workers=7", []Number{{1, 5, "--workers", "default=5"}, {2, 7, "", "num_workers=7"}}},
		{"not ended", "x = '''num_workers=16", nil},
		{"not ended, escaped", `x = "\`, nil},
		{"nothing", "", nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, InScript([]byte(test.source))); diff != "" {
				t.Error(diff)
			}
		})
	}
	if Persistent([]byte("# persistent_workers\n")) || !Persistent([]byte("DataLoader(d, persistent_workers=False)")) {
		t.Error("persistent_workers")
	}
}

func TestInConfig(t *testing.T) {
	for source, want := range map[string][]Number{
		"train:\n  num_workers: 16 # much\n  # num_workers: 3\n": {{2, 16, "", "num_workers: 16 # much"}},
		"{\n  \"num_workers\": 8,\n  \"lr\": 0.1\n}":             {{2, 8, "", `"num_workers": 8,`}},
		"dataloader_num_workers: 6\n":                            {{1, 6, "", "dataloader_num_workers: 6"}},
		"num_workers: auto\nmax_num_workers: 3\n":                nil,
	} {
		if diff := cmp.Diff(want, InConfig([]byte(source))); diff != "" {
			t.Errorf("%q: %s", source, diff)
		}
	}
}

func FuzzInScript(f *testing.F) {
	f.Add([]byte("add_argument('--workers', default=3)"))
	f.Fuzz(func(t *testing.T, source []byte) {
		for _, n := range InScript(source) {
			if n.Line < 1 || n.Text == "" {
				t.Errorf("%+v", n)
			}
		}
	})
}
