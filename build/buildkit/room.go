package buildkit

import (
	"context"

	"golang.org/x/sys/unix"
)

// Room is the space on the disk that holds the engine's data.
type Room struct {
	// Known is false where nobody here can tell: the engine is on another
	// machine, or keeps its data out of sight.
	Known bool
	Path  string
	// Free is what is free for the engine, in bytes.
	Free int64
}

// Room asks how much space the engine has.
func (e *Engine) Room(ctx context.Context) (Room, error) {
	if e.Remote() {
		return Room{}, nil
	}
	info, err := e.client.Info(ctx)
	if err != nil {
		return Room{}, e.failure(ctx, "asking the engine where its data lies", err)
	}
	return roomAt(info.DockerRootDir), nil
}

func roomAt(path string) Room {
	var disk unix.Statfs_t
	if path == "" || unix.Statfs(path, &disk) != nil {
		return Room{}
	}
	// Bavail leaves out what is root's alone: engines run as root, and yet a disk
	// that ordinary users find full is none to build on.
	return Room{Known: true, Path: path, Free: int64(disk.Bavail) * disk.Bsize}
}
