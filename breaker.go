package recloser

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"
)

// A Breaker stands in front of one dependency and stops calling it while it is
// down or slow. Make one with New; all methods are safe for concurrent use.
//
// While closed a call takes no lock and allocates nothing, unless it fails or
// Config.CancelOnTrip is set. A Breaker starts no goroutine and no timer, except
// that listeners are called on a goroutine of their own when the state changes;
// so it needs no Close.
type Breaker struct {
	cur     atomic.Pointer[period] // what the rules say, or the isolation
	inForce atomic.Pointer[rules]  // set under the lock
	place   atomic.Uint32          // in a Set
	seed    uint32                 // of the jitter, so that tests have the same each time; 0: none
	good    histogram              // calls that ended well and in time, in the period that admitted them; see also lanes
	first   period                 // cur of a breaker that never changed its state

	name   string
	hold   atomic.Pointer[override] // set while held closed
	adrift atomic.Int64             // running calls that no ring counts any more, see ring

	mu    sync.Mutex // guards everything below, and the parts of a period that say so
	*past            // nil as long as nothing happened but good calls
	log   *eventLog  // nil as long as there is nobody and nothing to tell
	seen  int64      // the latest time that was settled
}

// past is what a breaker remembers beyond its period: most have nothing to
// remember. refused and rest are not guarded by the lock.
type past struct {
	refused [refusalKinds]atomic.Uint64
	rest    histogram // calls that were not ignored and that Breaker.good does not have
	lanes   []*lane   // more of Breaker.good, where processors got into each other's way
	totals
	tripReason   Reason        // of the last opening
	step         int           // how often the open time has been doubled
	tripped      bool          // there was a trip that is not forgotten: the step counts
	openFor      time.Duration // length of the last open time
	cause        error         // the last failure seen
	out          bool          // it was cut off by the rules since it was last closed or isolated,
	outSince     int64         // and first then
	longest      int64         // the longest good call of the last closed period
	leases       int           // how often in a row a trial ran out its lease
	slowestTrial int64         // of the last half-open
	lastTrial    result        // zero: none has ended
	lastGood     int64         // end of a good call, in an earlier period
	suspect      int64         // the limit that was set; 0: none
	hearing      *hearing      // nil unless the breaker is open by suspicion
	leaving      []*release    // of callers of an earlier period who are not past the suspect limit
	lead                       // of a fleet
}

// New returns a closed breaker with the settings of cfg, or an error that
// names every setting that is wrong.
func New(cfg Config) (*Breaker, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	alone := &struct { // one object takes less than two
		Breaker
		rules
	}{rules: rules{cfg.WithDefaults(), time.Now()}}
	alone.begin(cfg.Name, &alone.rules)
	return &alone.Breaker, nil
}

// begin makes a breaker of a zero one.
func (b *Breaker) begin(name string, r *rules) {
	b.name = name
	b.inForce.Store(r)
	if clock := r.cfg.Clock; clock != nil && clock.manual {
		b.seed = clock.breakers.Add(1)
	}
	now := b.now()
	b.cur.Store(b.newPeriod(Closed, now, never, ""))
	b.settle(now)
}

// Do runs fn if the breaker lets it through, and books how it ended. The error
// is fn's own, or an *OpenError if the call was refused or released on a trip,
// or ctx's error if ctx was done before. fn gets ctx, or one derived from it
// if Config.CancelOnTrip is set. If fn panics or calls runtime.Goexit, the call
// failed, and the panic goes on. A nil fn is an error, and nothing is counted.
func (b *Breaker) Do(ctx context.Context, fn func(context.Context) error) error {
	// A plain call needs no call object; now and ring are written out here, as the
	// compiler does not inline them. What that is worth: docs/decisions/0003-engine.md.
	var start, end int64
	short := b.first.short.Load() // mostly that of cur, and here before cur is
	p := b.cur.Load()
	if p != &b.first {
		short = p.short.Load()
	}
	rules := b.rules()
	if clock := rules.cfg.Clock; clock != nil {
		start = clock.now()
	} else {
		start = int64(time.Since(rules.base))
	}
	if start >= short {
		if start < -short && ctx.Err() == nil {
			return p.refuse()
		}
		return b.do(ctx, start, fn)
	}
	r := &p.first
	if rs := p.rings.Load(); rs != nil {
		r = rs.pick()
	}
	if fn == nil || ctx.Err() != nil || !r.tryEnter(start) {
		return b.do(ctx, start, fn)
	}
	returned := false
	defer func() {
		if !returned { // a panic, or runtime.Goexit
			b.finish(&call{period: p, ring: r, start: start, clock: start, limit: r.limit}, b.now(), ending{outcome: Failure, err: errPanicked})
		}
	}()
	err := fn(ctx)
	returned = true
	if rules := b.rules(); rules.cfg.Clock != nil {
		end = rules.cfg.Clock.now()
	} else {
		end = int64(time.Since(rules.base))
	}
	if took := end - start; err == nil && took < r.limit && end < p.quiet.Load() && r.leave(start) {
		good := &b.good
		if r != &p.first { // else r.good is the same, but far from the rest
			good = r.good
		}
		good.add(took)
		if p.isNews(start, end, took) {
			p.note(start, end, took)
		}
		return nil
	}
	c := call{period: p, ring: r, start: start, clock: start, limit: r.limit}
	b.finish(&c, end, b.classify(ctx, &c, end, err))
	return err
}

var errNoFunction = errors.New("recloser: Do was given no function to call")

// do makes a call that is not plain: a trial, one in the slow start, one that a
// trip releases, or the first after something was due.
func (b *Breaker) do(ctx context.Context, start int64, fn func(context.Context) error) error {
	if fn == nil {
		return errNoFunction
	}
	b.addRings()
	c := &call{}
	if err := b.admit(ctx, start, c); err != nil {
		return err
	}
	callCtx := ctx
	if released := c.release; released != nil {
		derived, cancel := context.WithCancelCause(ctx)
		defer cancel(nil)
		stop := context.AfterFunc(released, func() { cancel(context.Cause(released)) })
		defer stop()
		callCtx = derived
	}
	returned := false
	defer func() {
		if !returned {
			b.finish(c, b.now(), ending{outcome: Failure, err: errPanicked})
		}
	}()
	err := fn(callCtx)
	returned = true
	// Asked before the end is booked: that may trip the breaker, but releases others.
	var refused *OpenError
	if err != nil && callCtx != ctx && ctx.Err() == nil {
		errors.As(context.Cause(callCtx), &refused)
	}
	now := b.now()
	if err == nil {
		b.succeed(c, now)
		return nil
	}
	b.finish(c, now, b.classify(ctx, c, now, err))
	if refused != nil {
		return refused
	}
	return err
}

// Do is Breaker.Do for a function that returns a value.
func Do[T any](ctx context.Context, b *Breaker, fn func(context.Context) (T, error)) (T, error) {
	var value T
	if fn == nil {
		return value, errNoFunction
	}
	err := b.Do(ctx, func(ctx context.Context) (err error) {
		value, err = fn(ctx)
		return err
	})
	return value, err
}

// Allow asks for one call that the caller makes itself. If the error is nil,
// the call may be made, and its end must be reported by exactly one of Done,
// End and Cancel. Otherwise the call must not be made: the error is an
// *OpenError, or ctx's error if ctx was done. The permit must not be copied: to
// keep or hand it on, take its address.
func (b *Breaker) Allow(ctx context.Context) (p Permit, err error) {
	if err = b.admit(ctx, b.now(), &p.call); err == nil {
		p.b, p.ctx = b, ctx
	}
	return // p must not be copied
}

// call is an admitted call on its way.
type call struct {
	period   *period
	ring     *ring    // of a call that is tracked
	start    int64    // when it was admitted
	clock    int64    // when the slow clock started: at start, or when the request was sent
	limit    int64    // SlowCall when it was admitted, or sent; never if off
	answered int64    // when; 0: not yet
	trial    *trial   // of a call that is onTrial
	release  *release // how a trip lets go of it; nil if it does not
	kind     callKind
	sending  bool        // the slow clock stands still, see Permit.Sending
	judged   bool        // it was bad while it ran
	outcome  Outcome     // of a Permit, as is
	ended    atomic.Bool // its end was reported
}

type callKind uint8

const (
	tracked    callKind = iota // counted in a ring of its closed period
	onTrial                    // a trial of its half-open period
	unjudged                   // let through although the rules said no: statistics only
	witnessing                 // it was tracked, and runs on without its caller after a trip by suspicion
)

// begin notes which period admitted the call, when, and under which limit.
func (c *call) begin(p *period, now, limit int64) {
	c.period, c.start, c.clock, c.limit = p, now, now, limit
}

// enter has the call counted by its period's ring, and reports false if it comes
// too late for that: it was held up since now was read.
func (c *call) enter(p *period, now int64) bool {
	r := p.ring()
	var release *release
	if r.releases != nil { // before it is in the ring: who is in it when the period ends is let go
		release = r.releases.take(now)
	}
	if !r.enter(now) {
		release.drop()
		return false
	}
	c.ring, c.release = r, release
	c.begin(p, now, r.limit)
	return true
}

// admit decides whether a call that comes at now may run, and fills in c.
func (b *Breaker) admit(ctx context.Context, now int64, c *call) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	for {
		p := b.cur.Load()
		if now >= p.due.Load() {
			p = b.look(now)
		}
		if p.state == Closed && p.ramp.Load() == nil {
			if c.enter(p, now) {
				return nil
			}
			now = b.now() // we were held up since we read the clock, and the slice is closed, or the period over
			b.look(now)
			continue
		}
		if p.state != Open && p.state != Isolated {
			var ok bool
			if p, ok = b.admitSome(now, c); ok {
				return nil
			}
		}
		if b.passesAll(p) {
			b.adrift.Add(1)
			c.begin(p, now, b.rules().slowAfter())
			c.kind = unjudged
			return nil
		}
		return p.refuse()
	}
}

// passesAll reports whether calls pass that p refuses.
func (b *Breaker) passesAll(p *period) bool {
	return b.hold.Load() != nil || b.cfg().Shadow && p.state != Isolated
}

// admitSome decides on a call in a period that lets some in. It may be over by
// now; then the new one decides. The period that did is returned.
func (b *Breaker) admitSome(now int64, c *call) (p *period, ok bool) {
	b.act(now, func(now int64) {
		p = b.cur.Load()
		switch r := p.ramp.Load(); {
		case p.state == HalfOpen:
			ok = b.takeTrial(p, now, c)
		case r != nil:
			ok = b.takeRamped(p, r, now, c)
		case p.state == Closed:
			if ok = true; !c.enter(p, now) { // its slice is over already: nobody can tell when it is slow
				b.adrift.Add(1)
				c.begin(p, now, b.rules().slowAfter())
				c.kind = unjudged
			}
		}
	})
	return p, ok
}

// succeed books a good end of any call.
func (b *Breaker) succeed(c *call, now int64) {
	p, took := c.period, now-c.clock
	if c.answered != 0 {
		took = c.answered - c.clock
	}
	// A plain end matters to no rule: nothing but the statistics and the window.
	plain := c.kind == tracked && !c.judged && !c.sending && took < c.limit && now < p.quiet.Load()
	switch {
	case plain && c.answered != 0:
		b.adrift.Add(-1)
	case plain && c.ring.leave(c.clock):
	default:
		b.finish(c, now, ending{outcome: Success})
		return
	}
	c.release.drop()
	c.ring.good.add(took)
	if p.isNews(c.start, now, took) {
		p.note(c.start, now, took)
	}
}

// now reads the breaker's clock, in nanoseconds since it began.
func (b *Breaker) now() int64 { return b.rules().now() }

// look performs what is due and returns the period that is current then.
func (b *Breaker) look(now int64) *period {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.settle(now)
	return b.cur.Load()
}

// Check performs what is due: calls that ran past SlowCall, ends of open times
// and of overrides. Every call to the breaker does so too; a ticker that calls
// Check makes changes come in time where there is little traffic.
func (b *Breaker) Check() {
	if now := b.now(); now >= b.cur.Load().due.Load() {
		b.look(now)
	}
}

// State returns the state at this moment.
func (b *Breaker) State() State {
	b.Check()
	p := b.cur.Load()
	if b.hold.Load() != nil {
		return HeldClosed
	}
	return p.state
}

// Name returns the name given in Config.
func (b *Breaker) Name() string { return b.name }

// Config returns the settings in force, with every default filled in.
func (b *Breaker) Config() Config {
	cfg := *b.cfg()
	cfg.Name = b.name
	return cfg
}
