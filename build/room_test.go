package build

import (
	"context"
	"errors"
	"strings"
	"testing"

	"crun.dev/crun/build/buildkit"
)

func TestRoom(t *testing.T) {
	const gb = 1000 * 1000 * 1000
	large := goodSolution()
	large.Conda[2].Size = 1 * gb
	torch := goodSolution()
	torch.Conda = torch.Conda[:2]
	torch.Pip = []distribution{{Name: "torch", Version: "2.8.0", Index: pypi}, {Name: "nvidia-cudnn-cu12", Version: "9", Index: pypi}}
	for name, test := range map[string]struct {
		answer solution
		free   int64
		known  bool
		again  bool // an image of the environment is there
		want   string
	}{
		"enough":                 {large, 8 * gb, true, false, ""},
		"too little":             {large, 7 * gb, true, false, "(/data) has 7.0 GB free, and the image with what is kept for the next build takes about 7.9 GB: crun prune frees"},
		"too little, unknown":    {large, 0, false, false, ""},
		"the layers are there":   {large, 2 * gb, true, true, ""},
		"not even for the edit":  {large, gb / 2, true, true, "has 0.5 GB free"},
		"too little for a wheel": {torch, 3 * gb, true, false, "takes about 6.4 GB"},
		"a small one":            {goodSolution(), 2 * gb, true, false, ""},
	} {
		e := newEngine(t)
		e.answer = test.answer
		p := open(t, write(t, environmentFile))
		if test.again {
			e.images = append(e.images, buildkit.Image{ID: "sha256:" + strings.Repeat("9", 64), Labels: map[string]string{LabelEnv: p.Environment.Name}})
		}
		_, err := Build(t.Context(), solver{e}, e, Request{Project: p, Room: func(context.Context) (buildkit.Room, error) {
			return buildkit.Room{Known: test.known, Path: "/data", Free: test.free}, nil
		}})
		var none *NoRoomError
		switch {
		case test.want == "" && err != nil:
			t.Errorf("%s: %v", name, err)
		case test.want != "" && (!errors.As(err, &none) || !strings.Contains(err.Error(), test.want)):
			t.Errorf("%s: %v, want %q", name, err, test.want)
		case test.want != "" && len(e.builds) > 0:
			t.Errorf("%s: it is built all the same", name)
		}
	}
}
