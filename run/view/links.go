package view

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// How far a project is searched for links, so that a large one, or one on a
// slow server, does not hold up its runs. Folders near the top come first.
const (
	MaxEntries = 20_000
	MaxTime    = 500 * time.Millisecond
)

// Link is a link of a project that leads to what a run does not see.
type Link struct {
	Path    string // relative to the project
	Missing string // absolute, on this machine
}

// Links gives the links below project whose targets are there and are not in
// the run's view. whole says that all of the project was searched. Folders that
// hold programs and not data are passed over: hidden ones, environments,
// node_modules.
func (v View) Links(project string) (found []Link, whole bool) {
	deadline := time.Now().Add(MaxTime)
	folders, entries := []string{project}, 0
	for len(folders) > 0 {
		folder := folders[0]
		folders = folders[1:]
		dir, err := os.Open(folder)
		if err != nil {
			continue // closed to the caller, or gone
		}
		var below []string
		for err = nil; err == nil; {
			var some []fs.DirEntry
			some, err = dir.ReadDir(512)
			for _, entry := range some {
				path := filepath.Join(folder, entry.Name())
				switch {
				case entry.IsDir() && !holdsPrograms(path):
					below = append(below, path)
				case entry.Type()&fs.ModeSymlink != 0:
					if missing := v.Missing(path); missing != "" {
						relative, _ := filepath.Rel(project, path)
						found = append(found, Link{Path: relative, Missing: missing})
					}
				}
			}
			if entries += len(some); entries >= MaxEntries || time.Now().After(deadline) {
				dir.Close()
				// The very end of a project is no cut.
				return found, len(folders)+len(below) == 0 && errors.Is(err, io.EOF)
			}
		}
		dir.Close()
		slices.Sort(below)
		folders = append(folders, below...)
	}
	return found, true
}

func holdsPrograms(folder string) bool {
	name := filepath.Base(folder)
	if strings.HasPrefix(name, ".") || name == "node_modules" || name == "__pycache__" || name == "site-packages" {
		return true
	}
	for _, mark := range []string{"pyvenv.cfg", "conda-meta"} {
		if _, err := os.Lstat(filepath.Join(folder, mark)); err == nil {
			return true
		}
	}
	return false
}

// maxFolders is how many folders a person is asked to mount one by one.
const maxFolders = 3

// Folders gives the fewest folders to mount so that the links lead somewhere:
// files by the folder that they lie in, and many by what is above them all.
func Folders(links []Link) []string {
	var all []string
	for _, link := range links {
		folder := link.Missing
		if info, err := os.Stat(folder); err == nil && !info.IsDir() {
			folder = filepath.Dir(folder)
		}
		if isImages(folder) {
			folder = link.Missing
		}
		all = append(all, folder)
	}
	all = topmost(all)
	for depth := 8; len(all) > maxFolders && depth >= 2; depth-- {
		for i, folder := range all {
			if parts := strings.Split(folder, "/"); len(parts) > depth+1 {
				all[i] = strings.Join(parts[:depth+1], "/")
			}
		}
		all = topmost(all)
	}
	return all
}

// topmost leaves out folders that lie in another.
func topmost(folders []string) []string {
	slices.Sort(folders)
	var top []string
	for _, folder := range folders {
		if len(top) == 0 || !slices.ContainsFunc(top, func(t string) bool { return within(folder, t) }) {
			top = append(top, folder)
		}
	}
	return top
}
