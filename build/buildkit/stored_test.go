package buildkit

import (
	"errors"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"crun.dev/crun/internal/endpoint"
)

// keeper is an engine that gives tags of one image away but for the last one,
// which something needs.
type keeper struct {
	tags     map[string]bool
	used     bool
	fails    string // a tag that cannot be taken away for another reason
	moved    string // a tag that another image has by now
	requests []string
}

func (k *keeper) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	_, path, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/") // the version of the API
	k.requests = append(k.requests, r.Method+" "+path)
	name := strings.TrimPrefix(path, "images/")
	switch {
	case r.URL.Path == "/_ping":
		w.Header().Set("Api-Version", "1.41")
	case r.Method == http.MethodPost && strings.HasSuffix(path, "/tag"):
		k.tags[strings.TrimPrefix(r.URL.Query().Get("repo"), "docker.io/library/")+":"+r.URL.Query().Get("tag")] = true
		w.WriteHeader(http.StatusCreated)
	case r.Method == http.MethodGet && strings.HasSuffix(path, "/json"):
		name, id := strings.TrimSuffix(name, "/json"), "a"
		if name == k.moved {
			id = "b"
		}
		if !k.tags[name] {
			http.Error(w, `{"message":"No such image"}`, http.StatusNotFound)
			return
		}
		_, _ = w.Write([]byte(`{"Id":"sha256:` + strings.Repeat(id, 64) + `"}`))
	case r.Method == http.MethodDelete && name == k.fails:
		http.Error(w, `{"message":"the disk is on fire"}`, http.StatusInternalServerError)
	case r.Method == http.MethodDelete && !k.tags[name]:
		http.Error(w, `{"message":"No such image"}`, http.StatusNotFound)
	case r.Method == http.MethodDelete && k.used && len(k.tags) == 1:
		http.Error(w, `{"message":"conflict: unable to remove repository reference (must force) - container 0123 is using its referenced image"}`, http.StatusConflict)
	case r.Method == http.MethodDelete:
		delete(k.tags, name)
		_, _ = w.Write([]byte(`[{"Untagged":"` + name + `"}]`))
	default:
		http.Error(w, `{"message":"what is that"}`, http.StatusNotImplemented)
	}
}

// An image that something needs keeps all its names, also where the engine
// says so at the last one.
func TestRemoveImageInUse(t *testing.T) {
	for name, test := range map[string]struct {
		used  bool
		fails string
		moved string
		want  error // of errors.Is
		err   bool
		left  []string
	}{
		"nobody needs it":         {left: nil},
		"a container needs it":    {used: true, want: ErrImageUsed, err: true, left: []string{"a:1", "lab.example:5000/b:2", "c:3"}},
		"a tag of another image":  {moved: "a:1", left: []string{"a:1"}},
		"the engine is at a loss": {fails: "c:3", err: true, left: []string{"a:1", "lab.example:5000/b:2", "c:3"}},
	} {
		t.Run(name, func(t *testing.T) {
			k := &keeper{tags: map[string]bool{"a:1": true, "lab.example:5000/b:2": true, "c:3": true}, used: test.used, fails: test.fails, moved: test.moved}
			server := httptest.NewServer(k)
			defer server.Close()
			engine, err := NewEngine(endpoint.Endpoint{Host: strings.Replace(server.URL, "http://", "tcp://", 1)})
			if err != nil {
				t.Fatal(err)
			}
			defer engine.Close()
			err = engine.RemoveImage(t.Context(), Image{ID: "sha256:" + strings.Repeat("a", 64), Tags: []string{"a:1", "lab.example:5000/b:2", "c:3"}})
			if test.want != nil && !errors.Is(err, test.want) || (err != nil) != test.err {
				t.Errorf("the error is %v, want %v", err, test.want)
			}
			left := slices.Sorted(maps.Keys(k.tags))
			slices.Sort(test.left)
			if !slices.Equal(left, test.left) {
				t.Errorf("it is called %v now, want %v\n%s", left, test.left, strings.Join(k.requests, "\n"))
			}
		})
	}
}
