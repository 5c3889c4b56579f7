package environment

import (
	"strings"

	"crun.dev/crun/internal/lazyregexp"
)

var selectorToken = lazyregexp.New(`[A-Za-z0-9_-]+|[()]|\S`)

// evaluate reads a selector of conda's recipes ("win", "not osx", "linux and
// x86_64") for a platform. Words about anything but the platform (py39, cuda)
// make it no selector: ok is false, and the line counts as it stands.
func evaluate(text, platform string) (holds, ok bool) {
	s := &selector{tokens: selectorToken.FindAllString(text, -1), platform: platform}
	holds = s.or()
	return holds, !s.failed && len(s.tokens) == 0
}

type selector struct {
	tokens   []string
	platform string
	failed   bool
}

func (s *selector) next(words ...string) bool {
	for _, word := range words {
		if len(s.tokens) > 0 && s.tokens[0] == word {
			s.tokens = s.tokens[1:]
			return true
		}
	}
	return false
}

func (s *selector) or() bool {
	holds := s.and()
	for s.next("or") {
		right := s.and()
		holds = holds || right
	}
	return holds
}

func (s *selector) and() bool {
	holds := s.not()
	for s.next("and") {
		right := s.not()
		holds = holds && right
	}
	return holds
}

func (s *selector) not() bool {
	switch {
	case s.next("not"):
		return !s.not()
	case s.next("("):
		holds := s.or()
		s.failed = s.failed || !s.next(")")
		return holds
	case len(s.tokens) == 0:
		s.failed = true
		return false
	}
	word := strings.ToLower(s.tokens[0])
	s.tokens = s.tokens[1:]
	arm := strings.HasSuffix(s.platform, "-aarch64")
	switch word {
	case "linux", "unix":
		return true
	case "linux64", "linux-64", "x86", "x86_64":
		return !arm
	case "aarch64", "linux-aarch64", "arm64":
		// conda-build says aarch64 on Linux, arm64 on macOS and Windows.
		return arm && word != "arm64"
	case "win", "win32", "win64", "win-64", "windows", "osx", "osx-64", "osx-arm64", "mac", "macos", "linux32", "linux-32", "ppc64le", "s390x", "armv7l", "emscripten", "wasi", "zos", "freebsd":
		return false
	}
	s.failed = true
	return false
}
