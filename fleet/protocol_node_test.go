//go:build !race

package fleet

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/recloser-go/recloser"
)

// station is a node, as small as can be.
type station struct {
	held   paper
	away   bool   // from the store
	write  intent // what it wants to write
	trial  lease  // that it holds
	ended  lease  // that it wants to finish, with result
	result Result
	calls  [2]uint8 // trials that run here, by token, and have not taken too long yet
}

func (s station) String() string {
	line := fmt.Sprintf("%s; trials %v", s.held, s.calls)
	if s.away {
		line += "; away"
	}
	if s.write.there {
		line += fmt.Sprintf("; to write %s instead of %v", s.write.state, s.write.expect)
	}
	if s.ended.token != 0 {
		line += fmt.Sprintf("; to finish %d: %d", s.ended.token, s.result)
	}
	return line
}

type intent struct {
	there         bool
	state         recloser.State
	expect, above pin
}

type lease struct {
	rev   pin
	token uint8 // 0: none
}

func (l lease) Lease() Lease {
	return Lease{Key: breakerKey + "hotel", Rev: l.rev.Rev(), Token: uint64(l.token)}
}

func leaseOf(l Lease) lease { return lease{pinOf(l.Rev), uint8(l.Token)} }

// outcome is what a node, with what it does to the store, may come to next.
type outcome struct {
	what  string
	heals bool // it can be expected to happen
	station
	vault
	sign  string // by which this should not have been
	quiet bool   // it happens only when no trial runs any more
	lost  bool   // the store's answer was
	crash bool
}

// actor does what a node does, with the real code.
type actor struct {
	limits
	bent
	c   *coordinator
	b   *recloser.Breaker
	m   *member
	now time.Time
}

func newActor(t *testing.T, l limits, b bent) *actor {
	t.Helper()
	// In shadow, so that it asks for trials although nobody calls.
	breaker, err := recloser.New(recloser.Config{Name: "hotel", Trials: int(l.slots), Shadow: true, Clock: recloser.NewManualClock(epoch)})
	if err != nil {
		t.Fatal(err)
	}
	c := newCoordinator(Config{Fleet: "town", Node: "n"}, rand.New(rand.NewPCG(1, 1)), epoch)
	c.synced = true
	m := &member{}
	c.byName["hotel"] = m
	return &actor{limits: l, bent: b, c: c, b: breaker, m: m, now: epoch}
}

// doc is a document as the nodes write it.
func (a *actor) doc(p paper) Doc {
	if p.rev == (pin{}) {
		return Doc{}
	}
	n := next{Record: Record{State: p.state}}
	cfg := a.b.Config()
	switch p.state {
	case recloser.Open:
		n.Lasts = cfg.OpenFor
	case recloser.HalfOpen:
		n.toTrials(&cfg, recloser.ReasonTime)
	case recloser.Closed, recloser.Isolated, recloser.HeldClosed:
	}
	return Doc{Key: breakerKey + "hotel", Rev: p.rev.Rev(), Slots: n.slots, Data: encode(n.Record)}
}

// enter makes the member what s says.
func (a *actor) enter(s station) {
	d := a.doc(s.held)
	held, err := versionOf(&d, a.now)
	if err != nil {
		panic(err)
	}
	*a.m = member{name: "hotel", b: a.b, held: held}
	if w := s.write; w.there {
		d := a.doc(paper{rev: pin{1, 1}, state: w.state})
		v, err := versionOf(&d, a.now)
		if err != nil {
			panic(err)
		}
		a.m.write = &next{Record: v.Record, expect: w.expect.Rev(), above: w.above.Rev(), slots: v.slots}
	}
	if s.trial.token != 0 {
		a.m.trial = &trial{lease: s.trial.Lease()}
	}
	if a.c.ended = nil; s.ended.token != 0 {
		a.c.ended = []ended{{a.m, s.ended.Lease(), s.result}}
	}
}

// leave returns what became of s. got is what it may hold instead.
func (a *actor) leave(s station, got paper) station {
	if a.m.held.Rev != s.held.rev.Rev() {
		s.held = got
	}
	s.write, s.trial, s.ended, s.result = intent{}, lease{}, lease{}, 0
	if w := a.m.write; w != nil {
		s.write = intent{true, w.State, pinOf(w.expect), pinOf(w.above)}
	}
	if a.m.trial != nil {
		s.trial = leaseOf(a.m.trial.lease)
	}
	if len(a.c.ended) > 0 {
		s.ended, s.result = leaseOf(a.c.ended[0].lease), a.c.ended[0].result
	}
	return s
}

// hear is told what the store has.
func (a *actor) hear(p paper) {
	d := a.doc(p)
	if a.rule == nil {
		a.m.receive(a.c, &d, a.now)
		return
	}
	got, err := versionOf(&d, a.now)
	if err != nil {
		panic(err)
	}
	switch a.rule(&a.m.held, &got) {
	case keep:
	case adopt:
		a.m.adopt(a.c, got, a.now)
	case reopen:
		a.m.write = &next{Record: reopened(&a.m.held, time.Second, a.now), expect: got.Rev, above: a.m.held.Rev}
	}
}

// moves returns all that may come next of a node.
func (a *actor) moves(s station, v vault) (all []outcome) {
	if s.away || s.held.rev != v.doc.rev {
		a.enter(s)
		a.hear(v.doc)
		n := a.leave(s, v.doc)
		n.away = false
		all = append(all, outcome{what: "hears", heals: true, station: n, vault: v})
	}
	if !s.away {
		all = append(all, a.operation(s, v)...)
		if s.held.state == recloser.Closed && !s.write.there && v.trips < a.trips {
			a.enter(s)
			a.m.write = a.m.trip(a.c, &verdict{}, a.now)
			all = append(all, outcome{what: "decides to trip", station: a.leave(s, paper{}), vault: v})
		}
		all = append(all, outcome{what: "is cut off", station: a.cutOff(s), vault: v, lost: true})
	}
	for i, token := range s.calls {
		if token == 0 {
			continue
		}
		n := s
		n.calls[i] = 0
		if n.calls[0] < n.calls[1] {
			n.calls[0], n.calls[1] = n.calls[1], n.calls[0]
		}
		for i, what := range []string{Good: "has a good trial", Bad: "has a trial that fails, or takes too long", Unused: "gives a trial back"} {
			r := Result(i)
			if n.trial.token == token {
				a.enter(n)
				a.m.end(a.c, r, a.now)
				all = append(all, outcome{what: what, heals: r != Unused, station: a.leave(n, paper{}), vault: v})
			} else if r == Good { // whatever it says
				all = append(all, outcome{what: "ends a trial of a round before", heals: true, station: n, vault: v})
			}
		}
	}
	return append(all, outcome{what: "crashes", station: station{away: true}, vault: v, crash: true})
}

func (a *actor) cutOff(s station) station {
	a.enter(s)
	a.m.lost(a.c, a.now)
	n := a.leave(s, paper{})
	n.away = true
	return n
}

// operation does what the node wants of the store.
func (a *actor) operation(s station, v vault) []outcome {
	a.enter(s)
	o := a.c.finish()
	if o == nil {
		o = a.m.wanted(a.c, a.now.Add(time.Minute)) // all open times are over
	}
	if o == nil {
		if n := a.leave(s, paper{}); n != s {
			return []outcome{{what: "drops what it wanted to write", heals: true, station: n, vault: v}}
		}
		return nil
	}
	o.member, o.asked = a.m, a.now
	r := outcome{heals: true, vault: v}
	cut := s // what it does not know when the answer is lost
	switch o.kind {
	case opPut:
		r.what = "puts " + stateOf(o).String()
		r.quiet = stateOf(o) == recloser.HalfOpen && !a.short && !v.forgot
		r.sign = r.put(o, s.held, a.limits, a.bent)
		a.hear(r.doc)
		s = a.leave(s, r.doc)
	case opAcquire:
		if v.tokens == a.tokens {
			return nil
		}
		r.what = "acquires"
		r.acquire(o, a.limits)
		if a.careless {
			o.tally.Bad = 0
		}
		a.c.done(o, a.now)
		if s = a.leave(s, paper{}); o.err == nil && s.trial.token != 0 {
			s.calls[indexOf(s.calls, 0)] = s.trial.token
			if s.calls[0] < s.calls[1] {
				s.calls[0], s.calls[1] = s.calls[1], s.calls[0]
			}
		}
	case opFinish:
		r.what = "finishes"
		r.sign = r.finish(o, a.limits, a.bent)
		if a.careless {
			o.tally.Bad = 0
		}
		a.c.done(o, a.now)
		s = a.leave(s, paper{})
	default:
		panic("the store is asked for something else")
	}
	r.station = s
	lost := r
	lost.what, lost.heals, lost.lost, lost.station = r.what+", and does not hear of it", false, true, a.cutOff(cut)
	return []outcome{r, lost}
}

func stateOf(o *op) recloser.State {
	var r Record
	if err := json.Unmarshal(o.doc.Data, &r); err != nil {
		panic(err)
	}
	return r.State
}
