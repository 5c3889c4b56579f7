package endpoint

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
	"syscall"
)

// defaultContext is the context that every machine has and no file describes.
const defaultContext = "default"

// contextStore reads the contexts that "docker context create" wrote.
type contextStore struct {
	files fs.FS
	dir   string // the Docker client's folder, or ""
}

// contextMeta is what we need of a context's meta.json.
type contextMeta struct {
	Name      string `json:"Name"`
	Endpoints map[string]struct {
		Host          string `json:"Host"`
		SkipTLSVerify bool   `json:"SkipTLSVerify"`
	} `json:"Endpoints"`
}

// dockerContext is a context's engine.
type dockerContext struct {
	host string
	tls  *TLS // nil where the context holds none
}

// current is currentContext of config.json, or "", and the file it stands in.
func (s contextStore) current() (name, file string, err error) {
	if s.dir == "" {
		return "", "", nil
	}
	file = path.Join(s.dir, "config.json")
	data, err := fs.ReadFile(s.files, rooted(file))
	switch {
	case errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) /* HOME may be /dev/null */ || len(strings.TrimSpace(string(data))) == 0 && err == nil:
		return "", file, nil
	case err != nil:
		return "", file, fmt.Errorf("reading the Docker client's configuration: %w", withPath(err, file))
	}
	var config struct {
		CurrentContext string `json:"currentContext"`
	}
	if err := json.Unmarshal(data, &config); err != nil {
		return "", file, fmt.Errorf("%s is not the JSON that it must be: %w", file, err)
	}
	return config.CurrentContext, file, nil
}

// load reads the context called name.
func (s contextStore) load(name string) (dockerContext, error) {
	sum := sha256.Sum256([]byte(name))
	id := hex.EncodeToString(sum[:])
	file := path.Join(s.dir, "contexts/meta", id, "meta.json")
	data, err := fs.ReadFile(s.files, rooted(file))
	if errors.Is(err, fs.ErrNotExist) || s.dir == "" {
		return dockerContext{}, fmt.Errorf("there is no Docker context %q; there are %s", name, strings.Join(s.names(), ", "))
	}
	if err != nil {
		return dockerContext{}, fmt.Errorf("reading the Docker context %q: %w", name, withPath(err, file))
	}
	var meta contextMeta
	if err := json.Unmarshal(data, &meta); err != nil {
		return dockerContext{}, fmt.Errorf("%s, which describes the Docker context %q, is not the JSON that it must be: %w", file, name, err)
	}
	docker, ok := meta.Endpoints["docker"]
	if !ok || docker.Host == "" {
		return dockerContext{}, fmt.Errorf("the Docker context %q names no engine: give it one with \"docker context update %s --docker host=...\"", name, name)
	}
	ctx := dockerContext{host: docker.Host}
	dir := path.Join(s.dir, "contexts/tls", id, "docker")
	if docker.SkipTLSVerify || exists(s.files, dir) {
		if ctx.tls, err = tlsFiles(s.files, dir); err != nil {
			return dockerContext{}, err
		}
		ctx.tls.SkipVerify = docker.SkipTLSVerify
	}
	return ctx, nil
}

// names lists the contexts, default first.
func (s contextStore) names() []string {
	var names []string
	if s.dir != "" {
		found, _ := fs.Glob(s.files, rooted(path.Join(escapeGlob(s.dir), "contexts/meta/*/meta.json")))
		for _, file := range found {
			var meta contextMeta
			if data, err := fs.ReadFile(s.files, file); err == nil && json.Unmarshal(data, &meta) == nil && meta.Name != "" {
				names = append(names, meta.Name)
			}
		}
	}
	slices.Sort(names)
	return append([]string{defaultContext}, names...)
}

// tlsFiles names the files of dir that are there.
func tlsFiles(files fs.FS, dir string) (*TLS, error) {
	at := func(name string) string {
		if file := path.Join(dir, name); exists(files, file) {
			return file
		}
		return ""
	}
	tls := &TLS{CA: at("ca.pem"), Cert: at("cert.pem"), Key: at("key.pem")}
	if (tls.Cert == "") != (tls.Key == "") {
		return nil, fmt.Errorf("%s holds one of cert.pem and key.pem: a client's certificate needs both", dir)
	}
	return tls, nil
}

// withPath names the file as people know it: a file system rooted at / leaves
// the leading slash out.
func withPath(err error, file string) error {
	var pathErr *fs.PathError
	if errors.As(err, &pathErr) {
		return &fs.PathError{Op: pathErr.Op, Path: file, Err: pathErr.Err}
	}
	return err
}

// escapeGlob keeps what a pattern would read as more than a character.
func escapeGlob(s string) string {
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`).Replace(s)
}
