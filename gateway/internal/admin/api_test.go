package admin

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
)

func TestOpenAPI(t *testing.T) {
	b := newBench(t)
	var spec struct {
		OpenAPI string
		Info    struct{ Title, Version string }
		Paths   map[string]map[string]struct {
			OperationID string
			Responses   map[string]any
		}
		Components struct{ Schemas map[string]any }
	}
	w := b.send("GET", "/openapi.json", "")
	if err := json.Unmarshal(w.Body.Bytes(), &spec); err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(spec.OpenAPI, "3.1.") || spec.Info.Version != "v1.2.3" || w.Header().Get("Content-Type") != "application/openapi+json" {
		t.Errorf("openapi %s, version %s, type %s", spec.OpenAPI, spec.Info.Version, w.Header().Get("Content-Type"))
	}
	var got []string
	for path, operations := range spec.Paths {
		for method, op := range operations {
			got = append(got, method+" "+path)
			act := method != "get"
			if _, has := op.Responses["409"]; has != act {
				t.Errorf("%s %s: describes a conflict: %v, want %v", method, path, has, act)
			}
		}
	}
	slices.Sort(got)
	want := []string{
		"delete /api/v1/dependencies/{id}/override",
		"get /api/v1/dependencies",
		"get /api/v1/dependencies/{id}",
		"get /version",
		"post /api/v1/dependencies/{id}/reset",
		"post /api/v1/dependencies/{id}/trial",
		"put /api/v1/dependencies/{id}/override",
	}
	if !slices.Equal(got, want) {
		t.Errorf("operations %q, want %q", got, want)
	}
	if text := b.send("GET", "/openapi.yaml", "").Body.String(); !strings.Contains(text, "openapi: 3.1.") {
		t.Errorf("no OpenAPI in YAML: %.100s", text)
	}
}

// Clients may come all at once, also to the description.
func TestOpenAPIConcurrently(t *testing.T) {
	b := newBench(t)
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			if w := b.send("GET", "/openapi.json", ""); w.Code != http.StatusOK {
				t.Errorf("status %d", w.Code)
			}
		})
	}
	wg.Wait()
}

// Whatever goes wrong is a problem, also where no route is.
func TestMissesAreProblems(t *testing.T) {
	b := newBench(t)
	b.wantProblem(http.StatusNotFound, "nothing is at /nowhere", "GET", "/nowhere", "")
	b.wantProblem(http.StatusNotFound, "/openapi.json", "GET", "/api/v1", "")
	b.wantProblem(http.StatusNotFound, "nothing is at /docs", "GET", "/docs", "")
	b.wantProblem(http.StatusMethodNotAllowed, "POST is not possible here, only GET, HEAD", "POST", "/", "{}")
	if allow := b.send("PATCH", overrideOfHotel1, "{}").Header().Get("Allow"); allow != "DELETE, PUT" {
		t.Errorf("Allow %q, want DELETE, PUT", allow)
	}
	w := b.send("GET", "//nowhere", "")
	if w.Code/100 != 3 || w.Header().Get("Location") != "/nowhere" || w.Header().Get("Content-Type") == "application/problem+json" {
		t.Errorf("//nowhere: %d, %v; want a redirect to /nowhere", w.Code, w.Header())
	}
}
