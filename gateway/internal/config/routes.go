package config

import (
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"

	"github.com/goccy/go-yaml/ast"

	"github.com/recloser-go/recloser/internal/suggest"
)

// routeReader reads routes, which name dependencies and groups.
type routeReader struct {
	*reader
	dependencies []Dependency
	defaults     defaults
}

func (r *routeReader) routes(n ast.Node) []Route {
	items := r.list(n)
	if s, ok := n.(*ast.SequenceNode); ok && len(s.Values) == 0 {
		r.fault(n, "add one, such as - path: /{dependency}/*", "there are no routes, so nothing could be called")
	}
	first := make(map[string]position)
	var all []Route
	for _, item := range items {
		route, path := r.route(item)
		if path == nil {
			continue
		}
		if p, twice := first[route.Path]; twice {
			r.fault(path, fmt.Sprintf("the first is in line %d; remove or change one", p.line), "path %s is written twice", route.Path)
		} else {
			first[route.Path] = at(path)
		}
		all = append(all, route)
	}
	return all
}

// route returns the route and where its path is, nil if it has none.
func (r *routeReader) route(n ast.Node) (Route, ast.Node) {
	route := Route{ReleaseOnTrip: true}
	var path, dependency, ask ast.Node
	before := len(r.faults)
	r.mapping(n, fields{
		"path": func(n ast.Node) {
			path = n
			route.Path = r.path(n)
		},
		"dependency": func(n ast.Node) {
			dependency = n
			route.Dependency = r.dependency(n)
		},
		"ask": func(n ast.Node) {
			ask = n
			route.Ask = r.ask(n)
		},
		"release_on_trip": r.setBool(&route.ReleaseOnTrip),
	})
	if len(r.faults) > before {
		return route, path
	}
	named := strings.Contains(route.Path, "{dependency}")
	switch {
	case path == nil:
		r.fault(n, "add path:, such as /{dependency}/*", "the route has no path")
	case ask != nil && dependency != nil:
		r.fault(dependency, "remove one of them", "a route either asks a group or goes to one dependency")
	case ask != nil && named:
		r.fault(path, "remove {dependency} from the path", "a route that asks a group takes no dependency from the path")
	case ask != nil && strings.HasSuffix(route.Path, "*"):
		r.fault(path, "remove the * from the path", "a route that asks a group has one path")
	case dependency != nil && named:
		r.fault(dependency, "remove one of them", "the path names the dependency already")
	case ask == nil && dependency == nil && !named:
		r.fault(path, "add dependency: or ask:, or put {dependency} into the path", "nothing says where requests for %s go", route.Path)
	}
	return route, path
}

// path reads "/hotels/{dependency}/*" and the like.
func (r *routeReader) path(n ast.Node) string {
	s, ok := r.text(n)
	if !ok {
		return ""
	}
	parts := strings.Split(s, "/")
	seen := false
	for i, part := range parts[1:] {
		switch {
		case part == "{dependency}" && !seen:
			seen = true
		case part == "{dependency}":
			r.fault(n, "remove one", "%s has {dependency} twice", s)
		case part == "*" && i == len(parts)-2:
		case part == "*" || strings.Contains(part, "*"):
			r.fault(n, "", "in %s the * must be the last part, after a /", s)
		case strings.ContainsAny(part, "{}"):
			r.fault(n, "write {dependency} as a whole part of the path", "%s: only {dependency} can vary", s)
		case part == "." || part == "..", strings.ContainsAny(part, "?#%\\ "):
			r.fault(n, "write the path as plain text", "%s has a part %q that no request path has", s, part)
		}
	}
	if parts[0] != "" || len(parts) == 1 {
		r.fault(n, fmt.Sprintf("write /%s", s), "the path %q does not begin with a /", s)
	}
	return s
}

func (r *routeReader) dependency(n ast.Node) string {
	s, ok := r.text(n)
	if ok && !slices.ContainsFunc(r.dependencies, func(d Dependency) bool { return d.ID == s }) {
		r.fault(n, suggest.DidYouMean(s, r.ids()), "there is no dependency %q", s)
	}
	return s
}

func (r *routeReader) ids() iter.Seq[string] {
	return func(yield func(string) bool) {
		for _, d := range r.dependencies {
			if !yield(d.ID) {
				return
			}
		}
	}
}

// members returns the dependencies of a group that exists.
func (r *routeReader) members(group string) []Dependency {
	return slices.DeleteFunc(slices.Clone(r.dependencies), func(d Dependency) bool {
		return group != Everyone && d.Group != group
	})
}

func (r *routeReader) group(n ast.Node) string {
	s, ok := r.text(n)
	if ok && len(r.members(s)) == 0 && len(r.dependencies) > 0 {
		groups := map[string]bool{Everyone: true}
		for _, d := range r.dependencies {
			if d.Group != "" {
				groups[d.Group] = true
			}
		}
		r.fault(n, suggest.DidYouMean(s, maps.Keys(groups)), "no dependency is in the group %q", s)
	}
	return s
}
