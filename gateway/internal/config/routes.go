package config

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/goccy/go-yaml/ast"

	"github.com/recloser-go/recloser/internal/suggest"
)

// routes reads the list; those of included files are added.
func (c *Config) routes() value {
	return value{
		kind: "list",
		schema: func() object {
			return object{"type": "array", "items": objectOf(c.routeKeys(&Route{ReleaseOnTrip: true}))}
		},
		read: func(r *reader, n ast.Node) {
			for i, item := range r.list(n) {
				r.within(r.called(item, "path", fmt.Sprint(i)), func() {
					route, path := c.route(r, item)
					if path == nil {
						return
					}
					if first, twice := r.paths[route.Path]; twice {
						r.twice(path, first, "change", "path %s is written twice", route.Path)
					} else {
						r.paths[route.Path] = place{r, path}
					}
					c.Routes = append(c.Routes, route)
				})
			}
		},
		show: func(path string, put put) {
			for _, route := range c.Routes {
				showAll(c.routeKeys(&route), below(path, route.Path), put)
			}
		},
	}
}

func (c *Config) routeKeys(route *Route) []key {
	return []key{
		{name: "path", value: routePath(&route.Path), needed: true, span: "begins with `/`; `{dependency}` for one whole part, `*` for the rest, as the last part", means: "which requests it is for"},
		{
			name: "dependency", value: c.reference(&route.Dependency), span: "not together with `{dependency}` or `ask`", normal: "the part at `{dependency}`",
			means: "where its requests go. With `*` in the path only that rest is appended to the dependency's url, without `*` nothing is",
		},
		{name: "ask", value: c.askSection(&route.Ask), span: "not together with `dependency`, `{dependency}` or `*`", means: "asks a group: [ask](#ask)"},
		{
			name: "release_on_trip", value: boolean(&route.ReleaseOnTrip),
			means: "callers who wait are released on a trip. A request that changes something may have been carried out all the same, as after a timeout. Not for an ask: members leave it on a trip in any case",
		},
		{name: "rate_limit", value: routeRateLimit(route), normal: "none", means: "how often it is called, else 429: [routes.rate_limit](#routesrate_limit)"},
		{name: "last_known", value: lastKnown(route), normal: "none", means: "answers with the last good answer where there is none now: [last_known](#last_known)"},
	}
}

// route returns the route and where its path is, nil if it has none.
func (c *Config) route(r *reader, n ast.Node) (Route, ast.Node) {
	route := Route{ReleaseOnTrip: true}
	before := len(r.faults)
	written := r.known(n, c.routeKeys(&route))
	r.readKeys(written, c.routeKeys(&route))
	path, dependency, ask := written["path"], written["dependency"], written["ask"]
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

// routePath is "/hotels/{dependency}/*" and the like.
func routePath(to *string) value {
	return scalar("path", object{"type": "string", "pattern": "^/"}, func(r *reader, n ast.Node, s string) {
		*to = s
		r.checkPath(n, s)
	}, func() string { return *to })
}

func (r *reader) checkPath(n ast.Node, s string) {
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
}

// reference is the id of a dependency that there is.
func (c *Config) reference(to *string) value {
	return scalar("id", object{"type": "string"}, func(r *reader, n ast.Node, s string) {
		*to = s
		if !slices.ContainsFunc(c.Dependencies, func(d Dependency) bool { return d.ID == s }) {
			r.fault(n, suggest.DidYouMean(s, func(yield func(string) bool) {
				for _, d := range c.Dependencies {
					if !yield(d.ID) {
						return
					}
				}
			}), "there is no dependency %q", s)
		}
	}, func() string { return *to })
}

// members returns the dependencies of a group that exists.
func (c *Config) members(group string) []Dependency {
	return slices.DeleteFunc(slices.Clone(c.Dependencies), func(d Dependency) bool {
		return group != Everyone && d.Group != group
	})
}

// group is one that some dependency is in, or Everyone.
func (c *Config) group(to *string) value {
	return scalar("text", object{"type": "string"}, func(r *reader, n ast.Node, s string) {
		*to = s
		if len(c.members(s)) > 0 || len(c.Dependencies) == 0 {
			return
		}
		groups := map[string]bool{Everyone: true}
		for _, d := range c.Dependencies {
			if d.Group != "" {
				groups[d.Group] = true
			}
		}
		r.fault(n, suggest.DidYouMean(s, maps.Keys(groups)), "no dependency is in the group %q", s)
	}, func() string { return *to })
}

func routeRateLimit(route *Route) value {
	return optional[RateLimit]{
		to: &route.RateLimit, fresh: RateLimit{Per: "client", Max: 10_000}, keys: (*RateLimit).keys,
		check: func(r *reader, n ast.Node, l *RateLimit) {
			r.need(n, "rate", "add rate:, such as 50/s", "nothing says how many requests are allowed")
			if l.Burst == 0 {
				l.Burst = int(math.Ceil(l.Rate))
			}
		},
	}.value()
}

func (l *RateLimit) keys() []key {
	return []key{
		{name: "per", value: per(&l.Per), span: "`client`, `route`, `header X-Name`", means: "who shares a limit: each address, all callers together, or those with the same value of a header"},
		{name: "rate", value: rate(&l.Rate, 1e6), needed: true, span: "`1/h` to `1000000/s`", means: "how many in a second (`50/s`), a minute (`3000/min`) or an hour (`10/h`)"},
		{name: "burst", value: whole(&l.Burst, 1, 1e6), normal: "what `rate` allows in a second, at least 1", span: "`1` to `1000000`", means: "how many at once after a pause"},
		{name: "max", value: whole(&l.Max, 1, 1e6), span: "`1` to `1000000`", means: "clients that are told apart; who was away longest is forgotten first"},
	}
}

func per(to *string) value {
	return scalar("text", object{"type": "string", "pattern": "^(client|route|header .+)$"}, func(r *reader, n ast.Node, s string) {
		if name, ok := strings.CutPrefix(s, "header "); ok {
			if name, ok = header(r, n, strings.TrimSpace(name)); ok {
				*to = "header " + name
			}
			return
		}
		if s != "client" && s != "route" {
			r.fault(n, "write client, route, or header and its name, such as header X-Name", "a limit cannot be per %q", s)
			return
		}
		*to = s
	}, func() string { return *to })
}

func lastKnown(route *Route) value {
	return optional[LastKnown]{
		to: &route.LastKnown, fresh: LastKnown{Max: 1000, Memory: 16 << 20}, keys: (*LastKnown).keys,
		check: func(r *reader, n ast.Node, _ *LastKnown) {
			r.need(n, "for", "add for:, such as 10m", "nothing says how old the last known answer may be")
		},
	}.value()
}

func (l *LastKnown) keys() []key {
	return []key{
		{name: "for", value: duration(&l.For, time.Second, 24*time.Hour), needed: true, span: "`1s` to `24h`", means: "how old an answer may be that is given; it says its age"},
		{
			name: "key", value: items("list", object{"type": "string", "pattern": headerPattern}, &l.Key, header, func(s string) string { return s }), normal: "none", span: "headers, such as `[X-Guest]`",
			means: "request headers that tell answers apart, besides method, path and query. Credentials always do",
		},
		{name: "max", value: whole(&l.Max, 1, 1e6), span: "`1` to `1000000`", means: "answers that are kept"},
		{name: "memory", value: size(&l.Memory, 1<<10, 1<<30), span: "`1KiB` to `1GiB`", means: "bytes that are kept in all"},
	}
}

// LastKnownOf returns how old an answer of the past may be that callers of a
// dependency get while it gives none; 0 if they get none.
func LastKnownOf(routes []Route, id, group string) (oldest time.Duration) {
	for _, r := range routes {
		reached := r.Dependency == id || strings.Contains(r.Path, "{dependency}") ||
			r.Ask != nil && (r.Ask.Group == Everyone || r.Ask.Group == group)
		if reached && r.LastKnown != nil {
			oldest = max(oldest, r.LastKnown.For)
		}
	}
	return oldest
}
