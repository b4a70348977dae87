package probe

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/url"
	"testing"
	"time"

	"github.com/recloser-go/recloser"
	"github.com/recloser-go/recloser/gateway/internal/config"
	"github.com/recloser-go/recloser/gateway/internal/dependency"
	"github.com/recloser-go/recloser/gateway/internal/history"
	"github.com/recloser-go/recloser/internal/vtime"
)

const (
	lookEvery = 50 * time.Millisecond // as the gateway does
	rarely    = 5 * lookEvery         // where a test is long
	timeout   = 3 * time.Second       // of a call
	usual     = 3 * time.Millisecond  // how long a healthy hotel takes
	patience  = time.Second           // what a guest waits without complaint
)

var errDown = errors.New("status 500")

// conduct is what a hotel does with a call, or a probe, at a moment of the test.
type conduct func(at time.Duration) (took time.Duration, err error)

func fine(time.Duration) (time.Duration, error) { return usual, nil }
func down(time.Duration) (time.Duration, error) { return usual, errDown }

// during is bad from one moment to another, and fine else.
func during(from, to time.Duration, bad conduct) conduct {
	return func(at time.Duration) (time.Duration, error) {
		if at >= from && at < to {
			return bad(at)
		}
		return usual, nil
	}
}

// hotel is a dependency with its guests.
type hotel struct {
	dep   *dependency.Dependency
	calls conduct
	pings conduct

	asked   int // guests
	reached int // who were let through
	good    int // who got a good answer
	lost    int // who got none: refused, released, failed
	waited  int // who waited longer than their patience
}

// town is ten hotels, or as many as there are, on virtual time: real breakers, a
// real Prober, no network.
type town struct {
	*testing.T
	v      *vtime.Virtual
	clock  *recloser.Clock
	began  time.Time
	every  time.Duration // it looks at everything
	p      *Prober
	hotels []*hotel
	events []history.Event
	atOnce map[string]int // probes on their way
	most   int            // of one hotel
	pinged map[string]int

	// More that a gateway does; nil: nothing.
	look   func(h *hotel, s recloser.Stats)
	heard  func(h *hotel, p *recloser.Permit, took time.Duration) // a call ends well
	runsOn func(p *recloser.Permit) bool                          // without the guest, who was released
}

func newTown(t *testing.T, n int, settings recloser.Config) *town {
	t.Helper()
	c := &town{T: t, v: vtime.NewVirtual(epoch), clock: recloser.NewManualClock(epoch), began: epoch, every: lookEvery, atOnce: map[string]int{}, pinged: map[string]int{}}
	c.v.OnMove(c.clock.Advance)
	random := rand.New(rand.NewPCG(1, 2))
	c.p = New(Options{
		Clock: c.v, Random: random.Float64, Send: c.send,
		Record: func(e history.Event) { c.events = append(c.events, e) },
	})
	c.p.start = c.v.Go
	settings.SlowCall, settings.CancelOnTrip, settings.Clock = 2*time.Second, true, c.clock // as the gateway does
	for i := range n {
		c.hotels = append(c.hotels, c.build(fmt.Sprintf("hotel-%d", i+1), settings))
	}
	c.tick()
	return c
}

func (c *town) build(id string, settings recloser.Config) *hotel {
	c.Helper()
	settings.Name = id
	b, err := recloser.New(settings)
	if err != nil {
		c.Fatal(err)
	}
	d := &dependency.Dependency{Breaker: b, Dependency: config.Dependency{
		ID: id, URL: &url.URL{Scheme: "http", Host: id + ".example"},
		Probe: &config.Probe{Path: "/ping", Timeout: time.Second, Idle: time.Minute},
	}}
	return &hotel{dep: d, calls: fine, pings: fine}
}

// at returns how much time has passed.
func (c *town) at() time.Duration { return c.v.Now().Sub(c.began) }

// tick is the gateway's own look at everything.
func (c *town) tick() {
	seen := make([]Seen, 0, len(c.hotels))
	for _, h := range c.hotels {
		h.dep.Breaker.Check()
		s := h.dep.Breaker.Stats()
		if c.look != nil {
			c.look(h, s)
		}
		seen = append(seen, Seen{h.dep, s})
	}
	c.p.Tick(c.v.Now(), seen)
	c.v.After(c.every, c.tick)
}

// send is a probe.
func (c *town) send(ctx context.Context, d *dependency.Dependency) Result {
	c.pinged[d.ID]++
	c.atOnce[d.ID]++
	c.most = max(c.most, c.atOnce[d.ID])
	defer func() { c.atOnce[d.ID]-- }()
	for _, h := range c.hotels {
		if h.dep.ID != d.ID {
			continue
		}
		took, err := h.pings(c.at())
		c.v.Wait(ctx, min(took, d.Probe.Timeout), nil)
		if err != nil || took > d.Probe.Timeout {
			return Result{Verdict: Bad, Why: "down"}
		}
	}
	return Result{Verdict: Good, Why: "status 200"}
}

// visit is one guest.
func (c *town) visit(h *hotel) {
	h.asked++
	p, err := h.dep.Breaker.Allow(context.Background())
	if err != nil {
		h.lost++
		return
	}
	h.reached++
	took, err := h.calls(c.at())
	left, done := false, false // the guest, the call
	finish := func(err error) {
		if !done {
			done = true
			p.Done(err)
		}
	}
	c.v.After(patience, func() {
		if !left {
			h.waited++
		}
	})
	stop := c.v.WhenClosed(p.Released().Done(), func() {
		left = true
		h.lost++
		if c.runsOn == nil || !c.runsOn(&p) {
			finish(context.Cause(p.Released()))
		}
	})
	c.v.After(took, func() {
		stop()
		switch {
		case left:
		case err == nil:
			h.good++
		default:
			h.lost++
		}
		left = true
		if err == nil && !done && c.heard != nil {
			c.heard(h, &p, took)
		}
		finish(err)
	})
}

// guests come to a hotel evenly, so many a minute.
func (c *town) guests(h *hotel, perMinute int) {
	gap := time.Minute / time.Duration(perMinute)
	var next func()
	next = func() {
		c.visit(h)
		c.v.After(gap, next)
	}
	c.v.After(gap, next)
}

// mustBe compares a hotel's state.
func (c *town) mustBe(h *hotel, want recloser.State) {
	c.Helper()
	if got := h.dep.Breaker.State(); got != want {
		c.Errorf("at %s %s is %s, want %s: %s", c.at(), h.dep.ID, got, want, h.dep.Breaker.Explain())
	}
}

// said returns how often an event was told of a hotel.
func (c *town) said(h *hotel, reason string) (n int) {
	for _, e := range c.events {
		if e.Dependency == h.dep.ID && e.Reason == reason {
			n++
		}
	}
	return n
}
