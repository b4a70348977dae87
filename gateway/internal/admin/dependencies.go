package admin

import (
	"context"
	"fmt"
	"net/http"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"github.com/recloser-go/recloser/gateway/internal/auth"
	"github.com/recloser-go/recloser/gateway/internal/dependency"
	"github.com/recloser-go/recloser/internal/suggest"
)

// idInput names one dependency.
type idInput struct {
	ID string `path:"id" doc:"ID of the dependency"`
}

// dependencyOutput answers with one dependency.
type dependencyOutput struct {
	Body Dependency
}

// DependencyList is dependencies.
type DependencyList struct {
	Dependencies []Dependency `json:"dependencies" nullable:"false" doc:"In the order of the configuration, then those added at run time"`
}

type listInput struct {
	Group string   `query:"group" doc:"Only those of this group"`
	Label []string `query:"label,explode" doc:"Only those with this label, as name=value; all that are given must fit" example:"region=north"`
	State string   `query:"state" enum:"closed,open,half-open,isolated,held-closed,maintenance" doc:"Only those in this state"`
}

// listOutput answers with dependencies.
type listOutput struct {
	Body DependencyList
}

func (a *api) registerDependencies() {
	register(a, operation{
		Operation: huma.Operation{
			OperationID: "list-dependencies",
			Method:      http.MethodGet,
			Path:        "/api/v1/dependencies",
			Summary:     "Dependencies",
			Description: "All of them, or those that a selector fits.",
			Errors:      []int{http.StatusUnprocessableEntity},
		},
		role: auth.Viewer, answer: DependencyList{[]Dependency{exampleDependency()}},
	}, func(ctx context.Context, in *listInput) (*listOutput, error) {
		labels, err := readLabels("query.label", in.Label)
		if err != nil {
			return nil, err
		}
		out := &listOutput{Body: DependencyList{Dependencies: []Dependency{}}}
		for _, d := range a.seen(ctx) {
			if in.Group != "" && d.Group != in.Group || !hasLabels(d, labels) {
				continue
			}
			if v := a.view(d); in.State == "" || v.State == in.State {
				out.Body.Dependencies = append(out.Body.Dependencies, v)
			}
		}
		return out, nil
	})
	register(a, operation{
		Operation: huma.Operation{
			OperationID: "get-dependency",
			Method:      http.MethodGet,
			Path:        "/api/v1/dependencies/{id}",
			Summary:     "One dependency",
			Errors:      []int{http.StatusNotFound},
		},
		role: auth.Viewer, answer: exampleDependency(),
	}, func(ctx context.Context, in *idInput) (*dependencyOutput, error) {
		d, err := a.find(ctx, in.ID)
		if err != nil {
			return nil, err
		}
		return &dependencyOutput{Body: a.view(d)}, nil
	})
}

// seen returns the dependencies that are the caller's business.
func (a *api) seen(ctx context.Context) []*dependency.Dependency {
	if c := auth.From(ctx); c.Group != "" {
		return a.Dependencies.Group(c.Group)
	}
	return a.Dependencies.All()
}

// sees reports whether a dependency is there and the caller's business.
func (a *api) sees(ctx context.Context, id string) bool {
	d, ok := a.Dependencies.Get(id)
	return ok && auth.From(ctx).Sees(d.Group)
}

// find returns the dependency with that ID, or a 404 that names those there are.
// One that is not the caller's business is not there.
func (a *api) find(ctx context.Context, id string) (*dependency.Dependency, error) {
	if d, ok := a.Dependencies.Get(id); ok && auth.From(ctx).Sees(d.Group) {
		return d, nil
	}
	return nil, huma.Error404NotFound(a.unknown(ctx, id))
}

func (a *api) unknown(ctx context.Context, id string) string {
	known := func(yield func(string) bool) {
		for _, d := range a.seen(ctx) {
			if !yield(d.ID) {
				return
			}
		}
	}
	return fmt.Sprintf("no dependency %q; %s", cut(id, 64), suggest.DidYouMean(id, known))
}

// readLabels reads labels written as name=value.
func readLabels(location string, texts []string) (map[string]string, error) {
	labels := make(map[string]string, len(texts))
	for _, text := range texts {
		name, value, ok := strings.Cut(text, "=")
		if !ok || name == "" {
			return nil, invalid(location, "must be name=value", text)
		}
		labels[name] = value
	}
	return labels, nil
}

func hasLabels(d *dependency.Dependency, labels map[string]string) bool {
	for name, value := range labels {
		if d.Labels[name] != value {
			return false
		}
	}
	return true
}
