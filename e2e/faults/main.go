// Command faults starts runs that die, or only look like it, with real limits
// and a real PyTorch, asks crun why for each, and prints a table of what was
// expected and what was said. It exits with 1 where a verdict is wrong.
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

func main() {
	crun := flag.String("crun", "bin/crun", "the crun to try")
	project := flag.String("project", "examples", "the repository whose environment.yml has PyTorch")
	only := flag.String("only", "", "try the faults whose names contain this alone")
	flag.Parse()
	*crun, _ = filepath.Abs(*crun)
	wrong, err := try(*crun, *project, *only)
	if err != nil {
		fmt.Fprintln(os.Stderr, "faults:", err)
		os.Exit(1)
	}
	if wrong > 0 {
		os.Exit(1)
	}
}

// verdict is what crun why -o json says.
type verdict struct {
	Code, Sure, Cause string
	Evidence          []struct{ What, Value, Limit string }
	Also              []struct{ Code string }
}

// result is a fault, and what was said of it.
type result struct {
	fault
	got verdict
	err error
}

// right tells whether the verdict is the expected one, as sure as that.
func (r *result) right() bool {
	also := r.also == "" || len(r.got.Also) > 0 && r.got.Also[0].Code == r.also
	return r.err == nil && r.got.Code == r.want && (r.sure == "" || r.got.Sure == r.sure) && also
}

// try has each fault happen and prints the table.
func try(crun, project, only string) (wrong int, err error) {
	b, err := newBench(crun, project)
	if err != nil {
		return 0, err
	}
	defer b.close()
	fmt.Println("| fault | expected | got | sure | evidence |")
	fmt.Println("| --- | --- | --- | --- | --- |")
	var faults, harmless, falseCertain int
	for _, f := range faultTable {
		if !strings.Contains(f.name, only) {
			continue
		}
		r := b.happen(f)
		mark := ""
		if f.want == "clean" {
			harmless++
		} else {
			faults++
		}
		if !r.right() {
			wrong++
			mark = " **wrong**"
			if r.got.Sure == "certain" && r.got.Code != f.want {
				falseCertain++
			}
		}
		fmt.Printf("| %s | %s | %s%s | %s | %s |\n", f.name, f.want, r.got.Code, mark, r.got.Sure, r.evidence())
	}
	fmt.Printf("\n%d faults and %d harmless runs: %d right, %d wrong, %d of these certain\n", faults, harmless, faults+harmless-wrong, wrong, falseCertain)
	return wrong, nil
}

func (r *result) evidence() string {
	if r.err != nil {
		return short(r.err.Error())
	}
	var texts []string
	for _, e := range r.got.Evidence {
		text := e.What + " " + e.Value
		if e.Limit != "" {
			text += " of " + e.Limit
		}
		texts = append(texts, text)
	}
	return short(strings.Join(texts, "; "))
}

// short makes a cell of a table of a text.
func short(text string) string {
	text = strings.NewReplacer("|", "\\|", "\n", " ", "\t", " ").Replace(text)
	if len(text) > 120 {
		text = strings.ToValidUTF8(text[:117], "") + "..."
	}
	return text
}

// bench is where faults happen: a state folder and a project of their own.
type bench struct {
	crun, image, folder string
}

func newBench(crun, project string) (*bench, error) {
	build := exec.Command(crun, "build", "-q")
	build.Dir, build.Stderr = project, os.Stderr
	out, err := build.Output()
	if err != nil {
		return nil, fmt.Errorf("building the image: %w", err)
	}
	image, _, _ := strings.Cut(strings.TrimSpace(string(out)), "\t")
	folder, err := os.MkdirTemp("", "crun-faults-*")
	if err != nil {
		return nil, err
	}
	b := &bench{crun: crun, image: image, folder: folder}
	if err := os.MkdirAll(filepath.Join(folder, "project"), 0o755); err != nil {
		return nil, err
	}
	return b, os.WriteFile(filepath.Join(folder, "project", "environment.yml"), nil, 0o644)
}

func (b *bench) close() { os.RemoveAll(b.folder) }

func (b *bench) command(ctx context.Context, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, b.crun, args...)
	cmd.Dir = filepath.Join(b.folder, "project")
	cmd.Env = append(os.Environ(), "XDG_STATE_HOME="+filepath.Join(b.folder, "state"), "XDG_CACHE_HOME="+filepath.Join(b.folder, "cache"),
		"LC_ALL=C", "CRUN_FAULTS="+b.crun)
	return cmd
}

// happen starts a run, does to it what the fault says, waits for its end and
// asks why.
func (b *bench) happen(f fault) *result {
	r := &result{fault: f}
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	name := strings.Map(func(c rune) rune {
		if c >= 'a' && c <= 'z' || c >= '0' && c <= '9' {
			return c
		}
		return '-'
	}, strings.ToLower(f.name))
	script := filepath.Join(b.folder, "project", "fault.py")
	if r.err = os.WriteFile(script, []byte(f.script), 0o644); r.err != nil {
		return r
	}
	args := []string{"run", "-q", "-d", "--settle", "0s", "--skip-check", "all", "--image", b.image, "--profile", "small", "--time-limit", "3m", "--name", name}
	args = append(append(args, f.flags...), "--")
	if len(f.command) > 0 {
		args = append(args, f.command...)
	} else {
		args = append(args, "python", "fault.py")
	}
	if out, err := b.command(ctx, args...).CombinedOutput(); err != nil && !f.fails {
		r.err = fmt.Errorf("%w: %s", err, out)
		return r
	}
	if f.during != "" {
		// The script says when it is there.
		if r.err = b.said(ctx, name, "ready"); r.err != nil {
			return r
		}
		during := exec.CommandContext(ctx, "sh", "-c", f.during)
		during.Dir = filepath.Join(b.folder, "project")
		during.Env = append(b.command(ctx).Env, "RUN="+name, "CRUN="+b.crun, "PATH="+os.Getenv("PATH"))
		if out, err := during.CombinedOutput(); err != nil {
			r.err = fmt.Errorf("%s: %w: %s", f.during, err, out)
			return r
		}
	}
	_ = b.command(ctx, "wait", name).Run() // its exit code is the run's
	out, err := b.command(ctx, "why", name, "-o", "json").Output()
	if err != nil {
		r.err = fmt.Errorf("crun why: %w", err)
		return r
	}
	r.err = json.Unmarshal(out, &r.got)
	return r
}

// said waits until the run has printed a word.
func (b *bench) said(ctx context.Context, name, word string) error {
	for ctx.Err() == nil {
		out, err := b.command(ctx, "logs", name).Output()
		if err == nil && bytes.Contains(out, []byte(word)) {
			return nil
		}
		time.Sleep(100 * time.Millisecond)
	}
	return fmt.Errorf("it never said %q: %w", word, ctx.Err())
}
