package toolfiles

import "strings"

// netrc reads $NETRC, or ~/.netrc.
func (r *reader) netrc() {
	text, from := "", ""
	if given, ok := r.Given[Netrc]; ok {
		text, from = string(given), "--secret id="+Netrc
	} else {
		from = r.Getenv("NETRC")
		if from == "" {
			from = r.home(".netrc")
		}
		var ok bool
		if text, ok = r.file(from); !ok {
			return
		}
	}
	r.files.Logins = ParseNetrc(text)
	if len(r.files.Logins) > 0 {
		r.files.LoginsFrom = from
	}
}

// ParseNetrc gives the entries that have a machine, first one first.
func ParseNetrc(text string) []Login {
	var logins []Login
	var current *Login
	words := netrcWords(text)
	next := func() string {
		if len(words) == 0 {
			return ""
		}
		word := words[0]
		words = words[1:]
		return word
	}
	for len(words) > 0 {
		switch next() {
		case "machine":
			logins = append(logins, Login{Machine: strings.ToLower(next())})
			current = &logins[len(logins)-1]
		case "default":
			current = &Login{}
		case "login", "user":
			if word := next(); current != nil {
				current.Login = word
			}
		case "password":
			if word := next(); current != nil {
				current.Password = word
			}
		case "account":
			next()
		}
	}
	return logins
}

// netrcWords splits a .netrc into words: quotes hold blanks, "#" at the start
// of a word begins a comment, unless it is a value, and a macro goes on to an
// empty line.
func netrcWords(text string) []string {
	var words []string
	macro := false
	for line := range strings.Lines(text) {
		if macro {
			macro = strings.TrimSpace(line) != ""
			continue
		}
		rest := strings.TrimSpace(line)
		for rest != "" {
			word, isValue := "", false
			if len(words) > 0 {
				switch words[len(words)-1] {
				case "login", "user", "password", "machine", "account":
					isValue = len(words) < 2 || !netrcKey(words[len(words)-2])
				}
			}
			switch {
			case rest[0] == '#' && !isValue:
				rest = ""
				continue
			case rest[0] == '"':
				var b strings.Builder
				i := 1
				for ; i < len(rest) && rest[i] != '"'; i++ {
					if rest[i] == '\\' && i+1 < len(rest) {
						i++
					}
					b.WriteByte(rest[i])
				}
				word, rest = b.String(), rest[min(i+1, len(rest)):]
			default:
				end := strings.IndexAny(rest, " \t")
				if end < 0 {
					end = len(rest)
				}
				word, rest = rest[:end], rest[end:]
			}
			rest = strings.TrimLeft(rest, " \t")
			if word == "macdef" && !isValue {
				macro, rest = true, ""
				continue
			}
			words = append(words, word)
		}
	}
	return words
}

func netrcKey(word string) bool {
	switch word {
	case "login", "user", "password", "machine", "account":
		return true
	}
	return false
}
