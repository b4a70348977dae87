// Package admin is the gateway's listener for people, machines and metrics: an
// API under /api/v1 (described by itself at /openapi.json), /metrics, /healthz,
// /readyz and /version, and whatever pages it is given.
//
// Reading changes nothing and acts are never GET. Package auth says who may do
// what; what a page of another site could make an operator's browser do is
// refused, see protect.
package admin

import (
	"cmp"
	"context"
	"log/slog"
	"net/http"
	"os"
	"time"

	"github.com/recloser-go/recloser/fleet"
	"github.com/recloser-go/recloser/gateway/internal/alert"
	"github.com/recloser-go/recloser/gateway/internal/auth"
	"github.com/recloser-go/recloser/gateway/internal/bulkhead"
	"github.com/recloser-go/recloser/gateway/internal/certs"
	"github.com/recloser-go/recloser/gateway/internal/config"
	"github.com/recloser-go/recloser/gateway/internal/dependency"
	"github.com/recloser-go/recloser/gateway/internal/history"
	"github.com/recloser-go/recloser/gateway/internal/maintenance"
	"github.com/recloser-go/recloser/gateway/internal/probe"
	"github.com/recloser-go/recloser/gateway/internal/ratelimit"
	"github.com/recloser-go/recloser/gateway/internal/series"
	"github.com/recloser-go/recloser/gateway/internal/suspect"
)

// Options are what the listener shows and acts on. All but Dependencies may be
// left out; what rests on it is not shown then, or answers that it is not there.
type Options struct {
	Dependencies *dependency.List
	History      *history.History      // events, audit, and what outlives a restart
	Maintenance  *maintenance.Runner   // planned isolations; needs History
	Probes       *probe.Prober         // what probes saw
	Uplink       *suspect.Uplink       // whether it is us
	Series       *series.Series        // numbers over time
	Limit        *bulkhead.Bulkhead    // of all calls of this process
	Limiters     *ratelimit.Limiters   // of routes; nil: none
	Alerts       func() *alert.Alerts  // messages and where they go
	Auth         *auth.Auth            // who is who; nil: whoever is on this machine may do everything
	Tokens       *auth.Tokens          // needs History
	Config       func() *config.Config // the one in force

	// Fleet returns what is known of the other nodes, and of each breaker by name; nil, as
	// without it: this process is alone.
	Fleet func() (*fleet.Status, map[string]*fleet.BreakerStatus)

	// Certificates are those of the listeners, by the setting that names the
	// listener's address: "listen", "admin.listen".
	Certificates map[string]*certs.Files

	// Turn is held, by sending to it, by who acts. Whoever else changes what acts are
	// about, as a reload does, holds it too. Its capacity is 1; nil: nobody else does.
	Turn chan struct{}

	// Reload reads the configuration anew and puts it in force, wholly or not at all;
	// takes the Turn. It returns what that changed, and what waits for a restart.
	Reload  func(ctx context.Context) (config.Changes, error)
	Reloads func() Reloads // those since the start, whoever asked for them

	Node    string       // name of this process among others; "": that of the machine
	Started time.Time    // when this process did; zero: when New was called
	Version string       // of this program, as /version says it
	Ready   func() bool  // whether calls are accepted; nil: always
	Log     *slog.Logger // gets a line for each act; nil: nothing is logged

	// Pages routes what people see: pages for callers that are known, and what
	// everybody may load, such as style sheets. nil: there are none.
	Pages func(read *Reader, signedIn, everybody *http.ServeMux)

	// Hosts are names or addresses, without a port, that the listener is
	// reached by, such as its listen host and that of admin.url. Requests
	// for any other host are refused, but for localhost and loopback addresses.
	Hosts []string
	// Quit ends streams once it is closed: a server that shuts down waits for
	// them. nil: never.
	Quit <-chan struct{}
}

// Reloads counts reloads of the configuration.
type Reloads struct {
	Good, Failed uint64
	Last         time.Time // when the last one was; zero: never
	Fault        string    // why the last one was not taken; "": it was
}

// New returns the listener's handler. It is safe for concurrent use, and so must
// be all functions of o.
func New(o Options) http.Handler {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Ready == nil {
		o.Ready = func() bool { return true }
	}
	if o.Auth == nil {
		o.Auth = auth.New(auth.Options{Log: o.Log})
	}
	if o.Node == "" {
		name, _ := os.Hostname()
		o.Node = cmp.Or(name, "this one")
	}
	if o.Started.IsZero() {
		o.Started = time.Now()
	}
	a := newAPI(o)

	// Health and metrics are for machines that have no token.
	all := http.NewServeMux()
	registerHealth(all, o.Ready)
	all.Handle("GET /metrics", o.Auth.Local(a.metricsHandler()))

	signedIn := http.NewServeMux()
	a.register(signedIn)
	if o.Pages != nil {
		o.Pages(&Reader{a}, signedIn, all)
	}
	all.Handle("/", o.Auth.Handler(a.once(withProblems(signedIn))))
	return protect(o.Hosts, all)
}
