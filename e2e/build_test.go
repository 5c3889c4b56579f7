package e2e

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"context"
	"crypto/md5"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httputil"
	"net/url"
	"os"
	"path"
	"strings"
	"time"

	"github.com/docker/docker/api/types/filters"
	"github.com/docker/docker/api/types/image"
	"github.com/docker/docker/client"
	"github.com/rogpeppe/go-internal/testscript"
	"gopkg.in/yaml.v3"

	"crun.dev/crun/build/lock"
)

// Commands of the scripts of builds:
//
//	forget NAME...          remove the images of these environments before and after the script
//	baseimage NAME PLATFORM FOLDER  make an image of a folder, by its Dockerfile or of its files
//	look FILE IMAGE         write the image's configuration and history, as JSON, into FILE
//	contents FILE IMAGE     write the names of all files of the image's layers into FILE
//	sdist VARIABLE FOLDER...  serve an index of source archives, made of folders NAME-VERSION
//	nowhere IMAGE TEXT...   fail where a TEXT is in a layer, a name or the configuration
//	replace FILE OLD NEW    replace a text of a file
//	condalock LOCK FILE     write the packages of a crun.lock as conda-lock does
//	wheel FOLDER NAME VERSION    write a pure wheel into FOLDER
//	index [-tls] VARIABLE NAME VERSION  serve an index with a pure wheel NAME, and a wheel
//	                        NAMEurl that needs it by its address. The index's own,
//	                        with a password, goes to VARIABLE, host and port to VARIABLE_HOST;
//	                        with -tls, by a certificate that nobody knows
//	channel VARIABLE FILE   serve a conda channel that lists the packages of FILE and has none of
//	                        them: a line each, NAME VERSION and what it needs, behind commas. Its
//	                        address goes to VARIABLE
//	locked VARIABLE         stand a registry that asks for user and s3cr3t-password before
//	                        CRUN_E2E_REGISTRY; its host and port go to VARIABLE
func init() {
	commands["channel"] = cmdChannel
	commands["locked"] = cmdLocked
	commands["forget"] = cmdForget
	commands["baseimage"] = cmdBaseImage
	commands["look"] = cmdLook
	commands["contents"] = cmdContents
	commands["nowhere"] = cmdNowhere
	commands["replace"] = cmdReplace
	commands["condalock"] = cmdCondaLock
	commands["wheel"] = cmdWheel
	commands["index"] = cmdIndex
	commands["sdist"] = cmdSdist
}

func dockerClient(ts *testscript.TestScript) *client.Client {
	c, err := client.NewClientWithOpts(client.FromEnv, client.WithAPIVersionNegotiation())
	ts.Check(err)
	return c
}

func cmdForget(ts *testscript.TestScript, neg bool, args []string) {
	usage(ts, neg, args, 1, "forget NAME...")
	c := dockerClient(ts)
	forget := func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		for _, name := range args {
			images, err := c.ImageList(ctx, image.ListOptions{Filters: filters.NewArgs(filters.Arg("label", "dev.crun.env="+name))})
			ts.Check(err)
			for _, i := range images {
				_, err := c.ImageRemove(ctx, i.ID, image.RemoveOptions{Force: true, PruneChildren: true})
				if err != nil && !strings.Contains(err.Error(), "No such image") {
					ts.Logf("removing the image of %s: %v", name, err)
				}
			}
		}
	}
	forget()
	ts.Defer(func() {
		forget()
		c.Close()
	})
}

func cmdLook(ts *testscript.TestScript, neg bool, args []string) {
	usage(ts, neg, args, 2, "look FILE IMAGE")
	c := dockerClient(ts)
	defer c.Close()
	inspected, err := c.ImageInspect(context.Background(), args[1])
	ts.Check(err)
	history, err := c.ImageHistory(context.Background(), args[1])
	ts.Check(err)
	var data bytes.Buffer
	encoder := json.NewEncoder(&data)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", " ")
	ts.Check(encoder.Encode(inspected))
	ts.Check(encoder.Encode(history))
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), data.Bytes(), 0o644))
}

// eachFile calls fn with each file of an image: of its layers and of what the
// engine keeps of it.
func eachFile(ts *testscript.TestScript, ref string, fn func(name string, layer bool, content io.Reader)) {
	c := dockerClient(ts)
	defer c.Close()
	archive, err := c.ImageSave(context.Background(), []string{ref})
	ts.Check(err)
	defer archive.Close()
	outer := tar.NewReader(archive)
	for {
		entry, err := outer.Next()
		if errors.Is(err, io.EOF) {
			return
		}
		ts.Check(err)
		content, layer := openLayer(ts, entry, outer)
		if !layer {
			fn(entry.Name, false, content)
			continue
		}
		inner := tar.NewReader(content)
		for {
			file, err := inner.Next()
			if errors.Is(err, io.EOF) {
				break
			}
			ts.Check(err)
			fn("/"+file.Name, true, inner)
		}
	}
}

func cmdContents(ts *testscript.TestScript, neg bool, args []string) {
	usage(ts, neg, args, 2, "contents FILE IMAGE")
	var names strings.Builder
	eachFile(ts, args[1], func(name string, layer bool, _ io.Reader) {
		if layer {
			names.WriteString(name + "\n")
		}
	})
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), []byte(names.String()), 0o644))
}

func cmdNowhere(ts *testscript.TestScript, neg bool, args []string) {
	usage(ts, neg, args, 2, "nowhere IMAGE TEXT...")
	eachFile(ts, args[0], func(name string, _ bool, content io.Reader) {
		data, err := io.ReadAll(content)
		ts.Check(err)
		for _, text := range args[1:] {
			if strings.Contains(name, text) || bytes.Contains(data, []byte(text)) {
				ts.Fatalf("%q is in %s", text, name)
			}
		}
	})
}

func cmdReplace(ts *testscript.TestScript, neg bool, args []string) {
	usage(ts, neg, args, 3, "replace FILE OLD NEW")
	data, err := os.ReadFile(ts.MkAbs(args[0]))
	ts.Check(err)
	if !bytes.Contains(data, []byte(args[1])) {
		ts.Fatalf("%s holds no %q", args[0], args[1])
	}
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), bytes.ReplaceAll(data, []byte(args[1]), []byte(args[2])), 0o644))
}

// pureWheel makes a wheel of one module, which tells its version.
func pureWheel(ts *testscript.TestScript, name, version, metadata string) []byte {
	var data bytes.Buffer
	archive := zip.NewWriter(&data)
	info := name + "-" + version + ".dist-info/"
	for _, file := range [][2]string{
		{name + ".py", "version = '" + version + "'\n"},
		{info + "METADATA", "Metadata-Version: 2.1\nName: " + name + "\nVersion: " + version + "\n" + metadata},
		{info + "WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n"},
		{info + "RECORD", name + ".py,,\n" + info + "METADATA,,\n" + info + "WHEEL,,\n" + info + "RECORD,,\n"},
	} {
		w, err := archive.Create(file[0])
		ts.Check(err)
		_, err = io.WriteString(w, file[1])
		ts.Check(err)
	}
	ts.Check(archive.Close())
	return data.Bytes()
}

func cmdCondaLock(ts *testscript.TestScript, neg bool, args []string) {
	usage(ts, neg, args, 2, "condalock LOCK FILE")
	data, err := os.ReadFile(ts.MkAbs(args[0]))
	ts.Check(err)
	l, err := lock.Parse(data, args[0])
	ts.Check(err)
	type entry = map[string]any
	var packages []entry
	for _, p := range l.Conda {
		channel := p.Channel
		if !strings.Contains(channel, "://") {
			channel = "https://conda.anaconda.org/" + channel
		}
		packages = append(packages, entry{"name": p.Name, "version": p.Version, "manager": "conda", "platform": l.Platform,
			"url": channel + "/" + p.Path(), "hash": entry{"sha256": p.SHA256}, "category": "main"})
	}
	for _, d := range l.Pip {
		// The path of a file on PyPI, whose host does not matter.
		file := "https://files.example.org/packages/00/00/" + strings.Repeat("0", 60) + "/" + d.Name + ".whl"
		packages = append(packages, entry{"name": d.Name, "version": d.Version, "manager": "pip", "platform": l.Platform,
			"url": file, "hash": entry{"sha256": strings.TrimPrefix(d.Hashes[0], "sha256:")}})
	}
	out, err := yaml.Marshal(entry{"version": 1, "metadata": entry{
		"content_hash": entry{l.Platform: "0"}, "platforms": []string{l.Platform}, "channels": []entry{},
	}, "package": packages})
	ts.Check(err)
	ts.Check(os.WriteFile(ts.MkAbs(args[1]), out, 0o644))
}

func cmdWheel(ts *testscript.TestScript, neg bool, args []string) {
	usage(ts, neg, args, 3, "wheel FOLDER NAME VERSION")
	file := path.Join(ts.MkAbs(args[0]), args[1]+"-"+args[2]+"-py3-none-any.whl")
	ts.Check(os.WriteFile(file, pureWheel(ts, args[1], args[2], ""), 0o644))
}

func cmdIndex(ts *testscript.TestScript, neg bool, args []string) {
	withTLS := len(args) > 0 && args[0] == "-tls"
	if withTLS {
		args = args[1:]
	}
	usage(ts, neg, args, 3, "index [-tls] VARIABLE NAME VERSION")
	name, version := args[1], args[2]
	suffix := "-" + version + "-py3-none-any.whl"
	wheels := map[string][]byte{}
	start := newServer
	if withTLS {
		start = newTLSServer
	}
	server := start(ts, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		user, password, _ := r.BasicAuth()
		folder, file := path.Split(r.URL.Path)
		project := path.Base(folder)
		switch {
		case folder != "/open/" && (user != "user" || password != "s3cr3t-password"):
			w.Header().Set("WWW-Authenticate", "Basic realm=e2e")
			w.WriteHeader(http.StatusUnauthorized)
		case file == "" && wheels[project+suffix] != nil:
			w.Header().Set("Content-Type", "text/html")
			fmt.Fprintf(w, "<!DOCTYPE html><html><body><a href=%q>%s</a></body></html>", project+suffix, project+suffix)
		case wheels[file] != nil:
			w.Write(wheels[file])
		default:
			http.NotFound(w, r)
		}
	}))
	ts.Defer(server.Close)
	wheels[name+suffix] = pureWheel(ts, name, version, "")
	wheels[name+"url"+suffix] = pureWheel(ts, name+"url", version, "Requires-Dist: "+name+" @ "+server.URL+"/open/"+name+suffix+"\n")
	scheme, host, _ := strings.Cut(server.URL, "://")
	ts.Setenv(args[0]+"_HOST", host)
	ts.Setenv(args[0], scheme+"://user:s3cr3t-password@"+host+"/simple")
}

// cmdChannel: to choose packages their list is enough.
func cmdChannel(ts *testscript.TestScript, neg bool, args []string) {
	usage(ts, neg, args, 2, "channel VARIABLE FILE")
	packages := map[string]any{}
	for line := range strings.Lines(ts.ReadFile(args[1])) {
		head, needs, _ := strings.Cut(strings.TrimSpace(line), ",")
		name, version, ok := strings.Cut(head, " ")
		if !ok {
			continue
		}
		depends := []string{}
		for need := range strings.SplitSeq(needs, ";") {
			if need = strings.TrimSpace(need); need != "" {
				depends = append(depends, need)
			}
		}
		file := name + "-" + version + "-0.conda"
		packages[file] = map[string]any{
			"name": name, "version": version, "build": "0", "build_number": 0, "subdir": "noarch", "depends": depends,
			"sha256": fmt.Sprintf("%x", sha256.Sum256([]byte(file))), "md5": fmt.Sprintf("%x", md5.Sum([]byte(file))), "size": 1,
		}
	}
	server := newServer(ts, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		subdir, file := path.Split(r.URL.Path)
		if file != "repodata.json" {
			http.NotFound(w, r)
			return
		}
		list := map[string]any{"info": map[string]string{"subdir": path.Base(subdir)}, "packages": map[string]any{}, "packages.conda": map[string]any{}}
		if path.Base(subdir) == "noarch" {
			list["packages.conda"] = packages
		}
		json.NewEncoder(w).Encode(list)
	}))
	ts.Defer(server.Close)
	ts.Setenv(args[0], server.URL)
}

func cmdLocked(ts *testscript.TestScript, neg bool, args []string) {
	usage(ts, neg, args, 1, "locked VARIABLE")
	behind := httputil.NewSingleHostReverseProxy(&url.URL{Scheme: "http", Host: ts.Getenv("CRUN_E2E_REGISTRY")})
	server := newServer(ts, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if user, password, _ := r.BasicAuth(); user != "user" || password != "s3cr3t-password" {
			w.Header().Set("WWW-Authenticate", `Basic realm="e2e"`)
			w.WriteHeader(http.StatusUnauthorized)
			fmt.Fprint(w, `{"errors": [{"code": "UNAUTHORIZED", "message": "authentication required"}]}`)
			return
		}
		behind.ServeHTTP(w, r) // with the host it was asked by, for the registry's own links
	}))
	ts.Defer(server.Close)
	ts.Setenv(args[0], strings.TrimPrefix(server.URL, "http://"))
}
