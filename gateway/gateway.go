// Package gateway wires the gateway together: dependencies with their breakers
// and what looks after them, the listener for calls, the listener for people,
// storage and alerts.
package gateway

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/recloser-go/recloser"
	"github.com/recloser-go/recloser/fleet"
	"github.com/recloser-go/recloser/gateway/internal/bulkhead"
	"github.com/recloser-go/recloser/gateway/internal/certs"
	"github.com/recloser-go/recloser/gateway/internal/config"
	"github.com/recloser-go/recloser/gateway/internal/dependency"
	"github.com/recloser-go/recloser/gateway/internal/history"
	"github.com/recloser-go/recloser/gateway/internal/maintenance"
	"github.com/recloser-go/recloser/gateway/internal/message"
	"github.com/recloser-go/recloser/gateway/internal/probe"
	"github.com/recloser-go/recloser/gateway/internal/series"
	"github.com/recloser-go/recloser/gateway/internal/sharing"
	"github.com/recloser-go/recloser/gateway/internal/suspect"
	"github.com/recloser-go/recloser/gateway/internal/trace"
)

// Options are what a gateway is made from.
type Options struct {
	Config  *config.Config                 // required
	Load    func() (*config.Config, error) // reads the config again, for Reload, as config.Load does; nil: there is no other
	Log     *slog.Logger                   // nil: nothing is logged
	Started func()                         // called once calls are accepted; nil: nobody needs to know
	Store   fleet.Store                    // what nodes share, closed by Stop; nil: as Config says
}

// Gateway is one gateway. Start it once and Stop it once; its other methods may
// be called at any time.
type Gateway struct {
	load    func() (*config.Config, error)
	started func()
	log     *slog.Logger

	config atomic.Pointer[config.Config] // in force
	routes atomic.Pointer[router]        // made from it
	begun  *config.Config                // with which this process began: what needs a restart is as it says

	deps         *dependency.List
	clock        *recloser.Clock
	process      *bulkhead.Bulkhead // of all calls
	handlers     *handlers
	uplink       *suspect.Uplink
	probes       *probe.Prober
	history      *history.History
	keeper       *keeper
	maintenance  *maintenance.Runner
	series       *series.Series
	traces       *trace.Tracer // nil: calls are not traced
	sender       *sender
	member       *member                 // nil: this gateway is alone
	sharing      *sharing.Sharing        // nil likewise
	certificates map[string]*certs.Files // of listeners that have one
	calls        *listener
	admin        *listener

	reloading sync.Mutex
	read      *config.Config // what was read last, refused or not
	turn      chan struct{}  // held by who changes what is there or what is set, see admin.Options
	reloads   reloads

	ready   atomic.Bool
	running sync.WaitGroup
	failed  chan error
	life    context.Context // of all that looks after breakers and people
	end     context.CancelFunc
}

const (
	tick         = 5 * time.Millisecond // of the clock of all breakers: a standstill of this process is no dependency's failure
	adminGrace   = time.Second          // for answers to people while stopping
	alertsGrace  = 3 * time.Second      // for messages that are not sent yet
	tracesGrace  = 2 * time.Second      // for spans that are not sent yet
	historyGrace = 5 * time.Second      // for what is not on disk yet
)

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
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), g.config.Load().Grace)
	defer cancel()
	return errors.Join(failed, g.Stop(ctx))
}

// Start opens both listeners and returns once calls are accepted. If it fails,
// nothing is open and nothing runs. ctx limits opening, not what is opened.
func (g *Gateway) Start(ctx context.Context) error {
	c := g.config.Load()
	err := g.calls.open(ctx, c.File)
	if err == nil {
		if err = g.admin.open(ctx, c.File); err != nil {
			g.calls.close()
		}
	}
	if err != nil {
		g.close()
		return err
	}
	g.member.match(g.deps.All())
	if err := g.member.start(); err != nil {
		return err
	}
	g.startSharing()
	g.sender.look()
	g.running.Go(func() { g.sender.run(g.life) })
	g.maintenance.Start()
	g.running.Go(g.tend)
	g.running.Go(func() { g.keeper.run(g.life) })
	g.running.Go(func() { g.series.Run(g.life) })
	if g.load != nil {
		g.running.Go(g.watch)
	}
	for _, l := range []*listener{g.calls, g.admin} {
		g.running.Go(func() {
			if err := l.serve(); err != nil {
				g.failed <- err
			}
		})
	}
	g.ready.Store(true)
	g.log.InfoContext(ctx, "serving", "calls", g.Addr(), "admin", g.AdminAddr(),
		"dependencies", len(g.deps.All()), "routes", len(c.Routes))
	if g.started != nil {
		g.started()
	}
	g.history.Record(history.Event{Kind: history.KindGateway, Text: "started, version " + Version()})
	return nil
}

// Stop takes no more calls and waits for those that run, until ctx is done. It
// returns an error if some had to be cut off then.
func (g *Gateway) Stop(ctx context.Context) error {
	g.ready.Store(false)
	g.log.InfoContext(ctx, "stopping: running calls may end")
	err := g.calls.stop(ctx)
	g.end() // after the calls: their breakers are looked after to the end
	g.probes.Stop()
	g.maintenance.Stop()
	g.admin.stopWithin(adminGrace)
	g.running.Wait()
	late, cancel := context.WithTimeout(context.WithoutCancel(ctx), alertsGrace)
	defer cancel()
	g.sender.stop(late)
	g.stopSharing(late)
	g.history.Record(history.Event{Kind: history.KindGateway, Text: "stopped"})
	g.deps.CloseIdle()
	g.close()
	if err != nil {
		return fmt.Errorf("calls were cut off while stopping, as they did not end in time: raise grace in %s", g.config.Load().File)
	}
	g.log.InfoContext(ctx, "stopped")
	return nil
}

// close ends what New has begun.
func (g *Gateway) close() {
	g.end()
	last, cancel := context.WithTimeout(context.Background(), tracesGrace)
	defer cancel()
	if err := g.traces.Stop(last); err != nil {
		g.log.Warn("not every span is sent", "error", err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), historyGrace)
	defer cancel()
	if err := g.history.Close(ctx); err != nil {
		g.log.Error("not everything is on disk", "error", err)
	}
	g.member.close()
	g.clock.Stop()
}

// serveCall answers a call by the routes in force.
func (g *Gateway) serveCall(w http.ResponseWriter, r *http.Request) {
	g.routes.Load().ServeHTTP(w, r)
}

// Addr returns where calls are taken, "" before Start.
func (g *Gateway) Addr() string { return g.calls.addr() }

// AdminAddr returns where people are, "" before Start.
func (g *Gateway) AdminAddr() string { return g.admin.addr() }

// Dependencies returns what the gateway protects.
func (g *Gateway) Dependencies() *dependency.List { return g.deps }

// Messages returns the latest messages about dependencies, oldest first.
func (g *Gateway) Messages() []message.Message { return g.sender.now().Messages() }
