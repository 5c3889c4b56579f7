// Command gendocs writes what is made from the commands' own help: man pages,
// the reference in Markdown and the shell completions.
package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"

	"crun.dev/crun/cmd/internal/cli"
)

func main() {
	out := flag.String("out", "docs", "the folder to write to")
	flag.Parse()
	if err := write(*out); err != nil {
		fmt.Fprintln(os.Stderr, "gendocs:", err)
		os.Exit(1)
	}
}

func write(out string) error {
	// A fixed date: the pages change when the help does, and then alone.
	date := time.Date(2026, time.November, 30, 0, 0, 0, 0, time.UTC)
	steps := []struct {
		folder string
		write  func(root *cobra.Command, folder string) error
	}{
		{"man", func(root *cobra.Command, folder string) error {
			return doc.GenManTree(root, &doc.GenManHeader{Title: "CRUN", Section: "1", Date: &date, Source: "crun", Manual: "crun manual"}, folder)
		}},
		{"reference", doc.GenMarkdownTree},
		{"completions", writeCompletions},
	}
	for _, step := range steps {
		folder := filepath.Join(out, step.folder)
		if err := os.RemoveAll(folder); err != nil {
			return err
		}
		if err := os.MkdirAll(folder, 0o755); err != nil {
			return err
		}
		root := cli.Root()
		root.DisableAutoGenTag = true
		if err := step.write(root, folder); err != nil {
			return err
		}
	}
	return nil
}

func writeCompletions(root *cobra.Command, folder string) error {
	if err := root.GenBashCompletionFileV2(filepath.Join(folder, "crun.bash"), true); err != nil {
		return err
	}
	if err := root.GenZshCompletionFile(filepath.Join(folder, "_crun")); err != nil {
		return err
	}
	return root.GenFishCompletionFile(filepath.Join(folder, "crun.fish"), true)
}
