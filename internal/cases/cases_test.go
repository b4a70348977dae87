package cases

import (
	"flag"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write docs/CASES.md anew")

func TestEveryCaseHasATest(t *testing.T) {
	found := scan(t)
	known := map[string]bool{}
	for _, c := range chapters {
		for _, s := range c.cases {
			if known[s.id] {
				t.Errorf("%s is listed twice", s.id)
			}
			known[s.id] = true
			if strings.HasPrefix(s.id, "C") && len(found[s.id]) == 0 {
				t.Errorf("%s has no test (%s): name it in a test's name or comment, or write scenario/testdata/%s-....scenario", s.id, s.sentence, strings.ToLower(s.id))
			}
		}
	}
	for id, places := range found {
		if !known[id] {
			t.Errorf("%s of %s is not in the list: add to list_test.go what it shows", id, places[0].file)
		}
	}
}

func TestTableIsUpToDate(t *testing.T) {
	file := filepath.Join(home, "docs", "CASES.md")
	want := table(scan(t))
	if *update {
		if err := os.WriteFile(file, []byte(want), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != want {
		t.Errorf("docs/CASES.md is not what the tests say: run go test ./internal/cases -update\n%s", firstDifference(string(got), want))
	}
}

// table writes the document.
func table(found map[string][]place) string {
	var b strings.Builder
	b.WriteString(`# Cases

Each of these is a situation in which some breaker was seen to go wrong: in public reports, or in drafts of this one. Each
has a test that names it. Most run on virtual time; those whose file ends in ` + "`.scenario`" + ` are written in the language
of ` + "`recloser test`" + `, so they can be tried with settings of your own.

This table is made by ` + "`go test ./internal/cases -update`" + `, from the names and comments of the tests; the same test
fails when it is stale, or when a case has no test.
`)
	for _, c := range chapters {
		fmt.Fprintf(&b, "\n## %s\n\n| case | what it shows | tests |\n|---|---|---|\n", c.title)
		for _, s := range c.cases {
			if places := found[s.id]; len(places) > 0 {
				fmt.Fprintf(&b, "| %s | %s | %s |\n", s.id, s.sentence, links(places))
			}
		}
	}
	return b.String()
}

// links lists tests, those of one file after its name.
func links(places []place) string {
	var files []string
	tests := map[string][]string{}
	for _, p := range places {
		if !slices.Contains(files, p.file) {
			files = append(files, p.file)
		}
		if p.name != "" {
			tests[p.file] = append(tests[p.file], "`"+p.name+"`")
		}
	}
	for i, file := range files {
		shown := file
		if path.Dir(file) == "scenario/testdata" {
			shown = path.Base(file)
		}
		files[i] = fmt.Sprintf("[%s](../%s)", shown, file)
		if names := tests[file]; len(names) > 0 {
			files[i] += ": " + strings.Join(names, ", ")
		}
	}
	return strings.Join(files, "; ")
}

// firstDifference shows the first line in which two texts differ.
func firstDifference(got, want string) string {
	g, w := strings.Split(got, "\n"), strings.Split(want, "\n")
	for i := range max(len(g), len(w)) {
		var have, need string
		if i < len(g) {
			have = g[i]
		}
		if i < len(w) {
			need = w[i]
		}
		if have != need {
			return fmt.Sprintf("line %d is\n%s\nwant\n%s", i+1, have, need)
		}
	}
	return ""
}
