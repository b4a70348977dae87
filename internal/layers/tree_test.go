package layers

import (
	"encoding/json"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const (
	home = "../.." // the repository, seen from this folder
	self = "github.com/recloser-go/recloser"
)

// folder is a directory that holds Go files.
type folder struct {
	name        string // its path in the repository, "." for the top
	module      string // that of the module it belongs to
	imports     []string
	testImports []string // of the test files alone
}

// ours returns the folders of this repository that are imported.
func ours(imports []string) []string {
	var names []string
	for _, p := range imports {
		if p == self {
			names = append(names, ".")
		} else if name, ok := strings.CutPrefix(p, self+"/"); ok {
			names = append(names, name)
		}
	}
	return names
}

// readTree reads the imports of every Go file, whatever system it is built for;
// nothing is downloaded and nothing compiled.
func readTree(t *testing.T) (modules []string, folders []folder) {
	t.Helper()
	found := map[string]*folder{}
	err := filepath.WalkDir(home, func(file string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() {
			hidden := strings.HasPrefix(entry.Name(), ".") && file != home
			if hidden || entry.Name() == "testdata" || entry.Name() == "bin" {
				return fs.SkipDir
			}
			return nil
		}
		rel, err := filepath.Rel(home, file)
		if err != nil {
			return err
		}
		dir := path.Dir(filepath.ToSlash(rel))
		if entry.Name() == "go.mod" {
			modules = append(modules, dir)
		}
		if !strings.HasSuffix(entry.Name(), ".go") {
			return nil
		}
		imports, err := importsOf(file)
		if err != nil {
			return err
		}
		if found[dir] == nil {
			found[dir] = &folder{name: dir}
		}
		if strings.HasSuffix(entry.Name(), "_test.go") {
			found[dir].testImports = append(found[dir].testImports, imports...)
		} else {
			found[dir].imports = append(found[dir].imports, imports...)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range found {
		f.module = moduleOf(modules, f.name)
		f.imports = unique(f.imports)
		f.testImports = unique(f.testImports)
		folders = append(folders, *f)
	}
	slices.SortFunc(folders, func(a, b folder) int { return strings.Compare(a.name, b.name) })
	if len(modules) < 2 || len(folders) < 5 {
		t.Fatalf("found only the modules %v and %d folders: this is not the repository", modules, len(folders))
	}
	return modules, folders
}

func importsOf(file string) ([]string, error) {
	parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ImportsOnly)
	if err != nil {
		return nil, err
	}
	var imports []string
	for _, spec := range parsed.Imports {
		p, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			return nil, err
		}
		imports = append(imports, p)
	}
	return imports, nil
}

// moduleOf returns the module that a folder belongs to: the nearest upwards.
func moduleOf(modules []string, dir string) string {
	for !slices.Contains(modules, dir) {
		dir = path.Dir(dir)
	}
	return dir
}

func unique(list []string) []string {
	slices.Sort(list)
	return slices.Compact(list)
}

// goMod is what these tests read of a go.mod or go.work file.
type goMod struct {
	Require []struct {
		Path     string
		Indirect bool
	}
	Replace []struct {
		Old, New struct{ Path, Version string }
	}
	Tool []struct{ Path string }
	Use  []struct{ DiskPath string }
}

// readMod reads a go.mod or go.work file with the go command's own parser.
func readMod(t *testing.T, file string) goMod {
	t.Helper()
	verb := "mod"
	if strings.HasSuffix(file, ".work") {
		verb = "work"
	}
	cmd := exec.CommandContext(t.Context(), "go", verb, "edit", "-json", file)
	cmd.Env = append(os.Environ(), "GOWORK=off")
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v: %v", cmd, err)
	}
	var mod goMod
	if err := json.Unmarshal(out, &mod); err != nil {
		t.Fatalf("%v: %v", cmd, err)
	}
	return mod
}
