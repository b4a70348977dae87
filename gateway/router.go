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
	handler handlerFunc
}

// handlerFunc answers a request whose path has that dependency in it and ends in
// rest: as it was escaped, and without the slash before.
type handlerFunc func(w http.ResponseWriter, r *http.Request, dependency, rest string)

// newRouter orders routes so that the first that fits is the most exact one
// from the left: a word before {dependency} before *.
func newRouter(routes []config.Route, handler func(config.Route) handlerFunc) *router {
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

// ServeHTTP hands the request to its route.
func (rt *router) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method == http.MethodConnect { // a tunnel could lead anywhere
		refuse(w, http.StatusNotImplemented, "this is no proxy for CONNECT")
		return
	}
	path, found := strings.CutPrefix(forwarded.Path(r.URL), "/")
	parts := make([]string, 0, 16) // on the stack, for most
	if !found {                    // "*" of OPTIONS
		path = ""
	} else {
		for part := range strings.SplitSeq(path, "/") {
			parts = append(parts, part)
		}
	}
	if slices.ContainsFunc(parts, climbs) {
		refuse(w, http.StatusBadRequest, "the path has a part that is . or .., which could lead out of the dependency's own path")
		return
	}
	for i := range rt.routes {
		route := &rt.routes[i]
		if id, ok := route.match(parts); ok {
			for range route.parts {
				_, path, _ = strings.Cut(path, "/")
			}
			route.handler(w, r, id, path)
			return
		}
	}
	refuse(w, http.StatusNotFound, "no route has this path")
}

// climbs also looks through more escapings, at the separator of Windows and at
// what may end a name: servers behind differ in what they decode.
func climbs(part string) bool {
	if strings.IndexByte(part, '.') < 0 && strings.IndexByte(part, '%') < 0 { // as nearly all
		return false
	}
	for range 4 {
		for piece := range strings.FieldsFuncSeq(part, func(c rune) bool { return c == '/' || c == '\\' }) {
			if end := strings.IndexAny(piece, ";?#\x00"); end >= 0 {
				piece = piece[:end]
			}
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
	return true // nobody means a path that is escaped so often
}

func (r *boundRoute) match(parts []string) (id string, ok bool) {
	if len(parts) < len(r.parts) || len(parts) > len(r.parts) && !r.rest {
		return "", false
	}
	for i, want := range r.parts {
		got, err := url.PathUnescape(parts[i])
		switch {
		case err != nil || got == "" && want != "":
			return "", false
		case want == variable:
			id = got
		case want != got:
			return "", false
		}
	}
	return id, true
}

func refuse(w http.ResponseWriter, status int, detail string) {
	problem.Write(w, problem.Problem{Status: status, Detail: detail})
}
