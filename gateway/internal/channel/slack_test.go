package channel

import (
	"strings"
	"testing"
	"unicode/utf8"
)

// Whatever is told fits into sections and nothing of it is lost, however long a line is.
func TestSections(t *testing.T) {
	line := strings.Repeat("a", 1999) + "\n"
	for name, c := range map[string]struct {
		text string
		want []int // lengths
	}{
		"nothing":            {"", nil},
		"all that fits":      {strings.Repeat("a", slackText), []int{slackText}},
		"at the end of line": {line + line + "b", []int{2000, 2001}},
		"a long line":        {strings.Repeat("a", slackText+1), []int{slackText, 1}},
		"in the midst":       {line + strings.Repeat("a", slackText) + "\nb", []int{2000, slackText, 2}},
		"not within a rune":  {"a" + strings.Repeat("é", slackText/2), []int{slackText - 1, 2}},
	} {
		t.Run(name, func(t *testing.T) {
			parts := sections(c.text)
			if strings.Join(parts, "") != c.text {
				t.Error("something is lost")
			}
			if len(parts) != len(c.want) {
				t.Fatalf("%d parts, want %v", len(parts), c.want)
			}
			for i, p := range parts {
				if len(p) != c.want[i] || !utf8.ValidString(p) {
					t.Errorf("part %d has %d bytes, want %d", i, len(p), c.want[i])
				}
			}
		})
	}
}
