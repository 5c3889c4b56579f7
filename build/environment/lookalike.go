package environment

import (
	"fmt"
	"strings"
	"unicode"

	"crun.dev/crun/internal/yamlfile"
)

// lookalikes are characters of word processors and of Chinese, Japanese and
// Korean keyboards, with the one that is meant.
var lookalikes = map[rune]string{
	'“': `"`, '”': `"`, '„': `"`, '«': `"`, '»': `"`, '‘': "'", '’': "'", '‚': "'", '′': "'", '″': `"`, '`': "'",
	'：': ":", '﹕': ":", '，': ",", '、': ",", '；': ";", '＝': "=", '＞': ">", '＜': "<", '≥': ">=", '≤': "<=", '≠': "!=", '！': "!",
	'～': "~", '∼': "~", '˜': "~", '（': "(", '）': ")", '［': "[", '］': "]", '【': "[", '】': "]", '．': ".", '。': ".", '＿': "_", '＊': "*", '＋': "+", '／': "/", '＠': "@", '＃': "#",
	'‐': "-", '‑': "-", '‒': "-", '–': "-", '—': "-", '―': "-", '−': "-", '－': "-",
}

// meant gives the character that r only looks like; "" for one that cannot be
// seen. ok is false for any other.
func meant(r rune) (string, bool) {
	if r < 0x80 && r != '`' {
		return "", false
	}
	if ascii, ok := lookalikes[r]; ok {
		return ascii, true
	}
	switch {
	case r >= '０' && r <= '９':
		return string(r - '０' + '0'), true
	case r >= 'Ａ' && r <= 'Ｚ', r >= 'ａ' && r <= 'ｚ':
		return string(r - 'Ａ' + 'A'), true
	case unicode.IsSpace(r):
		return " ", true
	case r == 0xAD, r >= 0x200B && r <= 0x200F, r >= 0x202A && r <= 0x202E, r >= 0x2060 && r <= 0x2064, r == 0xFEFF:
		return "", true
	}
	return "", false
}

// lookalike complains about the first character of an item that only looks
// like another, or cannot be seen. Its fix mends all of them.
func (p *parser) lookalike(text string, at yamlfile.Position) bool {
	for _, r := range text {
		ascii, ok := meant(r)
		if !ok || r == '`' {
			continue
		}
		plain := plainText(text)
		var err *yamlfile.Error
		switch ascii {
		case "":
			err = p.errorf(at, "%s holds the character %U, which cannot be seen; write %q", quote(text), r, plain)
		case " ":
			err = p.errorf(at, "%s holds the character %U, which only looks like a space; write %q", quote(text), r, plain)
		default:
			err = p.errorf(at, "%s holds %q (%U), which only looks like %s; write %q", quote(text), r, r, ascii, plain)
		}
		if strings.HasPrefix(p.rest(at), text) {
			err.Fix = fix(true, []yamlfile.Edit{yamlfile.Replace(at, text, p.asWritten(plain))})
		}
		return true
	}
	return false
}

// asWritten is text as the file would have it: in quotes where YAML needs them.
func (p *parser) asWritten(text string) string {
	if p.kind == kindRequirements {
		return text
	}
	return asItem(text)
}

// plainText is the text with what was meant, without quotes around it.
func plainText(text string) string {
	var b strings.Builder
	for _, r := range text {
		if ascii, ok := meant(r); ok && r != '`' {
			b.WriteString(ascii)
		} else {
			b.WriteRune(r)
		}
	}
	return strings.TrimSpace(strings.Trim(strings.TrimSpace(b.String()), `"'`))
}

// asItem is text as a value of YAML, in quotes where it needs them.
func asItem(text string) string {
	if plainValue.MatchString(text) && !strings.HasSuffix(text, ":") {
		return text
	}
	return fmt.Sprintf("%q", text)
}
