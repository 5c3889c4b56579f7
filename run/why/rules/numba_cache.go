package rules

import (
	"crun.dev/crun/internal/lazyregexp"
	"crun.dev/crun/run/why/evidence"
)

var numbaWords = lazyregexp.New(`.*cannot cache function .*no locator available.*`)

var numbaCache = evidence.Rule{
	Code:  "numba-cache",
	Title: "numba has no place for its cache",
	Mechanism: `numba keeps compiled functions beside the source or below HOME; a user who may write neither gets this error at the import.
Source: librosa issue 1156.`,
	Find: words(numbaWords, func(*evidence.Case, []string) (cause, fix evidence.Text) {
		return evidence.Say("numba has no folder to write its cache to", "numba 没有可写的缓存目录"),
			evidence.Say("-e NUMBA_CACHE_DIR=/tmp/numba", "-e NUMBA_CACHE_DIR=/tmp/numba")
	}),
}
