package admin

import (
	"context"
	"encoding/json"
	"net"
	"net/http"
	"net/netip"
	"sync"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"github.com/recloser-go/recloser/fleet"
)

// api holds what the operations under /api/v1 need.
type api struct {
	Options
	routes  huma.API
	streams streams
	frames  *frames // of numbers, for all streams
	keys    keyLocks
	lookup  func(ctx context.Context, network, host string) ([]netip.Addr, error) // of names
}

func newAPI(o Options) *api {
	if o.Turn == nil {
		o.Turn = make(chan struct{}, 1)
	}
	if o.Fleet == nil {
		o.Fleet = func() (*fleet.Status, map[string]*fleet.BreakerStatus) { return nil, nil }
	}
	return &api{
		Options: o, frames: newFrames(), lookup: net.DefaultResolver.LookupNetIP,
	}
}

// register routes the API and its own description.
func (a *api) register(mux *http.ServeMux) {
	a.routes = humago.New(mux, huma.Config{
		OpenAPI: &huma.OpenAPI{
			OpenAPI: "3.1.0",
			Info: &huma.Info{
				Title: "Recloser admin API",
				Description: "Who is cut off, why, until when; and to isolate, hold closed and release by hand. " +
					"Times are RFC 3339 in UTC, durations milliseconds where the name says so. What goes wrong is a problem (RFC 9457).",
				Version: a.Version,
			},
			Components: &huma.Components{
				Schemas: huma.NewMapRegistry("#/components/schemas/", huma.DefaultSchemaNamer),
				SecuritySchemes: map[string]*huma.SecurityScheme{
					bearer: { //nolint:gosec // no credentials, but what they look like
						Type: "http", Scheme: "bearer", BearerFormat: "rcl_<id>_<secret>",
						Description: "A token made by POST /api/v1/tokens or recloser token create. Without admin.sign_in none is needed on the gateway's own machine.",
					},
				},
			},
		},
		Formats:                      formats(),
		DefaultFormat:                "application/json",
		RejectUnknownQueryParameters: true,
	})
	a.registerDependencies()
	a.registerDefinitions()
	a.registerOverride()
	a.registerBatch()
	a.registerActs()
	a.registerSeries()
	a.registerHistory()
	a.registerStream()
	a.registerMaintenance()
	a.registerTokens()
	a.registerAlerts()
	a.registerNode()
	a.describe(mux)
}

// describe serves the API's description. huma does so too, but makes it in the
// first request without a lock.
func (a *api) describe(mux *http.ServeMux) {
	serve := func(path, kind string, render func() ([]byte, error)) {
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
	serve("/openapi.json", "application/openapi+json", func() ([]byte, error) { return json.Marshal(a.routes.OpenAPI()) })
	serve("/openapi.yaml", "application/openapi+yaml", a.routes.OpenAPI().YAML)
}
