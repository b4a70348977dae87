package message

import (
	"regexp"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/recloser-go/recloser/gateway/internal/plain"
)

// maxText is how many characters of a text by others a message holds, as
// UTF-16 counts them: an emoji is two. Cards have a size limit, and readers a
// short patience.
const maxText = 200

// Tidy makes foreign text fit for one line, cut at 200 characters.
func Tidy(s string) string {
	s = plain.Line(s)
	length, cut := 0, 0
	for i, r := range s {
		if length += utf16.RuneLen(r); length < maxText {
			cut = i + utf8.RuneLen(r)
		}
	}
	if length > maxText {
		return s[:cut] + "…"
	}
	return s
}

var address = regexp.MustCompile(`([a-zA-Z][a-zA-Z0-9+.-]*://)(?:[^\s/"'@]*@)?([^\s/?#"'<>]*)[^\s"'<>]*`)

// withoutPaths reduces URLs in an error to scheme and host: the rest may hold
// guests' names and tokens, and a channel is read by many.
func withoutPaths(s string) string { return address.ReplaceAllString(s, "$1$2") }

// percent rounds down: it must not say 100 % while something was good.
func percent(part, whole uint64) uint64 {
	if whole == 0 {
		return 0
	}
	return 100 * part / whole
}

func plural(n uint64, one, many string) string {
	if n == 1 {
		return one
	}
	return many
}
