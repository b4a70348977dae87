package scenario

import (
	"bytes"
	"cmp"
	"slices"
	"strings"
)

// Update returns the content of the scenario's file with what was seen in place
// of what was expected, and how many values that changed. Only values that must
// be exactly so are written, and those that are a question mark. Everything else
// stays as it is, also the column in which a comment begins, if there is room.
func (s *Scenario) Update(content []byte, result *Result) (updated []byte, changed int) {
	lines := bytes.Split(content, []byte{'\n'})
	bom := []byte("\ufeff")
	for _, f := range result.Failures {
		var edits []Mismatch
		for _, m := range f.Mismatches {
			if m.replace != nil {
				edits = append(edits, m)
			}
		}
		slices.SortFunc(edits, func(a, b Mismatch) int { return cmp.Compare(b.replace.start, a.replace.start) })
		i := f.Line - 1
		head := 0
		if i == 0 && bytes.HasPrefix(lines[0], bom) {
			head = len(bom)
		}
		line := string(lines[i][head:])
		for _, m := range edits {
			line = replace(line, *m.replace, m.Seen)
			changed++
		}
		lines[i] = append(lines[i][:head:head], line...)
	}
	return bytes.Join(lines, []byte{'\n'}), changed
}

// replace puts other in place of a token, and moves a comment behind it back to
// where it was.
func replace(line string, t token, other string) string {
	before, after := line[:t.start]+other, line[t.end:]
	tokens, _ := lex(line)
	comment := tokens[len(tokens)-1].start
	if comment >= len(line) {
		return before + after
	}
	rest := line[t.end:comment]
	text := strings.TrimRight(rest, " \t")
	if strings.Contains(rest[len(text):], "\t") {
		return before + after
	}
	gap := comment - len(before) - len(text)
	return before + text + strings.Repeat(" ", max(1, gap)) + line[comment:]
}
