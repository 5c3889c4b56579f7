package e2e

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"fmt"
	"io/fs"
	"maps"
	"net/http"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"
)

// cmdSdist serves an index of source archives, each made of a folder whose name
// is NAME-VERSION. The index's address goes to the variable.
func cmdSdist(ts *testscript.TestScript, neg bool, args []string) {
	usage(ts, neg, args, 2, "sdist VARIABLE FOLDER...")
	archives := map[string][]byte{}
	for _, folder := range args[1:] {
		archives[filepath.Base(folder)+".tar.gz"] = sourceArchive(ts, ts.MkAbs(folder))
	}
	server := newServer(ts, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		folder, file := path.Split(r.URL.Path)
		project := path.Base(folder)
		switch {
		case archives[file] != nil:
			w.Write(archives[file])
		case file == "" && slices.ContainsFunc(slices.Collect(maps.Keys(archives)), func(name string) bool { return strings.HasPrefix(name, project+"-") }):
			w.Header().Set("Content-Type", "text/html")
			fmt.Fprint(w, "<!DOCTYPE html><html><body>")
			for name := range archives {
				if strings.HasPrefix(name, project+"-") {
					fmt.Fprintf(w, "<a href=%q>%s</a>\n", name, name)
				}
			}
			fmt.Fprint(w, "</body></html>")
		default:
			http.NotFound(w, r)
		}
	}))
	ts.Defer(server.Close)
	ts.Setenv(args[0], server.URL+"/simple")
}

// sourceArchive packs folder as the folder NAME-VERSION of a .tar.gz.
func sourceArchive(ts *testscript.TestScript, folder string) []byte {
	var data bytes.Buffer
	compressed := gzip.NewWriter(&data)
	archive := tar.NewWriter(compressed)
	top := filepath.Base(folder)
	ts.Check(filepath.WalkDir(folder, func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		content, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		inside, _ := filepath.Rel(folder, name)
		if err := archive.WriteHeader(&tar.Header{Name: path.Join(top, filepath.ToSlash(inside)), Mode: 0o644, Size: int64(len(content))}); err != nil {
			return err
		}
		_, err = archive.Write(content)
		return err
	}))
	ts.Check(archive.Close())
	ts.Check(compressed.Close())
	return data.Bytes()
}
