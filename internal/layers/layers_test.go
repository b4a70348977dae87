package layers

import (
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// layers lists every folder that holds Go code, from the ground up. A package
// may import packages of the layers before its own and no others: an arrow never
// points back, and the folders of one layer do not know each other. Test files
// are free, as nothing is built on them. Patterns are those of path.Match.
var layers = [][]string{
	{"internal/vtime", "internal/suggest", "internal/refusal", "internal/defaults", "internal/safely", "internal/fault", "internal/bucket", "internal/queue", "internal/expiry", "internal/filelock"},
	{"."}, // the engine
	{"guard", "fleet"},
	{"httpbreaker", "grpcbreaker", "prombreaker", "otelbreaker", "compat/gobreaker", "scenario", "fleet/pgstore", "fleet/redisstore"},
	{"examples/*/*"},

	{"gateway/internal/problem", "gateway/internal/forwarded", "gateway/internal/plain", "gateway/internal/certs", "gateway/internal/maintenance", "gateway/internal/client", "gateway/internal/child"},
	{"gateway/internal/config", "gateway/internal/bulkhead", "gateway/internal/history", "gateway/internal/suspect", "gateway/internal/message", "gateway/internal/tempstore"},
	{"gateway/internal/ratelimit", "gateway/internal/lastknown", "gateway/internal/incident", "gateway/internal/channel"},
	{"gateway/internal/dependency", "gateway/internal/outbox"},
	{"gateway/internal/auth", "gateway/internal/series", "gateway/internal/sharing", "gateway/internal/probe", "gateway/internal/alert", "gateway/internal/trace"},
	{"gateway/internal/proxy", "gateway/internal/ask", "gateway/internal/admin"},
	{"gateway/internal/panel"},
	{"gateway"}, // the one place that knows them all
	{"gateway/internal/demo"},
	{"gateway/cmd/recloser"},

	// What only tests and measurements are made of: nothing above may import it.
	{"internal/eventually", "internal/model", "internal/nettest", "internal/clocktest"},
	{"fleet/storetest", "fleet/fleettest", "fleet/pgstore/pgtest", "fleet/redisstore/redistest"},
	{"gateway/gatewaytest", "gateway/internal/browsertest"},
	{"gateway/deploytest", "gateway/cutofftest"},
	{"internal/layers", "internal/cases", "prooftest", "bench", "bench/fleet", "bench/gateway/town", "bench/gateway/entrant"},
	{"bench/cmd/ratios", "bench/gateway/cmd/*"},
}

// layerOf returns the number of a folder's layer, and false if it has none.
func layerOf(name string) (int, bool) {
	for i, patterns := range layers {
		for _, pattern := range patterns {
			if ok, err := path.Match(pattern, name); err == nil && ok {
				return i, true
			}
		}
	}
	return 0, false
}

func TestArrowsPointOneWay(t *testing.T) {
	_, folders := readTree(t)
	for _, f := range folders {
		if imported := ours(f.imports); len(imported) > 0 {
			t.Logf("%-28s -> %s", f.name, strings.Join(imported, ", "))
		}
		layer, ok := layerOf(f.name)
		if !ok {
			t.Errorf("%s is in no layer: decide what may import it and add it to layers", f.name)
			continue
		}
		for _, imported := range ours(f.imports) {
			below, ok := layerOf(imported)
			if ok && below >= layer {
				t.Errorf("%s imports %s, which is in the same layer or a later one", f.name, imported)
			}
		}
	}
}

func TestLayersNameNothingThatIsNotThere(t *testing.T) {
	_, folders := readTree(t)
	for _, patterns := range layers {
		for _, pattern := range patterns {
			there := slices.ContainsFunc(folders, func(f folder) bool {
				ok, err := path.Match(pattern, f.name)
				return err == nil && ok
			})
			if !there {
				t.Errorf("layers names %s, and there is no such folder with Go code", pattern)
			}
		}
	}
}

// Whoever imports the root must not get another version of anything by it, not
// even for its tests.
func TestRootModuleStandsAlone(t *testing.T) {
	modules, folders := readTree(t)
	mod := readMod(t, filepath.Join(home, "go.mod"))
	if len(mod.Require) > 0 || len(mod.Replace) > 0 || len(mod.Tool) > 0 {
		t.Errorf("the root go.mod has requires, replaces or tools: %+v", mod)
	}
	if _, err := os.Stat(filepath.Join(home, "go.sum")); err == nil {
		t.Error("the root has a go.sum: something was required")
	}
	for _, f := range folders {
		if f.module != "." {
			continue
		}
		for _, p := range slices.Concat(f.imports, f.testImports) {
			first, _, _ := strings.Cut(p, "/")
			if strings.Contains(first, ".") && len(ours([]string{p})) == 0 {
				t.Errorf("%s of the root module imports %s, which is not of the standard library", f.name, p)
			}
		}
		for _, imported := range ours(slices.Concat(f.imports, f.testImports)) {
			if m := moduleOf(modules, imported); m != "." {
				t.Errorf("%s of the root module imports %s of module %s", f.name, imported, m)
			}
		}
	}
}

// A clone and go mod tidy work before anything is published only if a module
// that requires another of this repository also replaces it by its folder.
func TestNestedModulesAreReplacedByTheirFolders(t *testing.T) {
	modules, _ := readTree(t)
	for _, m := range modules {
		mod := readMod(t, filepath.Join(home, m, "go.mod"))
		folderOf := map[string]string{}
		for _, r := range mod.Replace {
			folderOf[r.Old.Path] = r.New.Path
		}
		for _, r := range mod.Require {
			for _, name := range ours([]string{r.Path}) {
				if path.Join(m, folderOf[r.Path]) != name || folderOf[r.Path] == "" {
					t.Errorf("%s/go.mod requires %s and replaces it by %q, not by the path to %s", m, r.Path, folderOf[r.Path], name)
				}
			}
		}
	}
}

// A workspace has one selection of versions, so a rival or a linter in it would
// change what the gateway is built with.
func TestWorkspaceHoldsOnlyWhatIsShipped(t *testing.T) {
	never := []string{"bench", "tools", "prooftest"}
	for _, use := range readMod(t, filepath.Join(home, "go.work")).Use {
		if first, _, _ := strings.Cut(path.Clean(use.DiskPath), "/"); slices.Contains(never, first) {
			t.Errorf("go.work uses %s", use.DiskPath)
		}
	}
}

func TestEveryDependencyIsArgued(t *testing.T) {
	const file = "docs/decisions/0002-dependencies.md"
	text, err := os.ReadFile(filepath.Join(home, file))
	if err != nil {
		t.Fatal(err)
	}
	argued := func(p string) bool { return strings.Contains(string(text), "`"+p+"`") }
	modules, _ := readTree(t)
	for _, m := range modules {
		mod := readMod(t, filepath.Join(home, m, "go.mod"))
		for _, r := range mod.Require {
			if !r.Indirect && len(ours([]string{r.Path})) == 0 && !argued(r.Path) {
				t.Errorf("%s requires %s, and %s does not say why", m, r.Path, file)
			}
		}
		for _, tool := range mod.Tool {
			if !argued(tool.Path) {
				t.Errorf("%s pins %s, and %s does not say why", m, tool.Path, file)
			}
		}
	}
}
