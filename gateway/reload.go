package gateway

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/recloser-go/recloser/gateway/internal/admin"
	"github.com/recloser-go/recloser/gateway/internal/config"
	"github.com/recloser-go/recloser/gateway/internal/history"
)

// Reload reads the config again and puts it in force, all or nothing: if anything
// is wrong with it, the error says what, and the gateway goes on with the one it
// has. Breakers keep their state and window. What needs a restart, such as an
// address, stays as it is and is named in the log. One reload at a time.
func (g *Gateway) Reload(ctx context.Context) error {
	_, err := g.reload(ctx)
	return err
}

// reload does so, and returns what it changed. Restart of that is all that waits for
// one: what earlier reloads found, too.
func (g *Gateway) reload(ctx context.Context) (config.Changes, error) {
	if g.load == nil {
		return config.Changes{}, errors.New("this gateway was not made from a file: there is nothing to read again")
	}
	g.reloading.Lock()
	defer g.reloading.Unlock()
	var changes config.Changes
	next, err := g.load()
	g.read = next
	if err == nil {
		changes, err = g.putInForce(next)
	}
	g.reloads.note(err)
	if err != nil {
		g.history.Record(history.Event{At: time.Now(), Kind: history.KindGateway, Text: "reload failed, the config in force stays: " + cut(err.Error(), maxCause), Cause: err.Error()})
		g.log.ErrorContext(ctx, "reload failed: the config in force stays", "error", err)
		return config.Changes{}, fmt.Errorf("the config in force stays: %w", err)
	}
	return changes, nil
}

// reloads counts them.
type reloads struct {
	mu  sync.Mutex
	all admin.Reloads
}

func (r *reloads) note(err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.all.Last, r.all.Fault = time.Now(), ""
	if err != nil {
		r.all.Failed++
		r.all.Fault = err.Error()
		return
	}
	r.all.Good++
}

func (r *reloads) seen() admin.Reloads {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.all
}

// putInForce changes what a reload can change, and returns how next differs.
func (g *Gateway) putInForce(next *config.Config) (config.Changes, error) {
	g.turn <- struct{}{} // what is read below must not be of before an act, and put back after it
	defer func() { <-g.turn }()
	old := g.config.Load()
	changes := next.Diff(old)
	there := make(map[string]bool)
	for _, d := range g.deps.All() {
		there[d.ID] = true
	}
	if err := g.deps.Apply(next.Dependencies); err != nil {
		return config.Changes{}, err
	}
	g.config.Store(next)
	// A line that was missing for a while does not lift what an operator has set.
	g.keeper.restore(context.Background(), next, func(id string) bool { return !there[id] })
	g.process.SetMax(next.Limits.InFlight)
	g.sender.reload(next.Alerts)
	g.member.reload(&next.Fleet)
	g.routes.Store(g.newRoutes(next.Routes))
	g.handlers.keep(next.Routes)
	g.maintenance.Look(context.Background())
	for _, f := range g.certificates {
		f.Read()
	}
	changes.Restart = next.Diff(g.begun).Restart // not what was taken back
	text := changes.String()
	g.history.Record(history.Event{At: time.Now(), Kind: history.KindGateway, Text: "reloaded: " + text})
	g.log.Info("reloaded", "changes", text)
	for _, w := range next.Warnings {
		g.log.Warn("the config is allowed and hardly meant", "warning", w)
	}
	for _, r := range changes.Restart {
		g.log.Warn("this change needs a restart", "setting", r)
	}
	return changes, nil
}

// watch reloads when the config's files have changed, until the gateway stops. A
// change is taken once it has rested for a moment: editors write in several steps.
func (g *Gateway) watch() {
	ticker := time.NewTicker(watchEvery)
	defer ticker.Stop()
	seen := ""
	for {
		select {
		case <-g.life.Done():
			return
		case <-ticker.C:
		}
		read, now := g.lastRead().Stamps()
		if now == read || now != seen {
			seen = now
			continue
		}
		_ = g.Reload(context.Background()) // it is in the log and the history
	}
}

// lastRead returns the config that was read last, which was refused if it is not in
// force: whatever it is wrong about is mended in the files that it names.
func (g *Gateway) lastRead() *config.Config {
	g.reloading.Lock()
	defer g.reloading.Unlock()
	return g.read
}

const watchEvery = time.Second
