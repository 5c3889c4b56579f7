package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"strconv"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"
)

// Commands of the scripts about GPUs:
//
//	nvidia    put a server before the engine that has nvidia's runtime: what asks
//	          for GPUs as that takes it gets a harmless /dev/nvidia0, ... for each
func init() { commands["nvidia"] = cmdNvidia }

func cmdNvidia(ts *testscript.TestScript, neg bool, args []string) {
	usage(ts, neg, args, 0, "nvidia")
	socket, ok := strings.CutPrefix(ts.Getenv("DOCKER_HOST"), "unix://")
	if !ok {
		socket = "/var/run/docker.sock"
	}
	proxy := httputil.NewSingleHostReverseProxy(&url.URL{Scheme: "http", Host: "engine"})
	proxy.FlushInterval = -1
	proxy.Transport = &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", socket)
	}}
	proxy.ModifyResponse = addNvidiaRuntime
	path := ts.MkAbs("nvidia.sock")
	listener, err := net.Listen("unix", path)
	ts.Check(err)
	server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "/containers/create") {
			if err := giveGPUs(r); err != nil {
				w.Header().Set("Content-Type", "application/json")
				w.WriteHeader(http.StatusBadRequest)
				json.NewEncoder(w).Encode(map[string]string{"message": err.Error()})
				return
			}
		}
		proxy.ServeHTTP(w, r)
	})}
	go server.Serve(listener)
	ts.Defer(func() { server.Close() })
	ts.Setenv("DOCKER_HOST", "unix://"+path)
}

func addNvidiaRuntime(r *http.Response) error {
	if !strings.HasSuffix(r.Request.URL.Path, "/info") {
		return nil
	}
	var info map[string]any
	if err := json.NewDecoder(r.Body).Decode(&info); err != nil {
		return err
	}
	r.Body.Close()
	info["Runtimes"].(map[string]any)["nvidia"] = map[string]any{"path": "nvidia-container-runtime"}
	data, err := json.Marshal(info)
	r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(data)), int64(len(data))
	r.Header.Set("Content-Length", strconv.Itoa(len(data)))
	return err
}

// giveGPUs takes what asks for GPUs out of a request, as nvidia's hook would,
// and puts in their device files. What the hook would not take is an error.
func giveGPUs(r *http.Request) error {
	var create map[string]any
	if err := json.NewDecoder(r.Body).Decode(&create); err != nil {
		return err
	}
	host := create["HostConfig"].(map[string]any)
	requests, _ := host["DeviceRequests"].([]any)
	for _, request := range requests {
		asked := request.(map[string]any)
		if asked["Driver"] != "nvidia" || fmt.Sprint(asked["Capabilities"]) != "[[gpu compute utility]]" {
			return fmt.Errorf("could not select device driver %q with capabilities: %v", asked["Driver"], asked["Capabilities"])
		}
		ids, _ := asked["DeviceIDs"].([]any)
		count, _ := asked["Count"].(float64)
		if count == -1 {
			count = 1 // of this machine
		}
		for i := range int(count) {
			ids = append(ids, strconv.Itoa(i))
		}
		devices, _ := host["Devices"].([]any)
		for _, id := range ids {
			devices = append(devices, map[string]any{"PathOnHost": "/dev/null", "PathInContainer": fmt.Sprintf("/dev/nvidia%v", id), "CgroupPermissions": "rwm"})
		}
		host["Devices"] = devices
	}
	delete(host, "DeviceRequests")
	data, err := json.Marshal(create)
	r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(data)), int64(len(data))
	return err
}
