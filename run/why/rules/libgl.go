package rules

import (
	"crun.dev/crun/internal/lazyregexp"
	"crun.dev/crun/run/why/evidence"
)

var libGLWords = lazyregexp.New(`.*(lib(?:GL|gthread-2\.0|glib-2\.0|SM|Xext|Xrender|EGL)\.so(?:\.\d+)*): cannot open shared object file.*`)

var libGL = evidence.Rule{
	Code:  "libgl",
	Title: "a library of the system is missing that OpenCV and others load",
	Mechanism: `opencv-python is built for desktops: it loads libGL and libglib, which slim images do not have. The headless build does not.
Source: opencv-python's README, "Frequently Asked Questions".`,
	Find: words("libgl", libGLWords, func(c *evidence.Case, m []string) (cause, fix evidence.Text) {
		return evidence.Say("the image has no %s", "镜像中缺少 %s", m[1]),
			evidence.Say("opencv-python-headless instead of opencv-python, or build.apt: [libgl1, libglib2.0-0] in profiles.yaml, then crun build", "用 opencv-python-headless 代替 opencv-python，或在 profiles.yaml 中写 build.apt: [libgl1, libglib2.0-0]，再 crun build")
	}),
}
