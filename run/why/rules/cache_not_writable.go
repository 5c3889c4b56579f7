package rules

import (
	"strings"

	"crun.dev/crun/internal/lazyregexp"
	"crun.dev/crun/run/why/evidence"
)

var (
	deniedWords = lazyregexp.New(`.*(?:PermissionError|Permission denied|Read-only file system).*`)
	cachePath   = lazyregexp.New(`/[^'":,]*(?:\.cache|\.config|\.local|\.triton|\.keras|\.torch|\.nv|huggingface|matplotlib|torch_extensions|\.locks)\b[^'":,]*`)
	homePath    = lazyregexp.New(`/(?:home/[^/'":,\s]+|root|nonexistent)/?(?:['":,]|$)`)
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
			path = strings.Trim(homePath.FindString(m[0]), `'":,`)
		}
		if path == "" {
			return nil
		}
		return &evidence.Finding{
			Sure: evidence.Likely, Signs: []evidence.Sign{said(m[0])},
			Cause: evidence.Say("%s cannot be written by the run's user", "运行用户无法写入 %s", path),
			Fix:   evidence.Say("ls -ld on it shows the owner; give it back (chown -R), or --home mine for a home of the run's own", "用 ls -ld 查看属主；用 chown -R 改回属主，或 --home mine 使用独立的 home"),
		}
	},
}
