package main

import (
	"net"
	"os"
	"path/filepath"
	"testing"
)

func TestListenTakesAnotherPortWhenTheirsIsTaken(t *testing.T) {
	first, err := listen("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer first.Close()
	second, err := listen(first.Addr().String())
	if err != nil {
		t.Fatalf("listening beside %s: %v", first.Addr(), err)
	}
	defer second.Close()
	got, want := second.Addr().(*net.TCPAddr), first.Addr().(*net.TCPAddr)
	if !got.IP.Equal(want.IP) || got.Port == want.Port {
		t.Errorf("second listener is at %s, first at %s", got, want)
	}
}

func TestServeRefusesWhatIsNoFolder(t *testing.T) {
	ready := filepath.Join(t.TempDir(), "url")
	if err := serve("main.go", "127.0.0.1:0", ready); err == nil {
		t.Error("serving a file as a folder gave no error")
	}
	if _, err := os.Stat(ready); err == nil {
		t.Error("the URL was written though nothing is served")
	}
}
