package recloser_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/recloser-go/recloser"
)

// blocks returns the contents of a Markdown file's code blocks of one language.
func blocks(t *testing.T, file, language string) []string {
	t.Helper()
	var found []string
	for _, m := range regexp.MustCompile("(?ms)^```"+language+"\n(.*?)^```$").FindAllStringSubmatch(read(t, file), -1) {
		found = append(found, m[1])
	}
	return found
}

func read(t *testing.T, file string) string {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// What README shows is what Example_readme compiles and runs.
func TestReadmeShowsTheExample(t *testing.T) {
	_, rest, begins := strings.Cut(read(t, "example_readme_test.go"), "// README begins\n")
	example, _, ends := strings.Cut(rest, "\t// README ends\n")
	if !begins || !ends {
		t.Fatal("example_readme_test.go has lost its marks")
	}
	example = regexp.MustCompile(`(?m)^\t`).ReplaceAllString(example, "")

	got := blocks(t, "README.md", "go")
	if len(got) != 1 || got[0] != example {
		t.Errorf("README.md has the go blocks\n%s\nwant one:\n%s", strings.Join(got, "\n"), example)
	}
}

func TestReadmeNamesTargetsOfTheMakefile(t *testing.T) {
	makefile := read(t, "Makefile")
	named := 0
	for _, block := range append(blocks(t, "README.md", "sh"), blocks(t, "CONTRIBUTING.md", "sh")...) {
		for _, m := range regexp.MustCompile(`(?m)^make ([a-z]+)`).FindAllStringSubmatch(block, -1) {
			named++
			if !strings.Contains(makefile, "\n"+m[1]+":") {
				t.Errorf("the Makefile has no target %s", m[1])
			}
		}
	}
	if named == 0 {
		t.Error("no make target is named at all")
	}
}

// What the documents link to, and the Go files that they name, are there.
func TestDocumentsNameFilesThatAreThere(t *testing.T) {
	documents, err := filepath.Glob("docs/*.md")
	if err != nil {
		t.Fatal(err)
	}
	files := regexp.MustCompile("`([a-z/]+[a-z_]+\\.go)`")
	linked, named := 0, 0
	for _, document := range append(documents, "README.md", "CONTRIBUTING.md") {
		text := read(t, document)
		linked += checkLinks(t, document, text)
		for _, m := range files.FindAllStringSubmatch(text, -1) {
			named++
			if _, err := os.Stat(m[1]); err != nil {
				t.Errorf("%s: %v", document, err)
			}
		}
	}
	if linked == 0 || named == 0 {
		t.Errorf("found %d links and %d names of files: the patterns are wrong", linked, named)
	}
}

// checkLinks fails the test for each link in the text of a document that leads
// nowhere, and returns how many links there are.
func checkLinks(t *testing.T, document, text string) (links int) {
	t.Helper()
	for _, m := range regexp.MustCompile(`\]\(([^):#]*)#?([^):]*)\)`).FindAllStringSubmatch(text, -1) {
		links++
		target := document
		if m[1] != "" {
			target = filepath.Join(filepath.Dir(document), m[1])
		}
		if _, err := os.Stat(target); err != nil {
			t.Errorf("%s: %v", document, err)
		} else if m[2] != "" && !hasSection(read(t, target), m[2]) {
			t.Errorf("%s: %s has no section %s", document, target, m[2])
		}
	}
	return links
}

// hasSection reports whether a Markdown text has a heading that GitHub links
// by that name.
func hasSection(text, anchor string) bool {
	for _, m := range regexp.MustCompile(`(?m)^#+ (.*)$`).FindAllStringSubmatch(text, -1) {
		name := strings.ReplaceAll(strings.ToLower(m[1]), " ", "-")
		if regexp.MustCompile(`[^a-z0-9_-]`).ReplaceAllString(name, "") == anchor {
			return true
		}
	}
	return false
}

// Whoever reads a reason in a log or a message can look up what it means.
func TestGlossaryHasEveryReason(t *testing.T) {
	_, transitions, ok := strings.Cut(read(t, "docs/GLOSSARY.md"), "## Reasons")
	if !ok {
		t.Fatal("the glossary has no reasons")
	}
	transitions, refusals, ok := strings.Cut(transitions, "Why a call was refused")
	if !ok {
		t.Fatal("the glossary has no reasons of refusals")
	}
	row := func(table string, reason recloser.Reason) bool {
		return strings.Contains(table, "\n| `"+string(reason)+"` |")
	}
	for _, key := range recloser.TransitionKeys() {
		if !row(transitions, key.Reason) {
			t.Errorf("no transition has the reason %q", key.Reason)
		}
	}
	for _, reason := range recloser.RefusalReasons() {
		if !row(refusals, reason) {
			t.Errorf("no refusal has the reason %q", reason)
		}
	}
}
