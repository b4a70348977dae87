package gateway

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"slices"
	"time"

	"github.com/recloser-go/recloser"
	"github.com/recloser-go/recloser/gateway/internal/auth"
	"github.com/recloser-go/recloser/gateway/internal/config"
	"github.com/recloser-go/recloser/gateway/internal/dependency"
	"github.com/recloser-go/recloser/gateway/internal/history"
)

const (
	saveEvery   = 10 * time.Second // what no transition has told of: learned limits
	saveTimeout = 5 * time.Second
)

// keeper keeps the state of breakers, what was learned about dependencies, and when
// tokens were used, over a restart.
type keeper struct {
	deps    *dependency.List
	history *history.History
	tokens  *auth.Tokens
	log     *slog.Logger
	changed chan breakerID // their breakers are saved at once
	fleet   bool           // what operators set comes from other nodes too
}

type breakerID struct{ dependency, key string }

func newKeeper(deps *dependency.List, h *history.History, log *slog.Logger) *keeper {
	return &keeper{deps: deps, history: h, tokens: auth.NewTokens(h, time.Now), log: log, changed: make(chan breakerID, 4096)}
}

// listen has a breaker saved after each change of its state.
func (k *keeper) listen(id, key string, _ recloser.Transition) {
	select {
	case k.changed <- breakerID{id, key}:
	default: // the disk is far behind; the next save of all has it
	}
}

// run saves until ctx is done, and then all for a last time.
func (k *keeper) run(ctx context.Context) {
	ticker := time.NewTicker(saveEvery)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			k.saveAll()
			k.saveTokens(true)
			return
		case <-ticker.C:
			k.saveAll()
			k.saveTokens(false)
		case first := <-k.changed:
			k.save(k.more(first))
		}
	}
}

// more collects what waits besides first, so that an outage of many is one write.
func (k *keeper) more(first breakerID) []history.BreakerSave {
	seen := map[breakerID]bool{first: true}
	for len(seen) <= cap(k.changed) {
		select {
		case id := <-k.changed:
			seen[id] = true
			continue
		default:
		}
		break
	}
	var saves []history.BreakerSave
	for id := range seen {
		d, ok := k.deps.Get(id.dependency)
		switch {
		case !ok:
		case id.key == "":
			saves = append(saves, saveOf(d))
		case d.Keys != nil:
			saves = append(saves, history.BreakerSave{ID: d.ID, Key: id.key, Saved: d.Keys.Get(id.key).Save()})
		}
	}
	return saves
}

func saveOf(d *dependency.Dependency) history.BreakerSave {
	return history.BreakerSave{ID: d.ID, Saved: d.Breaker.Save(), Latency: d.Latency.Save()}
}

func (k *keeper) saveAll() {
	var saves []history.BreakerSave
	for _, d := range k.deps.All() {
		saves = append(saves, saveOf(d))
	}
	k.save(saves)
}

func (k *keeper) saveTokens(now bool) {
	ctx, cancel := context.WithTimeout(context.Background(), saveTimeout)
	defer cancel()
	if err := k.tokens.Keep(ctx, now); err != nil {
		k.log.Warn("it is not kept when tokens were used", "error", err)
	}
}

func (k *keeper) save(saves []history.BreakerSave) {
	if len(saves) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), saveTimeout)
	defer cancel()
	err := k.history.SaveBreakers(ctx, saves)
	if err == nil && k.fleet {
		err = k.saveOverrides(ctx, saves)
	}
	if err != nil {
		k.log.Warn("the state of breakers is not saved: after a restart it would be an older one", "error", err)
	}
}

// saveOverrides keeps what operators have set on other nodes.
func (k *keeper) saveOverrides(ctx context.Context, saves []history.BreakerSave) error {
	kept, err := k.history.Overrides(ctx)
	var changes []history.Change
	for _, s := range saves {
		i := slices.IndexFunc(kept, func(o history.Override) bool { return o.Dependency == s.ID })
		switch o := s.Saved.Override; {
		case s.Key != "":
		case o == nil && i >= 0:
			changes = append(changes, history.ClearOverride(s.ID))
		case o != nil && (i < 0 || kept[i].State != o.State || kept[i].By != o.By || kept[i].Reason != o.Why || !kept[i].Until.Equal(o.Until)):
			changes = append(changes, history.SetOverride(history.Override{
				Dependency: s.ID, State: o.State, By: o.By, Reason: o.Why, Since: o.Since, Until: o.Until,
			}))
		}
	}
	if len(changes) == 0 {
		return err
	}
	return errors.Join(err, k.history.Commit(ctx, history.Act{}, changes...))
}

// follow has a dependency be defined as another node has defined it.
func (k *keeper) follow(ctx context.Context, c *config.Config, s history.Shared) {
	var err error
	if s.Value == nil {
		err = k.deps.Remove(s.ID)
	} else {
		var d history.Definition
		if err = json.Unmarshal(s.Value, &d); err == nil {
			err = k.define(c, d)
		}
	}
	if err != nil && !errors.Is(err, dependency.ErrOfFile) && !errors.Is(err, dependency.ErrNone) {
		k.log.ErrorContext(ctx, "a dependency is not as another node has defined it", "dependency", s.ID, "error", err)
	}
}

func (k *keeper) define(c *config.Config, d history.Definition) error {
	defined, err := c.Dependency(d.ID, d.Definition)
	if err == nil {
		_, err = k.deps.Put(defined)
	}
	return err
}

// restore has the dependencies that were added at run time be there again, on the
// defaults of c; gives breakers their states back, see restoreBreakers; and forgets
// what the file has taken over.
func (k *keeper) restore(ctx context.Context, c *config.Config, isNew func(id string) bool) {
	k.addRunTime(ctx, c)
	k.restoreBreakers(ctx, isNew)
	if err := k.handOver(ctx); err != nil {
		k.log.ErrorContext(ctx, "not kept: what the file took over", "error", err)
	}
}

// addRunTime adds the dependencies that were added at run time. One that makes no
// sense any more is left out, and kept.
func (k *keeper) addRunTime(ctx context.Context, c *config.Config) {
	definitions, err := k.history.Dependencies(ctx)
	if err != nil {
		k.log.ErrorContext(ctx, "the dependencies that were added at run time are not known", "error", err)
	}
	for _, d := range definitions {
		err := k.define(c, d)
		if err != nil && !errors.Is(err, dependency.ErrOfFile) { // see handOver
			k.log.ErrorContext(ctx, "a dependency that was added at run time is left out", "dependency", d.ID, "error", err)
		}
	}
}

// handOver forgets the definitions of those dependencies that the file has now, but
// not what their breakers know and what operators have set.
func (k *keeper) handOver(ctx context.Context) error {
	definitions, err := k.history.Dependencies(ctx)
	overrides, err2 := k.history.Overrides(ctx)
	for _, def := range definitions {
		d, ok := k.deps.Get(def.ID)
		if !ok || d.RunTime {
			continue
		}
		changes := []history.Change{history.DeleteDependency(d.ID), history.SaveBreaker(d.ID, d.Breaker.Save())}
		for _, o := range overrides {
			if o.Dependency == d.ID {
				changes = append(changes, history.SetOverride(o))
			}
		}
		k.log.InfoContext(ctx, "a dependency that was added at run time is the file's from now on", "dependency", d.ID)
		err = errors.Join(err, k.history.Commit(ctx, history.Act{}, changes...))
	}
	return errors.Join(err, err2)
}

// restoreBreakers gives the breakers that are new, by ID, the state that they had before
// the restart, or before a reload that they were missing in, and what operators have set.
// What cannot be restored is said in the log, and begins anew.
func (k *keeper) restoreBreakers(ctx context.Context, isNew func(id string) bool) {
	saves, err := k.history.Breakers(ctx)
	if err != nil {
		k.log.WarnContext(ctx, "the state before the restart is not known: all begin closed", "error", err)
	}
	overrides, err := k.history.Overrides(ctx)
	if err != nil {
		k.log.ErrorContext(ctx, "what operators have set before the restart is not known", "error", err)
	}
	set := make(map[string]*recloser.Override)
	for _, o := range overrides {
		set[o.Dependency] = &recloser.Override{State: o.State, By: o.By, Why: o.Reason, Since: o.Since, Until: o.Until}
	}
	for _, s := range saves {
		d, ok := k.deps.Get(s.ID)
		switch {
		case !ok || !isNew(s.ID):
		case s.Key == "":
			s.Saved.Override = set[s.ID] // the acts are what counts
			delete(set, s.ID)
			k.restoreOne(ctx, s.ID, "", d.Breaker, s.Saved)
			if err := d.Latency.Restore(s.Latency); len(s.Latency) > 0 && err != nil {
				k.log.WarnContext(ctx, "what was learned about latencies before the restart is not known", "dependency", s.ID, "error", err)
			}
		case d.Keys != nil:
			k.restoreOne(ctx, s.ID, s.Key, d.Keys.Get(s.Key), s.Saved)
		}
	}
	for id, o := range set { // of breakers that were not saved yet
		if d, ok := k.deps.Get(id); ok && isNew(id) {
			saved := d.Breaker.Save()
			saved.Override = o
			k.restoreOne(ctx, id, "", d.Breaker, saved)
		}
	}
}

func (k *keeper) restoreOne(ctx context.Context, id, key string, b *recloser.Breaker, s recloser.Saved) {
	if err := b.Restore(s); err != nil {
		k.log.WarnContext(ctx, "the state before the restart is not known: it begins closed", "dependency", id, "key", key, "error", err)
	}
}
