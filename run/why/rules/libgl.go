package rules

import (
	"strings"

	"crun.dev/crun/internal/lazyregexp"
	"crun.dev/crun/run/why/evidence"
)

var libGLWords = lazyregexp.New(`(?:.*[\s'"/:]|^)(lib(?:GL|GLU|OpenGL|OSMesa|gthread-2\.0|glib-2\.0|SM|ICE|X11|Xext|Xrender|Xi|xcb|EGL|GLESv2|sndfile|gomp|sox|magic|geos_c)(?:-[\w.]+)?\.so(?:\.\d+)*): cannot open shared object file.*`)

var libGL = evidence.Rule{
	Code:  "libgl",
	Title: "a library of the system is missing that OpenCV and others load",
	Mechanism: `opencv-python is built for desktops: it loads libGL and libglib, which slim images do not have. The headless build does not.
Source: opencv-python's README, "Frequently Asked Questions".`,
	Find: words(libGLWords, func(c *evidence.Case, m []string) (cause, fix evidence.Text) {
		if pkg := debian[strings.TrimRight(m[1], "0123456789.")]; pkg != "" {
			return evidence.Say("the image has no %s", "镜像中缺少 %s", m[1]),
				evidence.Say("build.apt: [%s] in profiles.yaml, then crun build", "在 profiles.yaml 中写 build.apt: [%s]，再 crun build", pkg)
		}
		return evidence.Say("the image has no %s", "镜像中缺少 %s", m[1]),
			evidence.Say("opencv-python-headless instead of opencv-python, or build.apt: [libgl1, libglib2.0-0] in profiles.yaml, then crun build", "用 opencv-python-headless 代替 opencv-python，或在 profiles.yaml 中写 build.apt: [libgl1, libglib2.0-0]，再 crun build")
	}),
}

// debian names packages of Debian for libraries that OpenCV does not load.
var debian = map[string]string{
	"libsndfile.so": "libsndfile1", "libgomp.so": "libgomp1", "libsox.so": "libsox-dev", "libmagic.so": "libmagic1",
	"libgeos_c.so": "libgeos-c1v5", "libOSMesa.so": "libosmesa6", "libGLU.so": "libglu1-mesa", "libEGL.so": "libegl1",
}
