package build

import (
	"context"
	"fmt"
	"strings"

	"crun.dev/crun/build/buildkit"
	"crun.dev/crun/build/lock"
	"crun.dev/crun/dockerfiles"
)

// baseFacts is what a build has to know of its base image
// (dockerfiles/installer/base.py).
type baseFacts struct {
	// Conda tells of an /opt/conda, Apt of apt-get and dpkg, Compiler of gcc,
	// g++ and the C library's headers.
	Conda    bool `json:"conda"`
	Apt      bool `json:"apt"`
	Compiler bool `json:"compiler"`
	// NVCC tells of CUDA's compiler in /usr/local/cuda.
	NVCC bool `json:"nvcc"`
}

// lookAtBase looks at the base image of l and puts what a registry says of it
// into l. The error is about a base that no image can be made of; nothing has
// been downloaded for one by then but the base itself.
func (b *builder) lookAtBase(ctx context.Context, l *lock.Lock) (baseFacts, error) {
	p := b.project
	context, err := dockerfiles.RenderBase(p.solveInput(from(l.Base), encode(baseRequest{Platform: p.Options.Platform})))
	if err != nil {
		return baseFacts{}, err
	}
	resolve := ""
	if l.Base.Digest == "" && l.Base.ImageID == "" {
		resolve = l.Base.Reference
	}
	answer, s, err := b.choose(ctx, "looking at the base image", context, resolve)
	if err != nil {
		return baseFacts{}, err
	}
	if resolve != "" {
		l.Base.User = notRoot(answer.User)
		if answer.Digest != "" {
			l.Base.Digest = repository(l.Base.Reference) + "@" + answer.Digest
		}
	}
	if len(p.Options.Apt) > 0 && !s.Base.Apt {
		return s.Base, fmt.Errorf("%s: build.apt names packages, and the base image %s has no apt to install them with\n"+
			"name a base image of Debian or Ubuntu, or take the packages from conda", p.Options.AptPlace, p.Options.Base)
	}
	return s.Base, nil
}

// notRoot gives a user that is not root, or "".
func notRoot(user string) string {
	if name, _, _ := strings.Cut(user, ":"); name == "0" || name == "root" {
		return ""
	}
	return user
}

// checkPlatform refuses an image of the engine that is another processor's.
func (p *Project) checkPlatform(image buildkit.Image) error {
	if want := platforms[p.Options.Platform]; image.Platform != "" && image.Platform != want && image.Platform != "/" {
		return fmt.Errorf("%s: the base image is for %s, and the image is built for %s; fetch the base image for that (docker pull --platform %s %s), or name another one",
			p.Options.Base, image.Platform, want, want, p.Options.Base)
	}
	return nil
}

// DockerPlatform is Docker's name of a platform that a lock has: linux/amd64 of linux-64.
func DockerPlatform(platform string) string { return platforms[platform] }

// platforms are Docker's names of conda's platforms.
var platforms = map[string]string{"linux-64": "linux/amd64", "linux-aarch64": "linux/arm64"}
