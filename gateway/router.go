package gateway

import (
	"cmp"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/recloser-go/recloser/gateway/internal/config"
	"github.com/recloser-go/recloser/gateway/internal/forwarded"
	"github.com/recloser-go/recloser/gateway/internal/problem"
)

// router finds the route of a request. http.ServeMux would redirect "/a//b" and
// "/a", but a gateway has to pass paths on as they are.
type router struct {
	routes []boundRoute // the more exact before the less
}

type boundRoute struct {
	parts   []string // of the path, "{dependency}" as written
	rest    bool     // ends in "*": any parts may follow
	handler http.Handler
}

// newRouter orders routes so that the first that fits is the most exact one
// from the left: a word before {dependency} before *.
func newRouter(routes []config.Route, handler func(config.Route) http.Handler) *router {
	rt := &router{}
	for _, r := range routes {
		path, rest := strings.CutSuffix(r.Path, "/*")
		b := boundRoute{rest: rest, handler: handler(r)}
		if path != "" {
			b.parts = strings.Split(path[1:], "/")
		}
		rt.routes = append(rt.routes, b)
	}
	slices.SortStableFunc(rt.routes, func(a, b boundRoute) int {
		for i := range max(len(a.parts), len(b.parts)) {
			if c := cmp.Compare(vagueness(a, i), vagueness(b, i)); c != 0 {
				return c
			}
		}
		return 0
	})
	return rt
}

const variable = "{dependency}"

func vagueness(r boundRoute, part int) int {
	switch {
	case part >= len(r.parts):
		return 2
	case r.parts[part] == variable:
		return 1
	default:
		return 0
	}
}

// ServeHTTP hands the request to its route, with the path values "dependency"
// and, as it was escaped, "rest": what "*" stands for, without the slash before.
func (rt *router) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	parts, ok := split(r.URL)
	if !ok {
		refuse(w, http.StatusBadRequest, "the path has a part that is . or .., which could lead out of the dependency's own path")
		return
	}
	for _, route := range rt.routes {
		id, rest, ok := route.match(parts)
		if !ok {
			continue
		}
		if id != "" {
			r.SetPathValue("dependency", id)
		}
		r.SetPathValue("rest", rest)
		route.handler.ServeHTTP(w, r)
		return
	}
	refuse(w, http.StatusNotFound, "no route has this path")
}

// split returns the parts of a path as they are escaped; not ok if one of them
// could climb up, however it is escaped.
func split(u *url.URL) (parts []string, ok bool) {
	path, found := strings.CutPrefix(forwarded.Path(u), "/")
	if !found {
		return nil, true // "*" or "" of OPTIONS and CONNECT: no route fits
	}
	parts = strings.Split(path, "/")
	return parts, !slices.ContainsFunc(parts, climbs)
}

// climbs also looks through a second escaping and at the separator of Windows:
// servers behind differ in what they decode.
func climbs(part string) bool {
	for range 3 {
		for piece := range strings.FieldsFuncSeq(part, func(c rune) bool { return c == '/' || c == '\\' }) {
			piece, _, _ = strings.Cut(piece, ";") // "..;x" is ".." to some
			if piece == "." || piece == ".." {
				return true
			}
		}
		plain, err := url.PathUnescape(part)
		if err != nil || plain == part {
			return false
		}
		part = plain
	}
	return false
}

func (r boundRoute) match(parts []string) (id, rest string, ok bool) {
	if len(parts) < len(r.parts) || len(parts) > len(r.parts) && !r.rest {
		return "", "", false
	}
	for i, want := range r.parts {
		got, err := url.PathUnescape(parts[i])
		switch {
		case err != nil || got == "" && want != "":
			return "", "", false
		case want == variable:
			id = got
		case want != got:
			return "", "", false
		}
	}
	return id, strings.Join(parts[len(r.parts):], "/"), true
}

func refuse(w http.ResponseWriter, status int, detail string) {
	problem.Write(w, problem.Problem{Status: status, Detail: detail})
}
