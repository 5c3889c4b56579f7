package rules

import (
	"strings"

	"crun.dev/crun/internal/lazyregexp"
	"crun.dev/crun/run/why/evidence"
)

var passwdWords = lazyregexp.New(`.*(?:getpwuid\(\): uid not found: (\d+)|I have no name!|No user exists for uid|cannot find name for user ID).*`)

var noPasswd = evidence.Rule{
	Code:  "no-passwd",
	Title: "the user has no line in /etc/passwd of the container",
	Mechanism: `A container that runs as a uid which its image does not know has no name for it. getpass.getuser() and torch from 2.8 ask.
Source: pytorch issue 140765.`,
	Find: words("no-passwd", passwdWords, func(*evidence.Case, []string) (cause, fix evidence.Text) {
		return evidence.Say("the run's user has no line in /etc/passwd", "运行用户在 /etc/passwd 中没有条目"),
			evidence.Say("crun run adds one; with docker run: -e USER=me -e LOGNAME=me -e TORCHINDUCTOR_CACHE_DIR=/tmp/inductor", "crun run 会自动添加；docker run 则用 -e USER=me -e LOGNAME=me -e TORCHINDUCTOR_CACHE_DIR=/tmp/inductor")
	}),
}

var (
	deniedWords = lazyregexp.New(`.*(?:PermissionError|Permission denied|Read-only file system).*`)
	cachePath   = lazyregexp.New(`/[^'":,]*(?:\.cache|\.config|\.local|\.triton|\.keras|\.torch|\.nv|huggingface|matplotlib|torch_extensions|home)\b[^'":,]*`)
)

var cacheHome = evidence.Rule{
	Code:  "cache-not-writable",
	Title: "a cache or the home folder cannot be written",
	Mechanism: `Libraries keep caches below HOME. A uid without a home gets "/", which nobody else may write; a cache that root filled earlier is
root's; a host's folder keeps its owner inside.
Source: docker-whisperX issue 27; kohya_ss issue 1143.`,
	Find: func(c *evidence.Case) *evidence.Finding {
		m := c.Raised(deniedWords)
		if m == nil {
			return nil
		}
		path := strings.TrimSpace(cachePath.FindString(m[0]))
		if path == "" {
			return nil
		}
		return &evidence.Finding{
			Code: "cache-not-writable", Sure: evidence.Likely, Signs: []evidence.Sign{said(m[0])},
			Cause: evidence.Say("%s cannot be written by the run's user", "运行用户无法写入 %s", path),
			Fix:   evidence.Say("ls -ld on it shows the owner; give it back (chown -R), or --home mine for a home of the run's own", "用 ls -ld 查看属主；chown -R 归还，或 --home mine 使用独立的 home"),
		}
	},
}

var numbaWords = lazyregexp.New(`.*cannot cache function .*no locator available.*`)

var numbaCache = evidence.Rule{
	Code:  "numba-cache",
	Title: "numba has no place for its cache",
	Mechanism: `numba keeps compiled functions beside the source or below HOME; a user who may write neither gets this error at the import.
Source: librosa issue 1156.`,
	Find: words("numba-cache", numbaWords, func(*evidence.Case, []string) (cause, fix evidence.Text) {
		return evidence.Say("numba has no folder to write its cache to", "numba 没有可写的缓存目录"),
			evidence.Say("-e NUMBA_CACHE_DIR=/tmp/numba", "-e NUMBA_CACHE_DIR=/tmp/numba")
	}),
}

var moduleWords = lazyregexp.New(`.*ModuleNotFoundError: No module named '?([\w.]+)'?.*`)

var noEnvironment = evidence.Rule{
	Code:  "module-missing",
	Title: "a package is not in the image",
	Mechanism: `The script imports a module that the image does not have: it is not in environment.yml, or the image is another than the one that
was built from it. What was installed by hand in a container is gone with it.
Source: Python, importlib.`,
	Find: words("module-missing", moduleWords, func(c *evidence.Case, m []string) (cause, fix evidence.Text) {
		name, _, _ := strings.Cut(m[1], ".")
		if c.Plan != nil && c.Plan.Image.Lock == "" {
			return evidence.Say("the image %[2]s has no module %[1]s: it was not built from an environment file", "镜像 %[2]s 中没有模块 %[1]s：它不是由环境文件构建的", name, c.Plan.Image.Ref),
				evidence.Say("leave --image out, so that the image of environment.yml is taken", "去掉 --image，使用 environment.yml 的镜像")
		}
		return evidence.Say("the image has no module %s", "镜像中没有模块 %s", name),
			evidence.Say("its package in environment.yml, then crun build; a module of your own: PYTHONPATH, or pip: [-e .]", "把对应的包写入 environment.yml 并 crun build；自己的模块用 PYTHONPATH 或 pip: [-e .]")
	}),
}
