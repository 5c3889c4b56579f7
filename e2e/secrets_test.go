package e2e

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"io/fs"
	"net/http"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

// Commands of the scripts about secrets:
//
//	guard VARIABLE          serve the channel of the tests to who has a password
//	                        (user:s3cr3t-conda, below /basic) or a token (below
//	                        /t/s3cr3t-token); host and port go to VARIABLE
//	unseen TEXT PATH...     fail where TEXT is in a file, in BuildKit's JSON too
//	arguments start TEXT    watch the arguments of all processes for TEXT
//	arguments stop SEEN     fail where a process had it, or none had SEEN
func init() {
	commands["guard"] = cmdGuard
	commands["unseen"] = cmdUnseen
	commands["arguments"] = cmdArguments
}

// channelProxy serves what the tests' channel does.
func channelProxy(ts *testscript.TestScript) *httputil.ReverseProxy {
	host := ts.Getenv("CHANNEL")
	if host == "" {
		ts.Fatalf("no CHANNEL: CRUN_CONFIG names no mirror of conda-forge")
	}
	proxy := httputil.NewSingleHostReverseProxy(&url.URL{Scheme: "http", Host: host})
	proxy.FlushInterval = -1
	return proxy
}

func cmdGuard(ts *testscript.TestScript, neg bool, args []string) {
	usage(ts, neg, args, 1, "guard VARIABLE")
	channel := channelProxy(ts)
	mux := http.NewServeMux()
	mux.Handle("/t/s3cr3t-token/conda-forge/", http.StripPrefix("/t/s3cr3t-token/conda-forge", channel))
	mux.Handle("/basic/conda-forge/", http.StripPrefix("/basic/conda-forge", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if user, password, _ := r.BasicAuth(); user != "user" || password != "s3cr3t-conda" {
			w.Header().Set("WWW-Authenticate", "Basic realm=e2e")
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		r.Header.Del("Authorization")
		channel.ServeHTTP(w, r)
	})))
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) { w.WriteHeader(http.StatusForbidden) })
	server := newServer(ts, mux)
	ts.Defer(server.Close)
	ts.Setenv(args[0], strings.TrimPrefix(server.URL, "http://"))
}

// spellings are text as it may stand in a file: base64 has one of three forms,
// by where in the coded text it begins.
func spellings(text string) [][]byte {
	found := [][]byte{[]byte(text)}
	if escaped := url.QueryEscape(text); escaped != text {
		found = append(found, []byte(escaped))
	}
	for i := range 3 {
		// Letters that depend on what stands before and after are left out.
		coded := base64.StdEncoding.EncodeToString(append(make([]byte, i), text...))
		coded = strings.TrimRight(coded, "=")
		start := []int{0, 2, 3}[i]
		found = append(found, []byte(coded[start:len(coded)-1]))
	}
	return found
}

func cmdUnseen(ts *testscript.TestScript, neg bool, args []string) {
	usage(ts, neg, args, 2, "unseen TEXT PATH...")
	texts := spellings(args[0])
	for _, root := range args[1:] {
		count := 0
		ts.Check(filepath.WalkDir(ts.MkAbs(root), func(path string, entry fs.DirEntry, err error) error {
			if errors.Is(err, fs.ErrNotExist) {
				return nil
			} else if err != nil || !entry.Type().IsRegular() {
				return err
			}
			data, err := os.ReadFile(path)
			if errors.Is(err, fs.ErrNotExist) {
				return nil // a run cleans up behind itself
			} else if err != nil {
				return err
			}
			count++
			for _, text := range texts {
				if i := bytes.Index(data, text); i >= 0 {
					ts.Fatalf("%s holds %q as %q: %q", path, args[0], text, data[max(0, i-200):min(len(data), i+200)])
				}
			}
			// Output of steps is in base64 within JSON, in pieces of any length.
			for line := range bytes.Lines(data) {
				var status struct{ Logs []struct{ Data []byte } }
				if json.Unmarshal(line, &status) == nil {
					for _, l := range status.Logs {
						if bytes.Contains(l.Data, texts[0]) {
							ts.Fatalf("%s holds %q in the output of a step: %q", path, args[0], l.Data)
						}
					}
				}
			}
			return nil
		}))
		if count == 0 {
			ts.Fatalf("there is no file in %s", root)
		}
	}
}

// arguments is a watch over all processes of the machine, those in containers
// too.
type arguments struct {
	text string
	work string // the script's folder: other scripts' processes do not count
	stop chan struct{}
	done sync.WaitGroup
	bad  []string
	seen map[string]bool
}

var watches sync.Map // by the script's folder

func cmdArguments(ts *testscript.TestScript, neg bool, args []string) {
	usage(ts, neg, args, 2, "arguments start TEXT | arguments stop SEEN")
	switch args[0] {
	case "start":
		a := &arguments{text: args[1], work: ts.Getenv("WORK"), stop: make(chan struct{}), seen: map[string]bool{}}
		a.done.Go(a.watch)
		watches.Store(ts.Getenv("WORK"), a)
		ts.Defer(func() {
			if _, running := watches.LoadAndDelete(ts.Getenv("WORK")); running {
				close(a.stop)
				a.done.Wait()
			}
		})
	case "stop":
		found, ok := watches.LoadAndDelete(ts.Getenv("WORK"))
		if !ok {
			ts.Fatalf("nothing watches")
		}
		a := found.(*arguments)
		close(a.stop)
		a.done.Wait()
		if len(a.bad) > 0 {
			ts.Fatalf("%q is in the arguments of %q", a.text, a.bad)
		}
		for line := range a.seen {
			if strings.Contains(line, args[1]) {
				return
			}
		}
		ts.Fatalf("no process with %q was seen, among %d", args[1], len(a.seen))
	}
}

func (a *arguments) watch() {
	for {
		select {
		case <-a.stop:
			return
		case <-time.After(10 * time.Millisecond):
		}
		paths, _ := filepath.Glob("/proc/[0-9]*/cmdline")
		for _, path := range paths {
			data, err := os.ReadFile(path)
			if err != nil || len(data) == 0 || strings.HasPrefix(path, "/proc/"+selfPID+"/") {
				continue
			}
			line := string(bytes.ReplaceAll(data, []byte{0}, []byte(" ")))
			a.seen[line] = true
			if strings.Contains(line, a.text) && !slices.Contains(a.bad, line) && !a.others(filepath.Dir(path)) {
				a.bad = append(a.bad, line)
			}
		}
	}
}

// others tells whether a process is of another script.
func (a *arguments) others(process string) bool {
	environ, err := os.ReadFile(process + "/environ")
	if err != nil {
		return false
	}
	for variable := range bytes.SplitSeq(environ, []byte{0}) {
		if work, ok := bytes.CutPrefix(variable, []byte("WORK=")); ok {
			return string(work) != a.work
		}
	}
	return false
}

var selfPID = filepath.Base(func() string { name, _ := os.Readlink("/proc/self"); return name }())
