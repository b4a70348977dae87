// Package probe asks dependencies how they are, with one light request now and
// then, while their traffic does not tell. A probe can trip a breaker and start
// its trials; only real calls close it.
//
// A watch, one for each dependency, holds the rules: it is a function of the time,
// of what its breaker says and of what its probes found. The Prober looks after
// the watches, sends what they want sent and does to the breakers what they say.
package probe

import (
	"context"
	"log/slog"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/recloser-go/recloser"
	"github.com/recloser-go/recloser/gateway/internal/dependency"
	"github.com/recloser-go/recloser/gateway/internal/history"
	"github.com/recloser-go/recloser/internal/vtime"
)

// Who is the By of transitions that a probe made.
const Who = "probe"

// Options are what a Prober is made from.
type Options struct {
	Clock  vtime.Clock         // nil: the machine's
	Random func() float64      // of [0, 1), for the jitter; nil: the default source
	Log    *slog.Logger        // nil: nothing is logged
	Record func(history.Event) // hears of what is worth keeping; must not block, nor call the Prober; nil: nobody does
	// Send sends a probe and says what it found; nil: Get. When ctx is done it must return.
	Send func(ctx context.Context, d *dependency.Dependency) Result
}

// The Reasons of events of history.KindProbe.
const (
	ReasonGood       = "probe good"            // after a bad one
	ReasonBad        = "probe bad"             // after a good one, or the first one there is
	ReasonEarly      = "early start"           // of trials
	ReasonTrip       = "tripped by probe"      // closed -> open
	ReasonTrafficBad = "probe ok, traffic bad" // the probe does not see what is wrong
	ReasonWrongPath  = "probe path seems wrong"
)

// Seen is a dependency and what its breaker says at the moment.
type Seen struct {
	Dependency *dependency.Dependency
	Stats      recloser.Stats
}

// View is what is known from the probes of one dependency.
type View struct {
	Result            // of the last probe; zero before the first
	At      time.Time // when that was sent
	Row     int       // how many good or bad ones in a row there are
	Known   bool      // the endpoint has been good and no call belied it: what it says now means something
	Target  string    // the URL, without a password
	Next    time.Time // when the next is due; zero: traffic tells enough
	Held    time.Time // no trial by time before that, as long as probes are bad; zero: none is held back
	Sending bool      // one is on its way
	Sent    uint64
}

// Prober sends probes. It is safe for concurrent use.
type Prober struct {
	o      Options
	start  func(func()) // a goroutine
	ctx    context.Context
	cancel context.CancelFunc
	flying sync.WaitGroup

	mu      sync.Mutex
	watches map[string]*watch
	ticks   uint64
}

// New returns a Prober that does nothing until Tick is called.
func New(o Options) *Prober {
	if o.Clock == nil {
		o.Clock = vtime.Real{}
	}
	if o.Random == nil {
		o.Random = rand.Float64
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Record == nil {
		o.Record = func(history.Event) {}
	}
	if o.Send == nil {
		o.Send = Get(o.Clock)
	}
	p := &Prober{o: o, start: func(f func()) { go f() }, watches: map[string]*watch{}}
	p.ctx, p.cancel = context.WithCancel(context.Background())
	return p
}

// Stop ends the probes that are on their way, which is no failure of theirs, and
// returns when they have ended. No more are sent.
func (p *Prober) Stop() {
	p.mu.Lock()
	p.cancel()
	p.mu.Unlock()
	p.flying.Wait()
}

// Tick does what is due. It is to be called every 50 ms or so, with all
// dependencies there are: what is missing is forgotten, and its probe ended.
func (p *Prober) Tick(now time.Time, all []Seen) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.ctx.Err() != nil {
		return
	}
	p.ticks++
	for _, s := range all {
		w := p.watch(now, s.Dependency)
		if w == nil {
			continue
		}
		w.tick = p.ticks
		p.do(now, w, w.look(now, s.Stats))
		if w.wants(now) {
			p.send(now, w)
		}
	}
	for id, w := range p.watches {
		if w.tick != p.ticks {
			w.stop()
			delete(p.watches, id)
		}
	}
}

// View returns what is known of a dependency from its probes, and false if it has
// none.
func (p *Prober) View(id string) (View, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	w := p.watches[id]
	if w == nil {
		return View{}, false
	}
	return w.view(), true
}

// watch returns the watch of a dependency: nil if it is not to be probed, a new one
// if what was found is not about this target or this breaker.
func (p *Prober) watch(now time.Time, d *dependency.Dependency) *watch {
	if d.Probe == nil {
		return nil
	}
	w := p.watches[d.ID]
	if w != nil && (w.dep == d || w.dep.Breaker == d.Breaker && w.target == target(d).Redacted()) {
		w.dep = d
		return w
	}
	if w != nil {
		w.stop()
	}
	w = newWatch(now, d, p.o.Random, func(at time.Time, reason, text string) {
		p.o.Record(history.Event{At: at, Dependency: d.ID, Kind: history.KindProbe, Reason: reason, Text: text})
	})
	p.watches[d.ID] = w
	return w
}

func (p *Prober) send(now time.Time, w *watch) {
	ctx, cancel := context.WithCancel(p.ctx)
	w.send(now)
	w.stop = cancel
	d := w.dep
	p.flying.Add(1)
	p.start(func() {
		defer p.flying.Done()
		defer cancel()
		r := p.o.Send(ctx, d)
		p.mu.Lock()
		defer p.mu.Unlock()
		if ctx.Err() == nil { // else nobody wants to know, and it is no failure of the dependency
			p.found(p.o.Clock.Now(), w, r)
		}
	})
}

// found has the watch judge what a probe found.
func (p *Prober) found(now time.Time, w *watch, r Result) {
	p.do(now, w, w.look(now, w.dep.Breaker.Brief())) // what calls have said meanwhile counts more
	if r.Verdict == WrongPath && !w.toldPath {
		w.toldPath = true
		p.o.Log.Warn("probe path seems wrong: its answers are not counted; set probe.path to one that exists",
			"dependency", w.dep.ID, "path", w.dep.Probe.Path, "answer", r.Why)
		w.say(now, ReasonWrongPath, "its probe is not counted, as the path seems wrong: "+r.Why)
	}
	p.do(now, w, w.take(now, r))
	if r.Verdict != Good || w.outage == nil || !w.mayTry(now) {
		return
	}
	for _, o := range p.watches {
		if o != w && o.blamedOnUs(now) {
			p.do(now, o, act{do: try, why: w.dep.ID + " answers again, and they were cut off together"})
		}
	}
}
