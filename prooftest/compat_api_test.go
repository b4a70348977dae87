package prooftest

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	theirs "github.com/sony/gobreaker/v2"

	ours "github.com/recloser-go/recloser/compat/gobreaker"
)

// One import is all that changes: every exported name is there, save those of
// the distributed breaker, and means a value of the same shape.
func TestCompatHasTheSameNames(t *testing.T) {
	distributed := []string{
		"DistributedCircuitBreaker", "NewDistributedCircuitBreaker",
		"SharedDataStore", "SharedState", "ErrNoSharedStore", "ErrNoSharedState",
	}
	got := exported(t, "github.com/recloser-go/recloser/compat/gobreaker")
	want := slices.DeleteFunc(exported(t, "github.com/sony/gobreaker/v2"), func(name string) bool {
		return slices.Contains(distributed, name)
	})
	if len(want) < 10 || !slices.Equal(got, want) {
		t.Errorf("recloser exports %q, gobreaker %q", got, want)
	}
}

// exported lists the exported package-level names of a package.
func exported(t *testing.T, pkg string) []string {
	t.Helper()
	dir, err := exec.CommandContext(t.Context(), "go", "list", "-f", "{{.Dir}}", pkg).Output()
	if err != nil {
		t.Fatalf("go list %s: %v", pkg, err)
	}
	files, err := filepath.Glob(filepath.Join(strings.TrimSpace(string(dir)), "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	add := func(id *ast.Ident) {
		if id.IsExported() {
			names = append(names, id.Name)
		}
	}
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, decl := range parsed.Decls {
			switch d := decl.(type) {
			case *ast.FuncDecl:
				if d.Recv == nil {
					add(d.Name)
				}
			case *ast.GenDecl:
				for _, spec := range d.Specs {
					switch s := spec.(type) {
					case *ast.TypeSpec:
						add(s.Name)
					case *ast.ValueSpec:
						for _, name := range s.Names {
							add(name)
						}
					}
				}
			}
		}
	}
	slices.Sort(names)
	return names
}

func TestCompatHasTheSameShapes(t *testing.T) {
	for _, pair := range [][2]any{
		{ours.NewCircuitBreaker[int], theirs.NewCircuitBreaker[int]},
		{ours.NewTwoStepCircuitBreaker[string], theirs.NewTwoStepCircuitBreaker[string]},
		{(*ours.CircuitBreaker[int])(nil), (*theirs.CircuitBreaker[int])(nil)},
		{(*ours.TwoStepCircuitBreaker[int])(nil), (*theirs.TwoStepCircuitBreaker[int])(nil)},
		{ours.Settings{}, theirs.Settings{}},
		{ours.Counts{}, theirs.Counts{}},
		{ours.StateClosed, theirs.StateClosed},
		{ours.StateHalfOpen, theirs.StateHalfOpen},
		{ours.StateOpen, theirs.StateOpen},
	} {
		if got, want := shape(pair[0]), shape(pair[1]); !slices.Equal(got, want) {
			t.Errorf("recloser has %q, gobreaker %q", got, want)
		}
	}
	for _, pair := range [][2]error{{ours.ErrOpenState, theirs.ErrOpenState}, {ours.ErrTooManyRequests, theirs.ErrTooManyRequests}} {
		if pair[0].Error() != pair[1].Error() {
			t.Errorf("recloser says %q, gobreaker %q", pair[0], pair[1])
		}
	}
}

// shape describes a value's type, its methods and exported fields, and a
// number's value.
func shape(v any) []string {
	t := reflect.TypeOf(v)
	lines := []string{t.String()}
	for m := range t.Methods() {
		lines = append(lines, fmt.Sprint(m.Name, " ", m.Type))
	}
	if t.Kind() == reflect.Struct {
		for f := range t.Fields() {
			lines = append(lines, fmt.Sprint(f.Name, " ", f.Type))
		}
	}
	if t.Kind() == reflect.Int {
		lines = append(lines, fmt.Sprintf("%d %v", v, v))
	}
	return lines
}
