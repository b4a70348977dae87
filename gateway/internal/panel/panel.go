// Package panel is what people see in a browser: who is cut off, why, until when,
// and whether they must do something.
//
// Pages are made here and read without scripts; a script keeps them live, by the
// same stream and the same API that every other program has. There is no build
// step: what is in static is served as it is.
package panel

import (
	"context"
	"fmt"
	"html/template"
	"log/slog"
	"net/http"
	"time"

	"github.com/recloser-go/recloser/gateway/internal/admin"
	"github.com/recloser-go/recloser/gateway/internal/auth"
)

// Options are what the panel is made from.
type Options struct {
	Auth *auth.Auth       // for signing in; nil: nobody can
	Log  *slog.Logger     // nil: nothing is logged
	Now  func() time.Time // nil: time.Now
	// Embedders are origins whose pages may show /embed/ in a frame, such as
	// https://cms.example.
	Embedders []string
	URL       string // how people reach the gateway, for command lines; "": as the request did
}

// Panel makes pages. It is safe for concurrent use.
type Panel struct {
	Options
	assets *assets
	pages  map[string]*template.Template
}

// New returns a Panel.
func New(o Options) (*Panel, error) {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	p := &Panel{Options: o}
	var err error
	if p.assets, err = newAssets(); err != nil {
		return nil, fmt.Errorf("panel: %w", err)
	}
	if p.pages, err = parsePages(p.assets); err != nil {
		return nil, fmt.Errorf("panel: %w", err)
	}
	return p, nil
}

// Register routes pages, for callers that are known, and what everybody may load.
// It is what admin.Options.Pages wants.
func (p *Panel) Register(read *admin.Reader, signedIn, everybody *http.ServeMux) {
	everybody.Handle("GET "+assetsPath, p.assets)
	p.registerSignIn(everybody)
	everybody.HandleFunc("GET /embed/{id...}", p.embed)
	signedIn.HandleFunc("GET /timeline.csv", func(w http.ResponseWriter, r *http.Request) { p.timelineCSV(w, r, read) })
	for pattern, make := range map[string]func(context.Context, *view, *http.Request) error{
		"/{$}":         p.overview,
		"/d/{id...}":   p.detail,
		"/wall":        p.wall,
		"/timeline":    p.timeline,
		"/maintenance": p.maintenance,
		"/alerts":      p.alerts,
		"/audit":       p.audit,
		"/nodes":       p.nodes,
	} {
		signedIn.HandleFunc("GET "+pattern, func(w http.ResponseWriter, r *http.Request) { p.serve(w, r, read, make) })
	}
}
