package build

import (
	"context"
	"fmt"
	"strings"

	"crun.dev/crun/build/lock"
)

// What a lock's packages take, in bytes for each packed byte. Measured over
// PyTorch's packages: conda's take 3.4 times as much in a layer, wheels 1.7
// times; the download caches hold as much once more.
const (
	condaUnpacked = 3.4
	pipUnpacked   = 1.7
)

// roomMargin is left free beside what packages take, in bytes: the engine's own
// data, logs and the layers below.
const roomMargin = 1 << 30

// pipSizes are the sizes of large wheels in MB, where the lock has none: those
// that torch 2.8.0 takes from PyPI, rounded.
var pipSizes = map[string]int64{
	"nvidia-cublas": 590, "nvidia-cudnn": 700, "nvidia-cufft": 190, "nvidia-cusolver": 260, "nvidia-cusparse": 280, "nvidia-cusparselt": 280,
	"nvidia-nccl": 320, "nvidia-cuda-nvrtc": 90, "nvidia-curand": 60, "nvidia-nvjitlink": 40, "triton": 155,
}

// torchSizes are those of torch itself, with CUDA and without.
const (
	torchCUDA = 880
	torchCPU  = 180
)

// packedPip is what pip's packages weigh, about, in bytes.
func packedPip(l *lock.Lock) int64 {
	var mb int64
	cuda := false
	for _, d := range l.Pip {
		cuda = cuda || strings.HasPrefix(d.Name, "nvidia-")
	}
	for _, d := range l.Pip {
		switch {
		case d.Name == "torch" && cuda:
			mb += torchCUDA
		case d.Name == "torch":
			mb += torchCPU
		default:
			// nvidia-cublas-cu12: CUDA's version is part of the name.
			name := d.Name
			if i := strings.LastIndex(name, "-cu1"); i > 0 {
				name = name[:i]
			}
			mb += pipSizes[name]
		}
	}
	return mb * 1e6
}

// needed is what a first build of the lock takes on the engine's disk, about,
// in bytes: layers and download caches.
func needed(l *lock.Lock) int64 {
	var conda int64
	for _, packages := range [][]lock.Package{l.Miniconda, l.Conda} {
		for _, p := range packages {
			conda += p.Size
		}
	}
	return int64(2*condaUnpacked*float64(conda)+2*pipUnpacked*float64(packedPip(l))) + roomMargin
}

// NoRoomError says that the engine's disk has too little space for an image.
type NoRoomError struct {
	// Path is the engine's folder, Free and Needed are bytes.
	Path         string
	Free, Needed int64
}

func (e *NoRoomError) Error() string {
	return fmt.Sprintf("the disk that holds the engine's data (%s) has %s free, and the image with what is kept for the next build takes about %s: "+
		"crun prune frees what nobody needs (crun prune --dry-run shows it), docker system df what else there is; --skip-check disk builds all the same",
		e.Path, gigabytes(e.Free), gigabytes(e.Needed))
}

func gigabytes(n int64) string { return fmt.Sprintf("%.1f GB", float64(n)/1e9) }

// room refuses a build that the engine's disk has no space for, before minutes
// are spent. Where it has an image of the environment most of the layers are
// there: then only the margin has to be.
func (b *builder) room(ctx context.Context, l *lock.Lock) error {
	if b.request.Room == nil {
		return nil
	}
	room, err := b.request.Room(ctx)
	if err != nil || !room.Known {
		return err
	}
	need := needed(l)
	if found, err := b.images.ImagesByLabel(ctx, LabelEnv, b.project.Environment.Name); err != nil {
		return err
	} else if len(found) > 0 {
		need = roomMargin
	}
	if room.Free < need {
		return &NoRoomError{Path: room.Path, Free: room.Free, Needed: need}
	}
	return nil
}
