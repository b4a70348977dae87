package scenario

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

const guide = "../docs/SCENARIOS.md"

func readGuide(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile(guide)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// rowsOf returns the cells of the tables below a heading.
func rowsOf(t *testing.T, heading string) (rows [][]string) {
	t.Helper()
	_, section, ok := strings.Cut(readGuide(t), "\n## "+heading+"\n")
	if !ok {
		t.Fatalf("%s has no section %s", guide, heading)
	}
	section, _, _ = strings.Cut(section, "\n## ")
	for line := range strings.Lines(section) {
		if strings.HasPrefix(line, "| `") || strings.HasPrefix(line, "| a") || strings.HasPrefix(line, "| in") || strings.HasPrefix(line, "| of") || strings.HasPrefix(line, "| s") {
			cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), "|")
			for i := range cells {
				cells[i] = strings.TrimSpace(cells[i])
			}
			rows = append(rows, cells)
		}
	}
	return rows
}

var code = regexp.MustCompile("`([^`]+)`")

func codesIn(cell string) (codes []string) {
	for _, m := range code.FindAllStringSubmatch(cell, -1) {
		codes = append(codes, m[1])
	}
	return codes
}

// The scenarios of the guide are good.
func TestGuideScenarios(t *testing.T) {
	n := 0
	for _, m := range regexp.MustCompile("(?s)```scenario\n(.*?)```").FindAllStringSubmatch(readGuide(t), -1) {
		n++
		mustBeGood(t, m[1])
	}
	if n == 0 {
		t.Error("there are none")
	}
}

// Every example of the guide can be read, and what it is an example of is known
// to no other name than the guide's.
func TestGuideExamples(t *testing.T) {
	const setup = "0s call t1 -> hang\n   expect closed\n"
	n := 0
	for heading, before := range map[string]string{"What happens": "   ", "What is expected": "   expect "} {
		for _, cells := range rowsOf(t, heading) {
			if cells[0] == "act" || cells[0] == "expectation" || len(cells) < 3 {
				continue
			}
			for _, example := range codesIn(cells[1]) {
				n++
				mustParse(t, setup+before+example+"\n")
			}
		}
	}
	if n < 40 {
		t.Errorf("found %d examples: the pattern is wrong", n)
	}
}

// The guide names every word that there is.
func TestGuideIsComplete(t *testing.T) {
	text := readGuide(t)
	var words []string
	for _, s := range settingsOf(&settings{}) {
		words = append(words, s.key)
	}
	words = slices.Concat(words, acts, verdicts, results, others, callWords)
	for c := range counters {
		words = append(words, c)
	}
	for k := range eventKeys {
		words = append(words, k)
	}
	for _, w := range words {
		if !regexp.MustCompile("[`\"]" + regexp.QuoteMeta(w) + "\\b").MatchString(text) {
			t.Errorf("%s does not name %q", guide, w)
		}
	}
}
