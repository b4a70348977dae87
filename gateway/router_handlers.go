package gateway

import (
	"log/slog"
	"net/http"

	"github.com/recloser-go/recloser/gateway/internal/ask"
	"github.com/recloser-go/recloser/gateway/internal/bulkhead"
	"github.com/recloser-go/recloser/gateway/internal/config"
	"github.com/recloser-go/recloser/gateway/internal/dependency"
	"github.com/recloser-go/recloser/gateway/internal/proxy"
	"github.com/recloser-go/recloser/gateway/internal/ratelimit"
	"github.com/recloser-go/recloser/gateway/internal/trace"
)

// handlers makes what answers the requests of a route. It outlives a reload, and so
// do the last known answers of routes that stay as they are.
type handlers struct {
	limiters *ratelimit.Limiters
	proxies  *proxy.Proxy
	asks     *ask.Asker
}

// newHandlers: process is for all calls of this process; traces may be nil.
func newHandlers(deps *dependency.List, process *bulkhead.Bulkhead, limits func() config.Limits, log *slog.Logger, traces *trace.Tracer) *handlers {
	limiters := &ratelimit.Limiters{}
	return &handlers{
		limiters: limiters,
		proxies:  proxy.New(proxy.Options{Dependencies: deps, Bulkhead: process, Limits: limits, Limiters: limiters, Log: log, Trace: traces}),
		asks:     ask.New(ask.Options{Dependencies: deps, Bulkhead: process, Limits: limits, Limiters: limiters, Log: log, Trace: traces}),
	}
}

func (h *handlers) of(r config.Route) handlerFunc {
	if r.Ask == nil {
		return h.proxies.Handler(r).Serve
	}
	ask := h.asks.Handler(r)
	return func(w http.ResponseWriter, r *http.Request, _, _ string) { ask.ServeHTTP(w, r) }
}

// keep forgets what there is of routes that are not among these.
func (h *handlers) keep(routes []config.Route) {
	var asks, others []config.Route
	for _, r := range routes {
		if r.Ask != nil {
			asks = append(asks, r)
		} else {
			others = append(others, r)
		}
	}
	h.limiters.Keep(routes)
	h.proxies.Keep(others)
	h.asks.Keep(asks)
}
