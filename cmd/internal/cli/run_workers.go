package cli

import (
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"crun.dev/crun/internal/boundedfile"
	"crun.dev/crun/internal/dataloader"
	"crun.dev/crun/run/plan"
)

// maxScript bounds what is read to find a number of workers, in bytes.
const maxScript = 1 << 20

// sayWorkers tells, once a project, of numbers of DataLoader workers in the
// script, and in configs that its arguments name, that are above the cores of
// the run, or of each process of torchrun's.
func (app *App) sayWorkers(p *plan.Plan, command []string) {
	cores := p.Cores()
	if cores == 0 {
		return
	}
	of := "the run has "
	if p.Ranks > 1 {
		cores, of = max(1, cores/p.Ranks), "each of the "+strconv.Itoa(p.Ranks)+" processes has "
	}
	of += coresText(cores)
	script := scriptOf(command)
	if script < 0 {
		return
	}
	for i, arg := range command[script:] {
		_, value, _ := strings.Cut(arg, "=")
		find := dataloader.InConfig
		if i == 0 {
			value, find = arg, dataloader.InScript
		} else if value == "" {
			value = arg
		}
		switch ext := filepath.Ext(value); {
		case i == 0, ext == ".yaml", ext == ".yml", ext == ".json":
		default:
			continue
		}
		// One that is not there, or is no file, python itself will name.
		data, err := boundedfile.Read(app.abs(value), maxScript)
		if err != nil {
			continue
		}
		all := slices.DeleteFunc(find(data), func(n dataloader.Number) bool {
			return n.Value <= cores || overridden(n.Option, command[script+1:])
		})
		if len(all) == 0 {
			continue
		}
		key := "num_workers " + app.abs(value)
		for _, n := range all {
			key += fmt.Sprintf(" %d", n.Value)
		}
		app.warnOnceAs(p.Project, key, workersText(value, all, cores, of, i == 0, dataloader.Persistent(data)))
	}
}

func workersText(file string, all []dataloader.Number, cores int, of string, script, persistent bool) string {
	n := all[0]
	what := fmt.Sprintf("num_workers is %d", n.Value)
	if n.Option != "" {
		what = fmt.Sprintf("%s is %d where it is not given", n.Option, n.Value)
	}
	for i, other := range all[1:] {
		what += []string{" (and ", ", "}[min(i, 1)] + fmt.Sprintf("%d in line %d", other.Value, other.Line)
	}
	if len(all) > 1 {
		what += ")"
	}
	remedy := fmt.Sprintf("write %d or less", cores)
	if script {
		remedy = `write int(os.environ.get("CRUN_WORKERS", 4)) instead`
	}
	text := fmt.Sprintf("%s:%d: %s, and %s: workers beyond that wait for each other, and each holds memory; %s", file, n.Line, what, of, remedy)
	if script && !persistent {
		text += ", and persistent_workers=True, which does not start them anew for each epoch"
	}
	return text
}

func coresText(n int) string {
	if n == 1 {
		return "1 core"
	}
	return strconv.Itoa(n) + " cores"
}

// scriptOf gives the place of the Python file in a command, -1 where there is
// none: the first word, or of python's and torchrun's the first that is one.
func scriptOf(command []string) int {
	for i, arg := range command {
		if strings.HasSuffix(arg, ".py") {
			return i
		}
		if name := filepath.Base(arg); i == 0 && name != "torchrun" && name != "accelerate" && !strings.HasPrefix(name, "python") {
			return -1
		}
	}
	return -1
}

// overridden tells whether an option is among the arguments, in either spelling.
func overridden(option string, args []string) bool {
	if option == "" {
		return false
	}
	same := func(s string) string { return strings.ReplaceAll(s, "_", "-") }
	for _, arg := range args {
		name, _, _ := strings.Cut(arg, "=")
		if same(name) == same(option) {
			return true
		}
	}
	return false
}
