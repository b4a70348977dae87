package cases

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const home = "../.." // the repository, seen from this folder

// place is where a case is tested. A scenario has no name of its own.
type place struct{ file, name string }

var (
	inName     = regexp.MustCompile(`^Test_?([CG][0-9]{2})`)
	inText     = regexp.MustCompile(`\b[CG][0-9]{2}\b`)
	inSubtest  = regexp.MustCompile(`^[CG][0-9]{2}\b`)
	ofScenario = regexp.MustCompile(`^([cg][0-9]{2})\b`)
)

// scan returns where the tests of each id are, in the order of the tree.
func scan(t *testing.T) map[string][]place {
	t.Helper()
	found := map[string][]place{}
	note := func(id string, p place) {
		if !slices.Contains(found[id], p) {
			found[id] = append(found[id], p)
		}
	}
	err := filepath.WalkDir(home, func(file string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() {
			if file != home && (strings.HasPrefix(entry.Name(), ".") || entry.Name() == "bin") || file == filepath.Join(home, "internal", "cases") {
				return fs.SkipDir
			}
			return nil
		}
		rel, err := filepath.Rel(home, file)
		if err != nil {
			return err
		}
		rel = filepath.ToSlash(rel)
		switch {
		case strings.HasSuffix(file, ".scenario"):
			if m := ofScenario.FindStringSubmatch(entry.Name()); m != nil {
				note(strings.ToUpper(m[1]), place{file: rel})
			}
		case strings.HasSuffix(file, "_test.go"):
			return scanTests(file, func(id, test string) { note(id, place{rel, test}) })
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// scanTests tells of each test of a file whose name, comments or subtests name a case.
func scanTests(file string, note func(id, test string)) error {
	parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ParseComments)
	if err != nil {
		return err
	}
	for _, decl := range parsed.Decls {
		test, ok := decl.(*ast.FuncDecl)
		if !ok || test.Recv != nil || !strings.HasPrefix(test.Name.Name, "Test") {
			continue
		}
		name := test.Name.Name
		if m := inName.FindStringSubmatch(name); m != nil {
			note(m[1], name)
		}
		begins := test.Pos()
		if test.Doc != nil {
			begins = test.Doc.Pos()
		}
		for _, group := range parsed.Comments {
			if group.Pos() < begins || group.End() > test.End() {
				continue
			}
			for _, id := range inText.FindAllString(group.Text(), -1) {
				note(id, name)
			}
		}
		ast.Inspect(test, func(n ast.Node) bool {
			if text, ok := n.(*ast.BasicLit); ok && text.Kind == token.STRING {
				if s, err := strconv.Unquote(text.Value); err == nil && inSubtest.MatchString(s) {
					note(s[:3], name)
				}
			}
			return true
		})
	}
	return nil
}
