package recloser_test

import (
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// What the page about building a breaker shows is, block after block, the whole
// of what Example_byHand runs.
func TestByHandShowsTheExample(t *testing.T) {
	_, example, ok := strings.Cut(read(t, "example_byhand_test.go"), "\n)\n\n")
	if !ok {
		t.Fatal("example_byhand_test.go has no imports")
	}
	if shown := strings.Join(blocks(t, "docs/how-a-breaker-works.md", "go"), "\n"); shown != example {
		t.Errorf("docs/how-a-breaker-works.md shows\n%s\nwant\n%s", shown, example)
	}
}

// What a guide shows is, block after block, what is between the marks of examples.
func TestGuidesShowExamples(t *testing.T) {
	for document, example := range map[string]string{
		"docs/guides/choosing-open-times.md": "example_recoveries_test.go",
		"docs/guides/migrating.md":           "example_migrating_test.go",
	} {
		var want []string
		for i, part := range regexp.MustCompile(`\t// guide (?:begins|ends)\n`).Split(read(t, example), -1) {
			if i%2 == 1 {
				want = append(want, regexp.MustCompile(`(?m)^\t`).ReplaceAllString(part, ""))
			}
		}
		shown := blocks(t, document, "go")
		for i, block := range want {
			if !slices.Contains(shown, block) {
				t.Errorf("%s does not show block %d of %s:\n%s", document, i+1, example, block)
			}
		}
		if len(want) == 0 {
			t.Errorf("%s has lost its marks", example)
		}
	}
}

// A page that points to a case points to the part of the table where it is.
func TestDocumentsNameCasesThatAreThere(t *testing.T) {
	section := map[string]string{}
	under := ""
	for line := range strings.Lines(read(t, "docs/CASES.md")) {
		if m := regexp.MustCompile(`^## (.*)\n`).FindStringSubmatch(line); m != nil {
			under = strings.ReplaceAll(strings.ToLower(m[1]), " ", "-")
		} else if m := regexp.MustCompile(`^\| ([CG]\d\d) \|`).FindStringSubmatch(line); m != nil {
			section[m[1]] = under
		}
	}
	named := 0
	for _, document := range documents(t) {
		for _, m := range regexp.MustCompile(`\[([CG]\d\d)\]\([^)#]*CASES\.md#([^)]*)\)`).FindAllStringSubmatch(read(t, document), -1) {
			named++
			if section[m[1]] != m[2] {
				t.Errorf("%s: %s is not under %s but under %q", document, m[1], m[2], section[m[1]])
			}
		}
	}
	if named == 0 {
		t.Error("no case is named at all")
	}
}

// What the guides link to is there.
func TestGuidesLinkToWhatIsThere(t *testing.T) {
	linked := 0
	for _, document := range documents(t) {
		if filepath.Dir(document) == "docs" {
			continue // of TestDocumentsNameFilesThatAreThere
		}
		text := regexp.MustCompile("(?ms)^```.*?^```$").ReplaceAllString(read(t, document), "")
		linked += checkLinks(t, document, text)
	}
	if linked == 0 {
		t.Error("nothing is linked at all")
	}
}

func documents(t *testing.T) []string {
	t.Helper()
	var all []string
	for _, pattern := range []string{"docs/*.md", "docs/guides/*.md"} {
		found, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, found...)
	}
	return all
}

// mustShow wants a document to have exactly this table: figures that are worked
// out cannot go stale.
func mustShow(t *testing.T, document string, rows [][]string) {
	t.Helper()
	var table strings.Builder
	for i, row := range rows {
		fmt.Fprintf(&table, "| %s |\n", strings.Join(row, " | "))
		if i == 0 {
			table.WriteString("|" + strings.Repeat("---|", len(row)) + "\n")
		}
	}
	if !strings.Contains(read(t, document), "\n"+table.String()+"\n") {
		t.Errorf("%s does not have this table:\n%s", document, table.String())
	}
}
