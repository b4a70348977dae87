package admin

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"sync"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"github.com/recloser-go/recloser/gateway/internal/dependency"
	"github.com/recloser-go/recloser/internal/suggest"
)

// api holds what the operations under /api/v1 need.
type api struct {
	Options
	acts sync.Mutex // one act at a time: between the look at if_version and the act no other one comes
}

// registerAPI routes the API and its own description.
func registerAPI(mux *http.ServeMux, o Options) {
	routes := humago.New(mux, huma.Config{
		OpenAPI: &huma.OpenAPI{
			OpenAPI: "3.1.0",
			Info: &huma.Info{
				Title:       "Recloser admin API",
				Description: "Who is cut off, why, until when; and to isolate, hold closed and release by hand.",
				Version:     o.Version,
			},
			Components: &huma.Components{Schemas: huma.NewMapRegistry("#/components/schemas/", huma.DefaultSchemaNamer)},
		},
		Formats:                      huma.DefaultFormats,
		DefaultFormat:                "application/json",
		RejectUnknownQueryParameters: true,
	})
	routes.UseMiddleware(rememberCaller)

	a := &api{Options: o}
	a.registerReads(routes)
	a.registerOverride(routes)
	a.registerActs(routes)
	registerVersion(routes, o.Version)

	// huma serves the description too, but makes it in the first request
	// without a lock.
	describe := func(path, kind string, render func() ([]byte, error)) {
		text := sync.OnceValues(render)
		mux.HandleFunc("GET "+path, func(w http.ResponseWriter, _ *http.Request) {
			body, err := text()
			if err != nil {
				writeProblem(w, http.StatusInternalServerError, err.Error())
				return
			}
			w.Header().Set("Content-Type", kind)
			_, _ = w.Write(body)
		})
	}
	describe("/openapi.json", "application/openapi+json", func() ([]byte, error) { return json.Marshal(routes.OpenAPI()) })
	describe("/openapi.yaml", "application/openapi+yaml", routes.OpenAPI().YAML)
}

// idInput names one dependency.
type idInput struct {
	ID string `path:"id" doc:"ID of the dependency"`
}

// dependencyOutput answers with one dependency.
type dependencyOutput struct {
	Body Dependency
}

// DependencyList is all dependencies.
type DependencyList struct {
	Dependencies []Dependency `json:"dependencies" nullable:"false" doc:"In the order of the configuration"`
}

// listOutput answers with all dependencies.
type listOutput struct {
	Body DependencyList
}

func (a *api) registerReads(routes huma.API) {
	huma.Register(routes, huma.Operation{
		OperationID: "list-dependencies",
		Method:      http.MethodGet,
		Path:        "/api/v1/dependencies",
		Summary:     "All dependencies",
	}, func(context.Context, *struct{}) (*listOutput, error) {
		out := &listOutput{Body: DependencyList{Dependencies: []Dependency{}}}
		for _, d := range a.Dependencies.All() {
			out.Body.Dependencies = append(out.Body.Dependencies, newDependency(d))
		}
		return out, nil
	})
	huma.Register(routes, huma.Operation{
		OperationID: "get-dependency",
		Method:      http.MethodGet,
		Path:        "/api/v1/dependencies/{id}",
		Summary:     "One dependency",
		Errors:      []int{http.StatusNotFound},
	}, func(_ context.Context, in *idInput) (*dependencyOutput, error) {
		d, err := a.find(in.ID)
		if err != nil {
			return nil, err
		}
		return &dependencyOutput{Body: newDependency(d)}, nil
	})
}

// find returns the dependency with that ID, or a 404 that names those there are.
func (a *api) find(id string) (*dependency.Dependency, error) {
	if d, ok := a.Dependencies.Get(id); ok {
		return d, nil
	}
	known := func(yield func(string) bool) {
		for _, d := range a.Dependencies.All() {
			if !yield(d.ID) {
				return
			}
		}
	}
	return nil, huma.Error404NotFound(fmt.Sprintf("no dependency %q; %s", cut(id, 64), suggest.DidYouMean(id, known)))
}
