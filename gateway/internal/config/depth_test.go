package config

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/recloser-go/recloser/internal/fault"
)

// Small enough that the parser would manage too: no test may be dangerous if
// what it tests is broken.
func TestTooDeep(t *testing.T) {
	steps := func(levels int, line string) string {
		var s strings.Builder
		for i := range levels {
			fmt.Fprintf(&s, "%s%s\n", strings.Repeat(" ", i), line)
		}
		return s.String()
	}
	const n = maxDepth + 1
	for name, file := range map[string]string{
		"items on one line":     strings.Repeat("- ", n),
		"question marks":        strings.Repeat("? ", n),
		"brackets":              strings.Repeat("[", n),
		"braces":                strings.Repeat("{a: ", n/2) + strings.Repeat("[", n/2+1),
		"indented keys":         steps(n, "a:"),
		"indented items":        steps(n, "-"),
		"keys on one line":      strings.Repeat("a: ", n),
		"marks in braces":       "{" + strings.Repeat("? ", n),
		"tags":                  strings.Repeat("!a ", n),
		"anchors":               "a: " + strings.Repeat("&a ", n),
		"items above brackets":  steps(n/2, "-") + strings.Repeat(" ", n) + strings.Repeat("[", n/2+1),
		"brackets with strings": strings.Repeat(`["]", `, n),
	} {
		_, err := Parse("x.yaml", []byte(file))
		if err == nil || !strings.Contains(err.Error(), "more than 100 levels lie in each other here") {
			t.Errorf("%s: %.200v", name, err)
		}
	}
	_, err := Parse("x.yaml", []byte("listen: x\ngrace: "+strings.Repeat("[", n)+"\n"))
	if want := "x.yaml:2:107: more than 100 levels lie in each other here; write less"; err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}

// What is long and not deep is read.
func TestLongIsNotDeep(t *testing.T) {
	var ids, routes strings.Builder
	for i := range 500 {
		fmt.Fprintf(&ids, "  a%d: { url: 'http://a.example', name: '[[{- - ? : %d' } # [[[[ - - -\n", i, i)
		fmt.Fprintf(&routes, "- path: /a%d\n  dependency: a%d\n", i, i)
	}
	routes.WriteString("- path: /ask\n  ask:\n    accept: |\n      " + strings.Repeat("(", 120) + "true" + strings.Repeat(")", 120) + " || body.x in [" + strings.Repeat("[1],", 120) + "[1]]\n")
	_, err := Parse("x.yaml", []byte("dependencies:\n"+ids.String()+"routes:\n"+routes.String()))
	if err != nil {
		t.Errorf("%.500v", err)
	}
}

func TestTooManyKeys(t *testing.T) {
	_, err := Parse("x.yaml", []byte("dependencies:\n"+strings.Repeat("  a:\n    url: x\n", maxKeys+1)))
	if want := "x.yaml:20002:3: more than 10000 keys in one mapping; write less"; err == nil || err.Error() != want {
		t.Errorf("got %.200v, want %s", err, want)
	}
}

func TestTooLong(t *testing.T) {
	file := filepath.Join(t.TempDir(), "x.yaml")
	if err := os.WriteFile(file, []byte("grace: 5s\n"+strings.Repeat("#\n", maxSize)), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := Load(file)
	faults, ok := errors.AsType[Errors](err)
	if !ok || len(faults) != 1 || !strings.Contains(err.Error(), ": the file is longer than 1 MiB") || faults[0].Line < 2 {
		t.Errorf("got %.200v", err)
	}
}

func TestFaultsAreCapped(t *testing.T) {
	var file strings.Builder
	for i := range fault.MaxShown + 123 - 2 { // and the file has no dependencies and no routes
		fmt.Fprintf(&file, "x%d: 1\n", i)
	}
	_, err := Parse("x.yaml", []byte(file.String()))
	faults, _ := errors.AsType[Errors](err)
	if len(faults) != fault.MaxShown+123 {
		t.Fatalf("%d faults", len(faults))
	}
	for _, text := range []string{faults.Error(), faults.Detail()} {
		if !strings.HasSuffix(text, "\nand 123 more") || strings.Count(text, "x.yaml:") != fault.MaxShown {
			t.Errorf("got\n%s", text)
		}
	}
}

// A hint must not be what was written.
func TestDurationHintCanBeRead(t *testing.T) {
	for _, s := range []string{"9999999h", "9999999999999999999s", "99999999999", "9999999 hours"} {
		if hint := durationHint(s); strings.Contains(hint, "9999") || hint == "" {
			t.Errorf("%s: %s", s, hint)
		}
	}
	if got := durationHint("800"); got != "write a unit, such as 800ms or 800s" {
		t.Error(got)
	}
}

// A message is read by people: a line of a thousand words is none of their help.
func TestLongLineHasNoPicture(t *testing.T) {
	_, err := Parse("x.yaml", []byte("{ colour: red, "+strings.Repeat("x", 1000)+": 1 }\n"))
	faults, _ := errors.AsType[Errors](err)
	if len(faults) < 2 || strings.Contains(faults[0].Detail(), "\n") {
		t.Errorf("got %s", faults.Detail())
	}
}
