package cli

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/pflag"
)

// wrongValues has, for each flag of crun run that takes a value, values that are
// wrong in unit, sign, range or form, or that contradict the profile small or
// another flag, and how the message begins. "" stands for a value that is
// refused with the flag's name and the value in the message, whatever it says.
var wrongValues = map[string][]struct{ value, want string }{
	"memory": {
		{"4x", `flag --memory: memory is "4x", which is not a size; write it as 4g or 512m, or as a share of the host such as 1/8`},
		{"", ""}, {" ", ""}, {"-4g", ""}, {"+4g", ""}, {"4 gigs", ""}, {"4g ", ""}, {"0", ""}, {"1e9", ""}, {"0x10", ""}, {"NaN", ""}, {"Inf", ""}, {"４g", ""}, {"4g,5g", ""},
		{"4", ""}, {"1k", ""}, {"9999999999g", ""}, {"99999999999999999999", ""}, {"50%", ""}, {"1/0", ""}, {"2/1", ""}, {"-1/2", ""}, {"unlimited", ""}, {"-1", ""}, {"auto", ""}, {"4g\n", ""}, {"\x004g", ""},
		{"64m", `flag --memory: shm_size, 1g, and tmpdir, 1g of tmpfs, count as memory and would fill more than memory, 64m; give tmpdir the kind disk, lower it or raise memory`},
	},
	"memory-swap": {
		{"4x", ""}, {"", ""}, {"-2", ""}, {"-4g", ""}, {"0", ""}, {"1/2", ""}, {"none", ""}, {"9999999999g", ""},
		{"1g", `flag --memory-swap: memory_swap is 1g, less than memory, 4g; it counts memory and swap together, so write at least that (equal means no swap)`},
	},
	"memory-reservation": {
		{"4x", ""}, {"", ""}, {"-1", ""}, {"0", ""}, {"1/2", ""}, {"unlimited", ""}, {"1k", ""},
		{"5g", `flag --memory-reservation: memory_reservation is 5g, more than memory, 4g; lower it`},
	},
	"oom-score-adj": {{"", ""}, {"x", ""}, {"1.5", ""}, {"-1000", ""}, {"-1001", ""}, {"1001", ""}, {"99999999999999999999", ""}, {"300m", ""}},
	"cpus": {
		{"0", ""}, {"-1", ""}, {"", ""}, {"two", ""}, {"2,5", ""}, {"0.001", ""}, {"1e1", ""}, {"9000", ""}, {"500m", ""}, {"50%", ""}, {"2/1", ""}, {"NaN", ""}, {"0.12345678901", ""}, {"unlimited", ""}, {"2 ", ""},
	},
	"cpuset": {{"", ""}, {"3-1", ""}, {"-1", ""}, {"0-", ""}, {"0,,1", ""}, {"a", ""}, {"0-9999", ""}, {"0:2", ""}, {"all", ""}, {"0 1", ""}, {"Auto", ""}},
	"gpus": {
		{"", ""}, {"0", ""}, {"-2", ""}, {"1.5", ""}, {"0,1", ""}, {"device=", ""}, {"device=x", ""}, {"device=0,0", ""}, {"2000", ""}, {"nvidia.com/gpu=0", ""}, {"GPU-", ""}, {"MIG-", ""}, {"device=0:", ""}, {"any", ""},
	},
	"shm-size": {
		{"", ""}, {"1", ""}, {"-1g", ""}, {"0", ""}, {"1/2", ""}, {"unlimited", ""}, {"1.5.1g", ""},
		{"5g", `flag --shm-size: shm_size, 5g, and tmpdir, 1g of tmpfs, count as memory and would fill more than memory, 4g`},
	},
	"tmpdir": {
		{"", ""}, {"1g,ram", ""}, {"1g,", ""}, {",disk", ""}, {"disk", ""}, {"1g,disk,x", ""}, {"-1g", ""}, {"0", ""}, {"1/2", ""},
		{"5g", `flag --tmpdir: shm_size, 1g, and tmpdir, 5g of tmpfs, count as memory and would fill more than memory, 4g`},
	},
	"pids":          {{"", ""}, {"-1", ""}, {"0", ""}, {"15", ""}, {"1k", ""}, {"1.5", ""}, {"unlimited", ""}, {"99999999", ""}, {"1e3", ""}},
	"nofile":        {{"", ""}, {"-1", ""}, {"0", ""}, {"63", ""}, {"64k", ""}, {"unlimited", ""}, {"2147483585", ""}, {"1024:2048", ""}},
	"memlock":       {{"", ""}, {"-2", ""}, {"0", ""}, {"1k", ""}, {"1/2", ""}, {"all", ""}},
	"stack":         {{"", ""}, {"-2", ""}, {"0", ""}, {"8", ""}, {"1k", ""}, {"8mb/s", ""}},
	"core":          {{"", ""}, {"-2", ""}, {"1", ""}, {"yes", ""}, {"1/2", ""}},
	"address-space": {{"", ""}, {"-2", ""}, {"0", ""}, {"1g", ""}, {"16777216", ""}, {"1/2", ""}},
	"threads":       {{"", ""}, {"0", ""}, {"-1", ""}, {"4097", ""}, {"1.5", ""}, {"Auto", ""}, {"all", ""}},
	"time-limit":    {{"", ""}, {"90", ""}, {"-1h", ""}, {"0s", ""}, {"100ms", ""}, {"1h -5m", ""}, {"1y", ""}, {"4000d", ""}, {"1d-1h", ""}, {"99999999999h", ""}, {"10:00", ""}, {"unlimited", ""}},
	"signal-before-kill": {
		{"", ""}, {"SIGKILL", ""}, {"9", ""}, {"memory=90", ""}, {"memory=0%", ""}, {"memory=100%", ""}, {"time=-5%", ""}, {"time=1h", ""}, {"gpu=90%", ""}, {"memory=", ""}, {"SIGUSR1,", ""},
	},
	"network":     {{"", ""}, {"bridge", ""}, {"None", ""}, {"container:x", ""}, {"mynet", ""}},
	"home":        {{"", ""}, {"yours", ""}, {"/home/ada", ""}},
	"profile":     {{"", "--profile is empty: name one, or leave the flag out"}, {"smol", `no profile is called "smol" (did you mean "small"?)`}, {"Small", ""}, {"../x", ""}},
	"env":         {{"", "-e: the name of the variable is empty"}, {"=x", "-e: the name of the variable is empty"}, {"1X=2", "-e: "}, {"A B=1", "-e: "}, {"NOT_SET_HERE", "-e NOT_SET_HERE: "}, {"NVIDIA-X=1", "-e: "}},
	"env-file":    {{"", "--env-file is empty: "}, {"nowhere", "--env-file nowhere: "}, {".", "--env-file .: "}},
	"publish":     {{"", "-p : "}, {"0", "-p 0: "}, {"65536", "-p 65536: "}, {"-1", "-p -1: "}, {"x:80", "-p x:80: "}, {"80/icmp", "-p 80/icmp: "}, {"host:80:80", "-p host:80:80: "}},
	"name":        {{"", "--name is empty: "}, {"A", `run name "A" has 'A' in it`}, {"-a", ""}, {"a-", ""}, {"a b", ""}, {"ä", ""}, {strings.Repeat("a", 64), ""}, {"a/b", ""}},
	"image":       {{"", "--image is empty: "}},
	"file":        {{"", "--file is empty: "}},
	"project":     {{"", "--project is empty: "}, {"nowhere", "--project nowhere: "}, {"/", "--project / is the whole machine: "}, {"/usr/..", "--project /usr/.. is the whole machine: "}, {"train.py", "--project train.py is not a folder: "}},
	"oci-bundle":  {{"", "--oci-bundle is empty: "}, {"train.py", "--oci-bundle train.py is a file: "}, {".", "--oci-bundle . is not empty"}, {"train.py/x", "--oci-bundle train.py/x: "}},
	"grace":       {{"", ""}, {"10", ""}, {"-1s", ""}, {"soon", ""}, {"1d", ""}},
	"settle":      {{"5", ""}, {"-1s", ""}, {"soon", ""}},
	"restart":     {{"", "--restart is empty: "}, {"always", ""}, {"on-failure:0", ""}, {"on-failure:-1", ""}, {"on-failure:x", ""}, {"5", ""}},
	"detach-keys": {{"ctrl-", ""}, {"ctrl-1", ""}, {"xx", ""}},
	"skip-check":  {{"", ""}, {"dsik", ""}, {"disk,,runs", ""}},
	"output":      {{"yaml", ""}},
	"extra":       {{"", "--extra is empty: "}, {"a b", `--extra is "a b"; allowed are letters, digits`}, {"-x", ""}, {"x]", ""}},
	"group":       {{"", "--group is empty: "}, {"a/b", `--group is "a/b"; allowed are letters, digits`}, {"x.", ""}},
}

// ownTests are flags whose values other tests are about.
var ownTests = map[string]bool{"data": true, "volume": true}

func TestWrongValues(t *testing.T) {
	home := t.TempDir()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "train.py"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	newApp := func() *App {
		app := runApp(t, map[string]string{"HOME": home, "DOCKER_HOST": "unix:///no/such.sock"})
		app.Dir = dir
		return app
	}
	newRunCmd(newApp(), nil).Flags().VisitAll(func(f *pflag.Flag) {
		if f.Value.Type() != "bool" && len(wrongValues[f.Name]) == 0 && !ownTests[f.Name] {
			t.Errorf("no wrong value of --%s is tried", f.Name)
		}
	})
	for flag, values := range wrongValues {
		for _, v := range values {
			t.Run(flag+"="+v.value, func(t *testing.T) {
				args := []string{"--" + flag + "=" + v.value, "train.py"}
				if flag != "profile" {
					args = append([]string{"--profile", "small"}, args...)
				}
				// Should one be taken for right, no run is begun.
				if flag != "oci-bundle" { // which contradicts it, and starts none either
					args = append([]string{"--dry-run"}, args...)
				}
				cmd := newRunCmd(newApp(), nil)
				cmd.SetContext(context.Background())
				err := parseFlags(cmd, args)
				if err == nil {
					t.Fatal("no error")
				}
				text := err.Error()
				switch {
				case strings.Contains(text, "no/such.sock"):
					t.Errorf("an engine was asked: %v", err)
				case v.want != "" && !strings.HasPrefix(text, v.want):
					t.Errorf("error %q, want %q", text, v.want)
				case v.want == "" && !strings.Contains(text, flag) && !strings.Contains(text, v.value):
					t.Errorf("error %q names neither flag nor value", text)
				}
				// What is allowed, or what to do, stands behind what is wrong.
				if !strings.ContainsAny(text, ";:(") {
					t.Errorf("error %q says no remedy", text)
				}
			})
		}
	}
}

// What is wrong in a file is told with its place.
func TestWrongFlagsBesideFiles(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"train.py":      "",
		"profiles.yaml": "version: 1\nprofiles:\n  mine:\n    memory: 4g\n    memory_swap: 6g\n    shm_size: 1g\n    tmpdir: 1g\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for args, want := range map[string]string{
		"--memory 8g":                    "flag --memory: memory_swap is 6g, less than memory, 8g; it counts memory and swap together",
		"--memory 8g --memory-swap 7g":   "flag --memory-swap: memory_swap is 7g, less than memory, 8g",
		"--shm-size 4g":                  "flag --shm-size: shm_size, 4g, and tmpdir, 1g of tmpfs, count as memory and would fill more than memory, 4g",
		"--memory 4x --cpus -1 --pids 1": "flag --memory: memory is \"4x\"",
	} {
		app := runApp(t, map[string]string{"HOME": t.TempDir(), "DOCKER_HOST": "unix:///no/such.sock"})
		app.Dir = dir
		cmd := newRunCmd(app, nil)
		cmd.SetContext(context.Background())
		err := parseFlags(cmd, append(append([]string{"--dry-run", "--profile", "mine"}, strings.Fields(args)...), "train.py"))
		if err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%s: %v, want %q", args, err, want)
		}
		if strings.Contains(args, "--pids") && (!strings.Contains(err.Error(), "flag --cpus: ") || !strings.Contains(err.Error(), "flag --pids: ")) {
			t.Errorf("%s: not all mistakes are told at once: %v", args, err)
		}
	}
}
