package e2e

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"path"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

// Commands of the scripts about servers that misbehave:
//
//	faulty VARIABLE         serve the channel of the tests, and below /simple an index
//	                        with one pure wheel, crunfault 1.0; host and port go to VARIABLE. Packages of
//	                        the channel's noarch lie below /files as well, which is no channel
//	fault none              serve as it should be, from here on
//	fault MODE REGEXP       do to paths that match: cut (half of the file, then the
//	                        connection ends), corrupt (other bytes), hang (no answer),
//	                        stall (half of the file, then nothing), drip (a byte a second),
//	                        or a status (404)
//	asked REGEXP            fail where no path that was asked for matches
func init() {
	commands["faulty"] = cmdFaulty
	commands["fault"] = cmdFault
	commands["asked"] = cmdAsked
}

// faultyServer is the channel with a fault.
type faultyServer struct {
	mu    sync.Mutex
	mode  string
	path  *regexp.Regexp
	asked []string
}

var faultyServers sync.Map // by the script's folder

func cmdFaulty(ts *testscript.TestScript, neg bool, args []string) {
	usage(ts, neg, args, 1, "faulty VARIABLE")
	mux := http.NewServeMux()
	mux.Handle("/", channelProxy(ts))
	mux.HandleFunc("/files/", func(w http.ResponseWriter, r *http.Request) {
		r.URL.Path = "/noarch/" + path.Base(r.URL.Path)
		channelProxy(ts).ServeHTTP(w, r)
	})
	const wheel = "crunfault-1.0-py3-none-any.whl"
	files := map[string][]byte{wheel: pureWheel(ts, "crunfault", "1.0", "")}
	mux.HandleFunc("/simple/", func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/simple/crunfault/":
			w.Header().Set("Content-Type", "text/html")
			fmt.Fprintf(w, "<!DOCTYPE html><html><body><a href=\"%s#sha256=%x\">%s</a></body></html>", wheel, sha256.Sum256(files[wheel]), wheel)
		case "/simple/crunfault/" + wheel:
			_, _ = w.Write(files[wheel])
		default:
			http.NotFound(w, r)
		}
	})
	var channel http.Handler = mux
	f := &faultyServer{mode: "none"}
	stop := make(chan struct{})
	server := newServer(ts, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		f.mu.Lock()
		mode := f.mode
		if mode != "none" && !f.path.MatchString(r.URL.Path) {
			mode = "none"
		}
		f.asked = append(f.asked, r.URL.Path)
		f.mu.Unlock()
		if mode == "none" {
			channel.ServeHTTP(w, r)
			return
		}
		if status, err := strconv.Atoi(mode); err == nil {
			http.Error(w, "told to", status)
			return
		}
		wait := func() {
			select {
			case <-stop:
			case <-r.Context().Done():
			}
		}
		if mode == "hang" { // whatever is asked for
			wait()
			return
		}
		whole := httptest.NewRecorder()
		r.Header.Del("Range")
		r.Header.Del("If-None-Match")
		r.Header.Del("If-Modified-Since")
		channel.ServeHTTP(whole, r)
		if whole.Code != http.StatusOK && mode != "drip" || r.Method == http.MethodHead {
			w.WriteHeader(whole.Code)
			return
		}
		body := whole.Body.Bytes()
		half := body[:len(body)/2]
		w.Header().Set("Content-Length", strconv.Itoa(len(body)))
		w.Header().Set("Content-Type", "application/octet-stream")
		if kind := whole.Header().Get("Content-Type"); mode == "drip" && kind != "" {
			w.Header().Set("Content-Type", kind)
		}
		switch mode {
		case "cut":
			_, _ = io.Copy(w, bytes.NewReader(half))
			panic(http.ErrAbortHandler)
		case "corrupt":
			_, _ = w.Write(half)
			_, _ = w.Write(bytes.Repeat([]byte("x"), len(body)-len(half)))
		case "drip":
			for i := range body {
				_, _ = w.Write(body[i : i+1])
				w.(http.Flusher).Flush()
				select {
				case <-stop:
					return
				case <-r.Context().Done():
					return
				case <-time.After(time.Second):
				}
			}
		case "stall":
			_, _ = w.Write(half)
			w.(http.Flusher).Flush()
			wait()
		}
	}))
	ts.Defer(func() {
		close(stop)
		server.CloseClientConnections()
		server.Close()
	})
	faultyServers.Store(ts.Getenv("WORK"), f)
	ts.Setenv(args[0], strings.TrimPrefix(server.URL, "http://"))
}

func faultyOf(ts *testscript.TestScript) *faultyServer {
	f, ok := faultyServers.Load(ts.Getenv("WORK"))
	if !ok {
		ts.Fatalf("there is no faulty server")
	}
	return f.(*faultyServer)
}

func cmdFault(ts *testscript.TestScript, neg bool, args []string) {
	usage(ts, neg, args, 1, "fault none | fault MODE REGEXP")
	f := faultyOf(ts)
	f.mu.Lock()
	defer f.mu.Unlock()
	f.mode, f.asked = args[0], nil
	if len(args) > 1 {
		re, err := regexp.Compile(args[1])
		ts.Check(err)
		f.path = re
	}
}

func cmdAsked(ts *testscript.TestScript, neg bool, args []string) {
	usage(ts, neg, args, 1, "asked REGEXP")
	re, err := regexp.Compile(args[0])
	ts.Check(err)
	f := faultyOf(ts)
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, path := range f.asked {
		if re.MatchString(path) {
			return
		}
	}
	ts.Fatalf("%s", fmt.Sprintf("nothing like %s was asked for, but %q", args[0], f.asked))
}
