// Command bench measures crun against plain docker in pairs of runs and prints
// a table in Markdown, whose ratios are the README's numbers. It asserts
// nothing: machines are shared and noisy.
package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

func main() {
	crun := flag.String("crun", "bin/crun", "the crun to measure")
	project := flag.String("project", "examples", "the repository whose environment is built and run")
	pairs := flag.Int("pairs", 20, "pairs of runs for each comparison")
	only := flag.String("edit", "", "measure this edit and nothing else: \"cold\", \"nothing\", \"one pip line\", \"one conda line\", \"one heavy package\"")
	rows := flag.String("rows", "", "measure these rows, with commas between, and nothing else: "+strings.Join(rowNames(), ", "))
	big := flag.Bool("large", false, "measure one large environment, from a real index, and nothing else")
	flag.Parse()
	*crun, _ = filepath.Abs(*crun)
	run := func() error { return bench(*crun, *project, *rows, *pairs) }
	if *only != "" {
		run = func() error { return edits(*crun, *only) }
	}
	if *big {
		run = func() error { return large(*crun, *project) }
	}
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// measurements are the rows of the table, in its order.
var measurements = []struct {
	name    string
	measure func(*suite) error
}{
	{"version", (*suite).startup}, {"run", (*suite).run}, {"ps", (*suite).lists}, {"monitor", (*suite).monitorMemory}, {"threads", (*suite).threads}, {"build", (*suite).noopBuild},
}

func rowNames() (names []string) {
	for _, m := range measurements {
		names = append(names, m.name)
	}
	return names
}

// bench measures the named rows, or all and the builds behind them.
func bench(crun, project, rows string, pairs int) error {
	wanted := strings.FieldsFunc(rows, func(r rune) bool { return r == ',' })
	for _, name := range wanted {
		if !slices.Contains(rowNames(), name) {
			return fmt.Errorf("-rows has %q; there are %s", name, strings.Join(rowNames(), ", "))
		}
	}
	project, err := filepath.Abs(project)
	if err != nil {
		return err
	}
	image, err := builtImage(crun, project)
	if err != nil {
		return err
	}
	b := &suite{crun: crun, project: project, image: image, pairs: pairs}
	fmt.Println("| what | crun | beside it | ratio, median (lowest to highest) | aim |")
	fmt.Println("| --- | --- | --- | --- | --- |")
	for _, m := range measurements {
		if len(wanted) > 0 && !slices.Contains(wanted, m.name) {
			continue
		}
		if err := m.measure(b); err != nil {
			return err
		}
	}
	if len(wanted) > 0 {
		return nil
	}
	return edits(crun, "")
}

// suite holds what the measurements share.
type suite struct {
	crun, project, image string
	pairs                int
}

// row prints the result of a series of pairs.
func row(what, beside string, r result, aim string) {
	fmt.Printf("| %s | %s | %s %s | %.2f (%.2f to %.2f, %d pairs) | %s |\n",
		what, shown(r.a), beside, shown(r.b), r.ratio, r.lowest, r.highest, r.pairs, aim)
}

// shown rounds a duration to what can be told apart.
func shown(d time.Duration) string {
	if d < time.Second {
		return fmt.Sprintf("%.1f ms", float64(d)/float64(time.Millisecond))
	}
	return fmt.Sprintf("%.2f s", d.Seconds())
}
