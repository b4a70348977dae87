// Package admin is the gateway's listener for people, machines and metrics: an
// API under /api/v1 (described by itself at /openapi.json), one status page
// at /, /metrics, /healthz, /readyz and /version.
//
// Reading changes nothing and acts are never GET. There is no sign-in yet, so
// the listener belongs on a loopback address; what a page of another site could
// make an operator's browser do is refused, see protect.
package admin

import (
	"log/slog"
	"net/http"

	"github.com/recloser-go/recloser/gateway/internal/dependency"
)

// Options are what the listener shows and acts on.
type Options struct {
	Dependencies *dependency.List // required
	Version      string           // of this program, as /version says it
	Ready        func() bool      // whether calls are accepted; nil: always. Safe for concurrent use
	Log          *slog.Logger     // gets a line for each act; nil: nothing is logged

	// Hosts are names or addresses, without a port, that the listener is
	// reached by, such as its listen host and that of admin.url. Requests
	// for any other host are refused, but for localhost and loopback addresses.
	Hosts []string
}

// New returns the listener's handler. It is safe for concurrent use.
func New(o Options) http.Handler {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Ready == nil {
		o.Ready = func() bool { return true }
	}
	mux := http.NewServeMux()
	registerAPI(mux, o)
	registerHealth(mux, o.Ready)
	mux.Handle("GET /metrics", metricsHandler(o.Dependencies))
	registerPage(mux, o)
	return protect(o.Hosts, withProblems(mux))
}
