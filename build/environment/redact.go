package environment

import (
	"encoding/json"
	"net/url"
	"strconv"
	"strings"

	"crun.dev/crun/internal/lazyregexp"
	"crun.dev/crun/internal/names"
	"crun.dev/crun/internal/yamlfile"
)

// Credential is a secret that stood in an address of the file. It prints and
// encodes without the secret; Reveal alone gives it.
type Credential struct {
	// URL is the address without the secret, as Channels and Pip have it.
	URL string
	Pos yamlfile.Position

	secret string
}

// Reveal gives the address as the file has it, secret and all, for a secret
// mount of the build and nothing else.
func (c Credential) Reveal() string { return c.secret }

// String gives the position and URL.
func (c Credential) String() string { return c.Pos.String() + ": " + c.URL }

// GoString keeps %#v from printing the secret.
func (c Credential) GoString() string { return "environment.Credential{" + c.String() + "}" }

// MarshalJSON keeps the secret out of JSON.
func (c Credential) MarshalJSON() ([]byte, error) { return json.Marshal(c.String()) }

// takeCredential gives address without its secret and keeps that, if any.
func (e *Environment) takeCredential(address string, pos yamlfile.Position) string {
	clean := hide(address, "")
	if clean != address {
		e.Credentials = append(e.Credentials, Credential{URL: clean, Pos: pos, secret: address})
	}
	return clean
}

var (
	addresses = lazyregexp.New(`[A-Za-z][A-Za-z0-9+.-]*://\S+`)
	// A password with a blank is no part of any URL, but people paste them.
	blankPassword = lazyregexp.New(`(://)[^/\s:@]+:[^/@]*@`)
	// A login whose address has no scheme, or half of one; not an image with
	// its digest.
	barePassword = lazyregexp.New(`(?:://)?[^\s"'/@=,\[(]+:[^\s"'/@]+@(?:sha256:)?`)
)

// Redact replaces by *** what looks like a credential in the addresses of
// text: "https://user:password@host", the "/t/TOKEN/" of conda servers and
// queries such as "?token=...". The user of an ssh address is no secret, and
// neither is "git" of any.
func Redact(text string) string {
	if strings.ContainsAny(text, " \t\n") {
		text = blankPassword.ReplaceAllStringFunc(text, func(match string) string {
			if strings.ContainsAny(match, " \t\n") {
				return "://***@"
			}
			return match
		})
	}
	text = addresses.ReplaceAllStringFunc(text, func(address string) string {
		return hide(address, "***")
	})
	return barePassword.ReplaceAllStringFunc(text, func(match string) string {
		if strings.HasPrefix(match, "://") || strings.HasSuffix(match, "@sha256:") {
			return match
		}
		return "***@"
	})
}

// quote shows a value in a message: without secrets, and without the rest of a
// long one. The secrets go first, or half of one might stay.
func quote(value string) string {
	const most = 200
	runes := []rune(Redact(value))
	if len(runes) > most {
		runes = append(runes[:most], '.', '.', '.')
	}
	return strconv.Quote(string(runes))
}

var (
	// conda's way to give a token: https://HOST/t/TOKEN/CHANNEL. Of several, none
	// may be left, or it would be the token of what remains.
	pathToken  = lazyregexp.New(`^([^/?#]+)(?:/t/[^/?#\s"']+)+`)
	deepToken  = lazyregexp.New(`/t/` + names.CondaToken)
	queryToken = lazyregexp.New(`([?&])(` + names.SecretParameter + `=)[^&#\s"']*`)
	// What no address has and people write: the parameter behind a ";", and no
	// "@" behind the password, which then stands where a port would.
	wordToken = lazyregexp.New(`(;)(` + names.SecretParameter + `=)[^;&#\s"']*`)
	portToken = lazyregexp.New(`^([^/?#:@\s"']+):[^0-9/?#@\s"'][^/?#@\s"']*`)
)

// hide puts mask in the place of the secrets of one address, or takes them out
// with all that belongs to them where mask is "".
func hide(address, mask string) string {
	scheme, rest, ok := strings.Cut(address, "://")
	if !ok {
		return address
	}
	user, rest := cutUser(rest)
	if user == "git" {
		user = "git@" // what GitHub and GitLab show for everybody
	} else if user != "" {
		name, _, hasPassword := strings.Cut(user, ":")
		switch {
		case strings.HasSuffix(scheme, "ssh") && hasPassword && mask != "":
			user = name + ":" + mask + "@"
		case strings.HasSuffix(scheme, "ssh"):
			user = name + "@"
		case mask != "":
			user = mask + "@"
		default:
			user = ""
		}
	}
	if mask == "" {
		rest = deepToken.ReplaceAllString(pathToken.ReplaceAllString(rest, "${1}"), "")
		if queryToken.MatchString(rest) {
			rest = tidyQuery(queryToken.ReplaceAllString(rest, "${1}"))
		}
	} else {
		rest = deepToken.ReplaceAllString(pathToken.ReplaceAllString(rest, "${1}/t/"+mask), "/t/"+mask)
		rest = queryToken.ReplaceAllString(rest, "${1}${2}"+mask)
		rest = wordToken.ReplaceAllString(rest, "${1}${2}"+mask)
		if user == "" {
			rest = portToken.ReplaceAllString(rest, "${1}:"+mask)
		}
	}
	return scheme + "://" + user + rest
}

// tidyQuery takes out the separators that emptied parameters leave.
func tidyQuery(rest string) string {
	base, query, ok := strings.Cut(rest, "?")
	if !ok {
		return rest
	}
	query, fragment, hasFragment := strings.Cut(query, "#")
	query = strings.Join(strings.FieldsFunc(query, func(r rune) bool { return r == '&' || r == '?' }), "&")
	if query != "" {
		base += "?" + query
	}
	if hasFragment {
		base += "#" + fragment
	}
	return base
}

// cutUser splits "user:password@host/path". A password may hold a raw "/",
// which no URL allows but people write: it must be hidden all the same.
func cutUser(rest string) (user, after string) {
	end := strings.IndexByte(rest, '/')
	if end < 0 {
		end = len(rest)
	}
	if at := strings.LastIndexByte(rest[:end], '@'); at >= 0 {
		return rest[:at], rest[at+1:]
	}
	_, port, hasColon := strings.Cut(rest[:end], ":")
	if at := strings.LastIndexByte(rest, '@'); hasColon && at >= 0 && strings.Trim(port, "0123456789") != "" {
		return rest[:at], rest[at+1:]
	}
	return "", rest
}

// Bare gives one address without its credentials and without their places, as
// Channels and Pip have it.
func Bare(address string) string { return hide(address, "") }

// Secrets gives what is secret in an address, as it stands there and as it
// means: the password, or a user that has none, tokens in the path and in the
// query.
func Secrets(address string) []string {
	_, rest, ok := strings.Cut(address, "://")
	if !ok {
		return nil
	}
	var secrets []string
	add := func(text string) {
		if text == "" {
			return
		}
		secrets = append(secrets, text)
		if plain, err := url.PathUnescape(text); err == nil && plain != text {
			secrets = append(secrets, plain)
		}
	}
	user, rest := cutUser(rest)
	name, password, hasPassword := strings.Cut(user, ":")
	if hasPassword {
		add(password)
	} else {
		add(name)
	}
	path, query, _ := strings.Cut(rest, "?")
	parts := strings.Split(path, "/")
	for i, part := range parts[1:] {
		if parts[i] == "t" && i > 0 {
			add(part)
		}
	}
	for parameter := range strings.SplitSeq(query, "&") {
		if match := queryToken.FindStringSubmatch("?" + parameter); match != nil {
			add(strings.TrimPrefix("?"+parameter, match[1]+match[2]))
		}
	}
	return secrets
}
