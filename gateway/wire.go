package gateway

import (
	"context"
	"crypto/tls"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"time"

	"github.com/recloser-go/recloser"
	"github.com/recloser-go/recloser/gateway/internal/admin"
	"github.com/recloser-go/recloser/gateway/internal/alert"
	"github.com/recloser-go/recloser/gateway/internal/auth"
	"github.com/recloser-go/recloser/gateway/internal/bulkhead"
	"github.com/recloser-go/recloser/gateway/internal/certs"
	"github.com/recloser-go/recloser/gateway/internal/config"
	"github.com/recloser-go/recloser/gateway/internal/dependency"
	"github.com/recloser-go/recloser/gateway/internal/history"
	"github.com/recloser-go/recloser/gateway/internal/incident"
	"github.com/recloser-go/recloser/gateway/internal/maintenance"
	"github.com/recloser-go/recloser/gateway/internal/message"
	"github.com/recloser-go/recloser/gateway/internal/panel"
	"github.com/recloser-go/recloser/gateway/internal/probe"
	"github.com/recloser-go/recloser/gateway/internal/series"
	"github.com/recloser-go/recloser/gateway/internal/sharing"
	"github.com/recloser-go/recloser/gateway/internal/suspect"
	"github.com/recloser-go/recloser/gateway/internal/trace"
	"github.com/recloser-go/recloser/internal/vtime"
)

// New makes everything, with the state that it had before a restart, and starts
// nothing but the breakers' clock and the storage, which Stop ends, or Start if it
// fails.
func New(o Options) (*Gateway, error) {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	c := o.Config
	clock, err := recloser.StartClock(tick)
	if err != nil {
		return nil, err
	}
	g := &Gateway{
		load: o.Load, started: o.Started, read: c, log: o.Log,
		clock: clock, uplink: &suspect.Uplink{}, process: bulkhead.New(c.Limits.InFlight, vtime.Real{}),
		certificates: make(map[string]*certs.Files), failed: make(chan error, 2),
		turn: make(chan struct{}, 1), begun: c,
	}
	g.life, g.end = context.WithCancel(context.Background())
	g.config.Store(c)
	callsTLS, err := g.secure("listen", c.TLS)
	if err != nil {
		return nil, stopped(clock, err)
	}
	adminTLS, err := g.secure("admin.listen", c.Admin.TLS)
	if err != nil {
		return nil, stopped(clock, err)
	}
	if c.Traces != nil {
		if g.traces, err = trace.New(trace.Options{Config: c.Traces, Version: Version(), Log: o.Log}); err != nil {
			return nil, stopped(clock, err)
		}
	}
	if g.member, err = newMember(c, o.Store, Version(), g.opinion, o.Log); err != nil {
		return nil, stopped(clock, err)
	}
	g.history = history.Open(g.stored(c))
	g.deps = dependency.Maker{
		Clock:     clock,
		Operator:  g.member.operator,
		Hold:      g.uplink.Us,
		MayTarget: func(a netip.Addr) bool { return g.config.Load().Admin.MayTarget(a) },
		Listeners: []func(id, key string, t recloser.Transition){g.logTransition, g.recordTransition, g.saveTransition, g.tellPeople, g.liftLimit, g.traceTransition},
	}.Empty()
	g.keeper = newKeeper(g.deps, g.history, o.Log)
	if g.member != nil {
		g.keeper.fleet = true
		g.sharing = sharing.New(sharing.Options{Store: g.member.store, Fleet: c.Fleet.Name, History: g.history, Changed: g.adopted, Log: o.Log})
	}
	g.sender = newSender(&sender{
		alone: g.member == nil, leads: func() bool { return g.member.leads(roleSender) },
		make: g.newAlerts, all: g.deps.All, apart: apart{now: g.member.apart}, history: g.history, log: o.Log,
	})
	g.maintenance = maintenance.New(maintenance.Options{
		Breakers: g.deps,
		Windows:  g.history.Maintenance,
		Save: func(ctx context.Context, w maintenance.Window) error {
			return g.history.Commit(ctx, history.Act{}, history.PutMaintenance(w))
		},
		Tell: g.recordMaintenance,
		Log:  o.Log,
	})
	if err := g.deps.Apply(c.Dependencies); err != nil {
		g.close()
		return nil, err
	}
	g.handlers = newHandlers(g.deps, g.process, func() config.Limits { return g.config.Load().Limits }, o.Log, g.traces)
	g.keeper.restore(context.Background(), c, func(string) bool { return true })

	g.probes = probe.New(probe.Options{Log: o.Log, Record: g.record})
	g.series = series.New(series.Options{Dependencies: g.deps.All, Store: g.history, Log: o.Log})
	g.routes.Store(g.newRoutes(c.Routes))
	g.calls = newListener("listen", c.Listen, callsTLS, c.Limits, g.traces.Handler(http.HandlerFunc(g.serveCall)), o.Log)
	people, err := g.newAdmin()
	if err != nil {
		g.close()
		return nil, err
	}
	g.admin = newListener("admin.listen", c.Admin.Listen, adminTLS, c.Limits, people, o.Log)
	return g, nil
}

// newAlerts makes what tells people, with what the history knows now.
func (g *Gateway) newAlerts() *alert.Alerts {
	c := g.config.Load()
	return alert.New(alert.Options{
		Config:       c.Alerts,
		PanelURL:     c.Admin.URL,
		Dependencies: g.watched,
		Stats:        g.stats,
		Limits:       g.limits,
		Covers:       func(id string) bool { return g.maintenance.Covers(id) },
		Us:           g.uplink.Us,
		AllInDoubt:   g.member.allInDoubt,
		Seen:         g.member.seen,
		HeldUntil:    g.heldUntil,
		History:      g.history,
		Log:          g.log,
	})
}

// heldUntil is how long bad probes hold the trials of a dependency back.
func (g *Gateway) heldUntil(id string) time.Time {
	v, _ := g.probes.View(id)
	return v.Held
}

// secure returns what the listener of that name needs; nil without files.
func (g *Gateway) secure(name string, files *config.TLS) (*tls.Config, error) {
	if files == nil {
		return nil, nil
	}
	f, err := certs.Load(files.Cert, files.Key, certs.Options{Log: g.log})
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	g.certificates[name] = f
	return f.Config(), nil
}

func stopped(clock *recloser.Clock, err error) error {
	clock.Stop()
	return err
}

func (g *Gateway) newRoutes(routes []config.Route) *router { return newRouter(routes, g.handlers.of) }

func (g *Gateway) newAdmin() (http.Handler, error) {
	c := g.config.Load()
	tokens := g.keeper.tokens
	callers := auth.New(auth.Options{
		SignIn: c.Admin.SignIn, Authenticators: []auth.Authenticator{tokens}, Log: g.log,
		Sessions: auth.NewSessions(tokens, strings.HasPrefix(c.Admin.URL, "https:")),
		Stranger: http.HandlerFunc(panel.Stranger),
	})
	pages, err := panel.New(panel.Options{Auth: callers, Log: g.log, URL: c.Admin.URL, Embedders: c.Admin.Embed})
	if err != nil {
		return nil, err
	}
	return admin.New(admin.Options{
		Dependencies: g.deps,
		History:      g.history,
		Maintenance:  g.maintenance,
		Probes:       g.probes,
		Uplink:       g.uplink,
		Series:       g.series,
		Limit:        g.process,
		Limiters:     g.handlers.limiters,
		Auth:         callers,
		Pages:        pages.Register,
		Tokens:       tokens,
		Certificates: g.certificates,
		Alerts:       g.sender.now,
		Config:       g.config.Load,
		Turn:         g.turn,
		Reload:       g.reload,
		Reloads:      g.reloads.seen,
		Version:      Version(),
		Ready:        g.ready.Load,
		Log:          g.log,
		Hosts:        hosts(c.Admin),
		Quit:         g.life.Done(),
		Fleet:        g.member.status,
		Node:         c.Fleet.Node,
	}), nil
}

// tellPeople has messages sent. Those about a key of many would be too many.
func (g *Gateway) tellPeople(_, key string, t recloser.Transition) {
	if key == "" {
		g.sender.listen(t)
	}
}

// traceTransition leaves out those of keys: there would be too many, and they may be
// of persons.
func (g *Gateway) traceTransition(_, key string, t recloser.Transition) {
	if key == "" {
		g.traces.Listen(t)
	}
}

// watched returns what people are told about.
func (g *Gateway) watched() []incident.Dependency {
	routes := g.config.Load().Routes
	var all []incident.Dependency
	for _, d := range g.deps.All() {
		all = append(all, incident.Dependency{ID: d.ID, Name: d.Name, Group: d.Group, LastKnown: config.LastKnownOf(routes, d.ID, d.Group)})
	}
	return all
}

func (g *Gateway) limits(id string) message.Limits {
	if d, ok := g.deps.Get(id); ok {
		return message.LimitsOf(d.Breaker.Config())
	}
	return message.Limits{}
}

func (g *Gateway) stats(id string) recloser.Stats {
	if d, ok := g.deps.Get(id); ok {
		return d.Breaker.Stats()
	}
	return recloser.Stats{}
}

// hosts returns the names by which a browser may reach the admin listener.
func hosts(a config.Admin) []string {
	var all []string
	if host, _, err := net.SplitHostPort(a.Listen); err == nil {
		all = append(all, host)
	}
	if u, err := url.Parse(a.URL); err == nil && u.Host != "" {
		all = append(all, u.Hostname())
	}
	return all
}
