package admin

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/danielgtaylor/huma/v2"
)

// spec is what the tests look at of the API's description.
type spec struct {
	OpenAPI    string
	Info       struct{ Title, Version string }
	Paths      map[string]map[string]described
	Components struct {
		Schemas         map[string]any
		SecuritySchemes map[string]struct{ Type, Scheme string }
	}
}

type described struct {
	OperationID, Summary, Description string
	Security                          []map[string][]string
	Parameters                        []struct{ Name, In string }
	RequestBody                       *struct{ Content map[string]content }
	Responses                         map[string]struct {
		Description string
		Content     map[string]content
	}
}

type content struct {
	Schema  map[string]any
	Example any
}

func (b *bench) spec() spec {
	b.t.Helper()
	var s spec
	w := b.send("GET", "/openapi.json", "")
	if err := json.Unmarshal(w.Body.Bytes(), &s); err != nil {
		b.t.Fatal(err)
	}
	if w.Header().Get("Content-Type") != "application/openapi+json" {
		b.t.Errorf("type %s", w.Header().Get("Content-Type"))
	}
	return s
}

func TestOpenAPI(t *testing.T) {
	b := newBench(t)
	spec := b.spec()
	if !strings.HasPrefix(spec.OpenAPI, "3.1.") || spec.Info.Version != "v1.2.3" {
		t.Errorf("openapi %s, version %s", spec.OpenAPI, spec.Info.Version)
	}
	if s := spec.Components.SecuritySchemes[bearer]; s.Type != "http" || s.Scheme != "bearer" {
		t.Errorf("no way to sign in: %+v", spec.Components.SecuritySchemes)
	}
	var got []string
	for path, operations := range spec.Paths {
		for method := range operations {
			got = append(got, method+" "+path)
		}
	}
	slices.Sort(got)
	want := []string{
		"delete /api/v1/dependencies/{id}",
		"delete /api/v1/dependencies/{id}/override",
		"delete /api/v1/maintenance/{id}",
		"delete /api/v1/tokens/{id}",
		"get /api/v1/alerts/channels",
		"get /api/v1/alerts/deliveries",
		"get /api/v1/alerts/incidents",
		"get /api/v1/audit",
		"get /api/v1/config",
		"get /api/v1/dependencies",
		"get /api/v1/dependencies/{id}",
		"get /api/v1/dependencies/{id}/definition",
		"get /api/v1/dependencies/{id}/series",
		"get /api/v1/events",
		"get /api/v1/maintenance",
		"get /api/v1/maintenance/{id}",
		"get /api/v1/me",
		"get /api/v1/nodes",
		"get /api/v1/stream",
		"get /api/v1/tokens",
		"get /version",
		"patch /api/v1/dependencies/{id}",
		"post /api/v1/alerts/test",
		"post /api/v1/dependencies",
		"post /api/v1/dependencies/{id}/reset",
		"post /api/v1/dependencies/{id}/trial",
		"post /api/v1/maintenance",
		"post /api/v1/overrides/batch",
		"post /api/v1/reload",
		"post /api/v1/tokens",
		"put /api/v1/dependencies/{id}/override",
		"put /api/v1/maintenance/{id}",
	}
	if !slices.Equal(got, want) {
		t.Errorf("operations\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if text := b.send("GET", "/openapi.yaml", "").Body.String(); !strings.Contains(text, "openapi: 3.1.") {
		t.Errorf("no OpenAPI in YAML: %.100s", text)
	}
}

// Every operation says what it does, who may, what goes wrong, and shows what
// comes and goes.
func TestEveryOperationIsDescribed(t *testing.T) {
	b := newBench(t)
	spec := b.spec()
	ids := make(map[string]string)
	for path, operations := range spec.Paths {
		for method, op := range operations {
			name := method + " " + path
			act := method != "get"
			if was := ids[op.OperationID]; op.OperationID == "" || was != "" {
				t.Errorf("%s: ID %q, which %q has too", name, op.OperationID, was)
			}
			ids[op.OperationID] = name
			if op.Summary == "" || len(op.Summary) > 60 || strings.HasSuffix(op.Summary, ".") {
				t.Errorf("%s: summary %q", name, op.Summary)
			}
			if !strings.Contains(op.Description, "Role: ") {
				t.Errorf("%s: does not say who may", name)
			}
			if len(op.Security) != 1 || op.Security[0][bearer] == nil {
				t.Errorf("%s: security %v", name, op.Security)
			}
			for status, always := range map[string]bool{"401": true, "403": true, "429": true, "503": true, "409": act} {
				r, has := op.Responses[status]
				if has != always || always && (r.Description == "" || r.Content["application/problem+json"].Schema == nil) {
					t.Errorf("%s: describes %s: %v, want %v", name, status, has, always)
				}
			}
			if strings.Contains(path, "{id}") {
				if _, has := op.Responses["404"]; !has {
					t.Errorf("%s: describes no 404", name)
				}
			}
			for status, r := range op.Responses {
				for kind, c := range r.Content {
					if status[0] == '2' && (c.Example == nil || c.Schema == nil) {
						t.Errorf("%s: no example of %s %s", name, status, kind)
					}
				}
			}
			if op.RequestBody != nil && op.RequestBody.Content["application/json"].Example == nil {
				t.Errorf("%s: no example of a request", name)
			}
			key := slices.ContainsFunc(op.Parameters, func(p struct{ Name, In string }) bool { return p.Name == keyHeader && p.In == "header" })
			if key != act {
				t.Errorf("%s: describes %s: %v, want %v", name, keyHeader, key, act)
			}
		}
	}
}

// The examples are what the schemas say.
func TestExamplesAreValid(t *testing.T) {
	a := &api{}
	a.register(http.NewServeMux())
	registry := a.routes.OpenAPI().Components.Schemas
	check := func(name string, c *huma.MediaType, mode huma.ValidateMode) {
		text, err := json.Marshal(c.Example)
		if err != nil {
			t.Fatal(err)
		}
		var value any
		if err := json.Unmarshal(text, &value); err != nil {
			t.Fatal(err)
		}
		result := &huma.ValidateResult{}
		huma.Validate(registry, c.Schema, huma.NewPathBuffer(nil, 0), mode, value, result)
		for _, err := range result.Errors {
			t.Errorf("%s: %v", name, err)
		}
	}
	seen := 0
	for path, item := range a.routes.OpenAPI().Paths {
		for _, op := range []*huma.Operation{item.Get, item.Put, item.Post, item.Patch, item.Delete} {
			if op == nil {
				continue
			}
			if op.RequestBody != nil {
				check(op.Method+" "+path+" request", op.RequestBody.Content["application/json"], huma.ModeWriteToServer)
				seen++
			}
			for status, r := range op.Responses {
				if c := r.Content["application/json"]; c != nil && status[0] == '2' {
					check(op.Method+" "+path+" "+status, c, huma.ModeReadFromServer)
					seen++
				}
			}
		}
	}
	if seen < 25 {
		t.Errorf("only %d examples", seen)
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
	b.wantProblem(http.StatusMethodNotAllowed, "POST is not possible here, only GET, HEAD", "POST", "/version", "{}")
	if allow := b.send("PATCH", overrideOfHotel1, "{}").Header().Get("Allow"); allow != "DELETE, PUT" {
		t.Errorf("Allow %q, want DELETE, PUT", allow)
	}
	w := b.send("GET", "//nowhere", "")
	if w.Code/100 != 3 || w.Header().Get("Location") != "/nowhere" || w.Header().Get("Content-Type") == "application/problem+json" {
		t.Errorf("//nowhere: %d, %v; want a redirect to /nowhere", w.Code, w.Header())
	}
}
