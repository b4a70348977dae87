// Package proxy passes a request on to the dependency that its route names,
// through that dependency's breaker.
package proxy

import (
	"cmp"
	"log/slog"
	"net/http"

	"github.com/recloser-go/recloser/gateway/internal/bulkhead"
	"github.com/recloser-go/recloser/gateway/internal/config"
	"github.com/recloser-go/recloser/gateway/internal/dependency"
	"github.com/recloser-go/recloser/gateway/internal/forwarded"
	"github.com/recloser-go/recloser/gateway/internal/lastknown"
	"github.com/recloser-go/recloser/gateway/internal/problem"
	"github.com/recloser-go/recloser/gateway/internal/ratelimit"
	"github.com/recloser-go/recloser/gateway/internal/trace"
)

// Options are what a Proxy is made from. All but Trace are required.
type Options struct {
	Dependencies *dependency.List
	Bulkhead     *bulkhead.Bulkhead   // of all calls of this process
	Limits       func() config.Limits // for handlers that are made from now on
	Limiters     *ratelimit.Limiters  // of routes
	Log          *slog.Logger
	Trace        *trace.Tracer // nil: calls are not traced
}

// Proxy makes the handlers of proxy routes. It is safe for concurrent use.
type Proxy struct {
	Options
	buffers *buffers
	answers lastknown.Stores
}

// New returns a Proxy to these dependencies.
func New(o Options) *Proxy {
	return &Proxy{Options: o, buffers: newBuffers()}
}

// Handler passes requests on as route says. A handler for a route that there was
// before has its last known answers.
func (p *Proxy) Handler(route config.Route) *Handler {
	h := &Handler{Proxy: p, route: route, limits: p.Limits(), limit: p.Limiters.Of(route), store: p.answers.Of(route)}
	h.ways = dependency.Cache[*way]{List: p.Dependencies, Make: h.newWay}
	return h
}

// Keep forgets the last known answers of routes that are not among these.
func (p *Proxy) Keep(routes []config.Route) { p.answers.Keep(routes) }

// Handler passes on the requests of one route.
type Handler struct {
	*Proxy
	route  config.Route
	limits config.Limits
	limit  *ratelimit.Limiter // nil: none
	store  *lastknown.Store   // nil: none
	ways   dependency.Cache[*way]
}

// Serve passes on a request to the dependency with that ID, unless the route names
// one. rest is the path below the dependency's own URL, as it was escaped. It may
// change r, but for its body: two path values in a request would be four
// allocations.
func (h *Handler) Serve(w http.ResponseWriter, r *http.Request, id, rest string) {
	h.Trace.Route(r, h.route.Path)
	if !h.limit.Allow(w, r) {
		return
	}
	dep, ok := h.Dependencies.Get(cmp.Or(h.route.Dependency, id))
	if !ok {
		problem.Close(w, r)
		problem.Write(w, problem.Problem{Status: http.StatusNotFound, Detail: "there is no such dependency"})
		return
	}
	if most := h.limits.Body; most > 0 && r.ContentLength > most {
		problem.Close(w, r)
		problem.Write(w, problem.TooLong(most))
		return
	}
	h.Trace.To(r, dep)
	if r.ContentLength != 0 {
		upload := forwarded.Watch(w, r, h.limits.Body, h.limits.BodyIdle)
		defer upload.Leave()
		upload.Duplex()
	}
	if h.store != nil {
		r = remember(h.store, r)
	}
	h.ways.Of(dep).serve(w, r, rest)
}
