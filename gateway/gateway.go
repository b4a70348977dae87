// Package gateway wires the gateway together: dependencies with their breakers,
// the listener for calls, the listener for people, and alerts.
package gateway

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/recloser-go/recloser"
	"github.com/recloser-go/recloser/gateway/internal/admin"
	"github.com/recloser-go/recloser/gateway/internal/alert"
	"github.com/recloser-go/recloser/gateway/internal/ask"
	"github.com/recloser-go/recloser/gateway/internal/config"
	"github.com/recloser-go/recloser/gateway/internal/dependency"
	"github.com/recloser-go/recloser/gateway/internal/proxy"
)

// Options are what a gateway is made from.
type Options struct {
	Config  *config.Config // required
	Log     *slog.Logger   // nil: nothing is logged
	Version string         // of this program, as /version says it
}

// Gateway is one gateway. Start it once and Stop it once; its other methods may
// be called at any time.
type Gateway struct {
	config *config.Config
	log    *slog.Logger
	deps   *dependency.List
	clock  *recloser.Clock
	alerts *alert.Alerts
	calls  *listener
	admin  *listener

	ready   atomic.Bool
	running sync.WaitGroup
	failed  chan error
	quit    chan struct{}
}

const (
	tick        = 5 * time.Millisecond  // of the clock of all breakers: a standstill of this process is no dependency's failure
	checkEvery  = 50 * time.Millisecond // how late a breaker may notice that something is due while no call tells it
	adminGrace  = time.Second           // for answers to people while stopping
	alertsGrace = 3 * time.Second       // for messages that are not sent yet
)

// New makes everything and starts nothing but the breakers' clock, which Stop ends.
func New(o Options) (*Gateway, error) {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	clock, err := recloser.StartClock(tick)
	if err != nil {
		return nil, err
	}
	settings := slices.Clone(o.Config.Dependencies)
	for i := range settings {
		settings[i].Settings.Clock = clock
	}
	deps, err := dependency.NewList(settings)
	if err != nil {
		clock.Stop()
		return nil, err
	}
	g := &Gateway{config: o.Config, log: o.Log, deps: deps, clock: clock, failed: make(chan error, 2), quit: make(chan struct{})}
	g.alerts = alert.New(alert.Options{
		Teams:       o.Config.Alerts.Teams,
		PanelURL:    o.Config.Admin.URL,
		DisplayName: g.displayName,
		Stats:       g.stats,
		Log:         o.Log,
	})
	for _, d := range deps.All() {
		d.Breaker.Subscribe(g.logTransition)
		d.Breaker.Subscribe(g.alerts.Listen)
	}
	g.calls = newListener("listen", o.Config.Listen, g.routes(), o.Log)
	g.admin = newListener("admin.listen", o.Config.Admin.Listen, admin.New(admin.Options{
		Dependencies: deps,
		Version:      o.Version,
		Ready:        g.ready.Load,
		Log:          o.Log,
		Hosts:        hosts(o.Config.Admin),
	}), o.Log)
	return g, nil
}

func (g *Gateway) routes() http.Handler {
	proxies := proxy.New(g.deps, g.log)
	asks := ask.New(g.deps, g.log)
	return newRouter(g.config.Routes, func(r config.Route) http.Handler {
		if r.Ask != nil {
			return asks.Handler(r)
		}
		return proxies.Handler(r)
	})
}

// Run starts the gateway and, once ctx is done, stops it within the grace time
// of the config.
func (g *Gateway) Run(ctx context.Context) error {
	if err := g.Start(ctx); err != nil {
		return err
	}
	var failed error
	select {
	case <-ctx.Done():
	case failed = <-g.failed:
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), g.config.Grace)
	defer cancel()
	return errors.Join(failed, g.Stop(ctx))
}

// Start opens both listeners and returns once calls are accepted. If it fails,
// nothing is open and nothing runs. ctx limits opening, not what is opened.
func (g *Gateway) Start(ctx context.Context) error {
	if err := g.calls.open(ctx, g.config.File); err != nil {
		g.clock.Stop()
		return err
	}
	if err := g.admin.open(ctx, g.config.File); err != nil {
		g.calls.close()
		g.clock.Stop()
		return err
	}
	g.alerts.Start()
	g.running.Go(g.check)
	for _, l := range []*listener{g.calls, g.admin} {
		g.running.Go(func() {
			if err := l.serve(); err != nil {
				g.failed <- err
			}
		})
	}
	g.ready.Store(true)
	g.log.InfoContext(ctx, "serving", "calls", g.Addr(), "admin", g.AdminAddr(),
		"dependencies", len(g.config.Dependencies), "routes", len(g.config.Routes))
	return nil
}

// Stop takes no more calls and waits for those that run, until ctx is done. It
// returns an error if some had to be cut off then.
func (g *Gateway) Stop(ctx context.Context) error {
	g.ready.Store(false)
	g.log.InfoContext(ctx, "stopping: running calls may end")
	err := g.calls.stop(ctx)
	close(g.quit) // after the calls: their breakers are looked after to the end
	g.admin.stopWithin(adminGrace)
	g.running.Wait()
	late, cancel := context.WithTimeout(context.WithoutCancel(ctx), alertsGrace)
	defer cancel()
	g.alerts.Stop(late)
	g.deps.CloseIdle()
	g.clock.Stop()
	if err != nil {
		return fmt.Errorf("calls were cut off while stopping, as they did not end in time: raise grace in %s", g.config.File)
	}
	g.log.InfoContext(ctx, "stopped")
	return nil
}

// Addr returns where calls are taken, "" before Start.
func (g *Gateway) Addr() string { return g.calls.addr() }

// AdminAddr returns where people are, "" before Start.
func (g *Gateway) AdminAddr() string { return g.admin.addr() }

// Dependencies returns what the gateway protects.
func (g *Gateway) Dependencies() *dependency.List { return g.deps }

// Messages returns the latest messages about dependencies, oldest first.
func (g *Gateway) Messages() []alert.Message { return g.alerts.Messages() }

// check has every breaker do what is due: a call that hangs is judged, and an
// open time ends, while nothing else happens.
func (g *Gateway) check() {
	ticker := time.NewTicker(checkEvery)
	defer ticker.Stop()
	for {
		select {
		case <-g.quit:
			return
		case <-ticker.C:
			for _, d := range g.deps.All() {
				d.Breaker.Check()
			}
		}
	}
}

func (g *Gateway) logTransition(t recloser.Transition) {
	level := slog.LevelInfo
	if t.To == recloser.Open && t.From == recloser.Closed {
		level = slog.LevelWarn
	}
	attrs := []slog.Attr{
		slog.String("dependency", t.Name),
		slog.String("from", t.From.String()),
		slog.String("to", t.To.String()),
		slog.String("effect", t.To.Effect()),
		slog.String("reason", string(t.Reason)),
		slog.Uint64("bad", t.Counts.Bad()),
		slog.Uint64("judged", t.Counts.Judged()),
	}
	if t.To == recloser.Open {
		attrs = append(attrs, slog.String("open_for", t.OpenFor.Round(time.Millisecond).String()))
	}
	if t.Cause != nil {
		attrs = append(attrs, slog.String("cause", t.Cause.Error()))
	}
	if t.By != "" {
		attrs = append(attrs, slog.String("by", t.By), slog.String("note", t.Note))
	}
	g.log.LogAttrs(context.Background(), level, "dependency changed state", attrs...)
}

func (g *Gateway) displayName(id string) string {
	if d, ok := g.deps.Get(id); ok {
		return d.Name
	}
	return id
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
