// Command serve serves a folder of static files, a conda channel, until it is told to stop.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log"
	"net"
	"net/http"
	"os"
	"os/signal"
	"syscall"
	"time"
)

func main() {
	log.SetFlags(log.Ltime)
	dir := flag.String("dir", ".", "`folder` to serve")
	addr := flag.String("addr", "127.0.0.1:0", "`host:port` to listen on; where the port is taken, any free one of that host")
	ready := flag.String("ready", "", "`file` to write the URL to once it answers")
	flag.Parse()
	if err := serve(*dir, *addr, *ready); err != nil {
		log.Fatalf("serve: %v", err)
	}
}

func serve(dir, addr, ready string) error {
	if info, err := os.Stat(dir); err != nil {
		return err
	} else if !info.IsDir() {
		return fmt.Errorf("%s is no folder", dir)
	}
	listener, err := listen(addr)
	if err != nil {
		return err
	}
	url := "http://" + listener.Addr().String()
	server := &http.Server{Handler: http.FileServer(http.Dir(dir)), ReadHeaderTimeout: 10 * time.Second}
	stop, cancel := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer cancel()
	go func() {
		<-stop.Done()
		server.Close()
	}()
	// The listener queues connections from here on, so the URL is good before Serve runs.
	if ready != "" {
		if err := writeWhole(ready, url+"\n"); err != nil {
			return err
		}
	}
	log.Printf("serving %s at %s", dir, url)
	if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

func listen(addr string) (net.Listener, error) {
	listener, err := net.Listen("tcp", addr)
	if !errors.Is(err, syscall.EADDRINUSE) {
		return listener, err
	}
	host, _, splitErr := net.SplitHostPort(addr)
	if splitErr != nil {
		return nil, splitErr
	}
	log.Printf("%s is taken, using a free port", addr)
	return net.Listen("tcp", net.JoinHostPort(host, "0"))
}

// writeWhole makes the file appear with all of its content at once: others wait for it to be there.
func writeWhole(name, content string) error {
	if err := os.WriteFile(name+".tmp", []byte(content), 0o644); err != nil {
		return err
	}
	return os.Rename(name+".tmp", name)
}
