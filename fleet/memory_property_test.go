package fleet_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"github.com/recloser-go/recloser/fleet"
)

// TestMemoryIsItsModel does anything in any order to a memory store and to its model:
// they must say the same each time.
func TestMemoryIsItsModel(t *testing.T) {
	for range 60 {
		seed := rand.Uint64()
		synctest.Test(t, func(t *testing.T) {
			p := &pair{T: t, r: rand.New(rand.NewPCG(seed, 0)), store: fleet.NewMemory(), seen: map[string]fleet.Doc{}}
			p.watch()
			defer func() { p.unwatch() }()
			for i := range 300 {
				if i%100 == 99 {
					p.flush()
				}
				p.step()
				if t.Failed() {
					t.Fatalf("seed %d; the last steps:\n%s", seed, p.last())
				}
			}
		})
	}
}

// A pair is a store and its model.
type pair struct {
	*testing.T
	r       *rand.Rand
	store   *fleet.Memory
	model   model
	steps   []string
	held    []fleet.Lease
	seen    map[string]fleet.Doc // what Watch showed
	unwatch func()
}

// watch has one watch for as long as the test runs.
func (p *pair) watch() {
	_, at, err := p.store.Load(p.Context())
	if err != nil {
		p.Fatal(err)
	}
	ctx, cancel := context.WithCancel(p.Context())
	ended := make(chan error, 1)
	go func() { ended <- p.store.Watch(ctx, at, func(d fleet.Doc) { p.seen[d.Key] = d }) }()
	p.unwatch = func() {
		cancel()
		if err := <-ended; !errors.Is(err, context.Canceled) {
			p.Errorf("Watch: %v", err)
		}
	}
}

// flush makes both forget everything.
func (p *pair) flush() {
	p.unwatch()
	p.store.Flush()
	p.model, p.held, p.seen = model{}, nil, map[string]fleet.Doc{}
	p.watch()
}

func (p *pair) last() (s string) {
	for _, step := range p.steps[max(0, len(p.steps)-12):] {
		s += step + "\n"
	}
	return s
}

func (p *pair) one(of ...string) string { return of[p.r.IntN(len(of))] }

func (p *pair) ttl() time.Duration { return time.Duration(1+p.r.IntN(5)) * time.Second }

// did notes a step, and compares what came of it.
func (p *pair) did(step string, got, want any) {
	p.Helper()
	g, w := fmt.Sprintf("%+v", got), fmt.Sprintf("%+v", want)
	p.steps = append(p.steps, fmt.Sprintf("%8s %s: %s", p.model.now, step, g))
	if g != w {
		p.Errorf("%s:\n got %s\nwant %s", step, g, w)
	}
}

func (p *pair) step() {
	p.Helper()
	ctx, key := p.Context(), p.one("a", "b")
	now, _ := p.model.doc(key)
	rev := now.Rev
	switch p.r.IntN(10) {
	case 0:
		rev = fleet.Rev{}
	case 1:
		rev.ID++
	}
	switch p.r.IntN(9) {
	case 0:
		pass := time.Duration(p.r.IntN(4)) * 500 * time.Millisecond
		<-time.After(pass)
		p.model.now += pass
	case 1:
		next := fleet.Doc{Key: key, Rev: fleet.Rev{Epoch: rev.Epoch + 1, ID: p.r.Uint64() | 1}, Slots: p.r.IntN(4), TTL: p.ttl() * time.Duration(p.r.IntN(2))}
		want, wantErr := p.model.put(rev, next)
		got, err := p.store.Put(ctx, rev, next)
		p.did(fmt.Sprintf("Put %+v %+v", rev, next), []any{got, err}, []any{want, wantErr})
		synctest.Wait()
		if d := p.seen[key]; wantErr == nil {
			p.did("Watch", d, want)
		}
	case 2:
		docs, _, err := p.store.Load(ctx)
		p.did("Load", []any{docs, err}, []any{p.model.load(), nil})
	case 3:
		row := fleet.Row{Key: key, Node: p.one("m", "n"), Start: uint64(p.r.IntN(2)), Seq: uint64(p.r.IntN(5)), Data: []byte{byte(p.r.IntN(9))}}
		ttl := p.ttl()
		p.model.says = append(p.model.says, modelSay{row, p.model.now, p.model.now + ttl})
		p.did(fmt.Sprintf("Say %+v for %s", row, ttl), p.store.Say(ctx, []fleet.Row{row}, ttl), nil)
	case 4:
		rows, err := p.store.Said(ctx, key)
		p.did("Said "+key, []any{rows, err}, []any{p.model.said(key), nil})
	case 5, 6:
		ttl := p.ttl()
		want, wantErr := p.model.acquire(key, rev)
		l, got, err := p.store.Acquire(ctx, key, rev, "n", ttl)
		p.did(fmt.Sprintf("Acquire %s %+v for %s", key, rev, ttl), []any{got, err}, []any{want, wantErr})
		if err == nil {
			p.held = append(p.held, l)
			p.model.leases = append(p.model.leases, &modelLease{lease: l, ends: p.model.now + ttl})
		}
	case 7:
		if len(p.held) == 0 {
			return
		}
		l := p.held[len(p.held)-1-p.r.IntN(min(len(p.held), 4))]
		if p.r.IntN(10) == 0 {
			l.Token++
		}
		r := fleet.Result(p.r.IntN(3))
		want, wantErr := p.model.finish(l, r)
		got, err := p.store.Finish(ctx, l, r)
		if err != nil {
			got = fleet.Tally{} // it says nothing then
		}
		p.did(fmt.Sprintf("Finish %+v %d", l, r), []any{got, err}, []any{want, wantErr})
	case 8:
		role, node, ttl := p.one("r", "s"), p.one("m", "n"), p.ttl()*time.Duration(p.r.IntN(3))
		want := p.model.elect(role, node, ttl)
		got, err := p.store.Elect(ctx, role, node, ttl)
		p.did(fmt.Sprintf("Elect %s %s for %s", role, node, ttl), []any{got, err}, []any{want, nil})
	}
}
