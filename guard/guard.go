package guard

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/recloser-go/recloser"
	"github.com/recloser-go/recloser/internal/bucket"
	"github.com/recloser-go/recloser/internal/vtime"
)

// A Guard stands around all calls to one dependency. Make one with New; all
// methods are safe for concurrent use. It needs no Close.
type Guard struct {
	cfg      Config
	breaker  *recloser.Breaker
	clock    vtime.Clock
	base     time.Time // the guard's times count from here
	random   func() float64
	limit    *bucket.Bucket
	bulkhead *bulkhead
	budget   *bucket.Bucket
	bare     bool // nothing but the breaker is on
}

// New returns a guard with the settings of cfg, or an error that names every
// setting that is wrong.
func New(cfg Config) (*Guard, error) {
	return NewOn(cfg, vtime.Real{}, nil)
}

// NewOn is New for this module's own packages, whose time may be virtual: clock
// is what the guard waits by, and random spreads the waits between attempts
// (from 0 to below 1; nil is rand.Float64). The breaker's clock is
// Config.Breaker.Clock.
func NewOn(cfg Config, clock vtime.Clock, random func() float64) (*Guard, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	breaker, err := recloser.New(cfg.Breaker)
	if err != nil {
		return nil, err
	}
	if random == nil {
		random = rand.Float64
	}
	return around(breaker, cfg, clock, random), nil
}

// Around is New for a breaker that there is already, of a recloser.Set for
// instance. cfg.Breaker is left aside.
func Around(b *recloser.Breaker, cfg Config) (*Guard, error) {
	cfg.Breaker = recloser.Config{}
	if b == nil {
		return nil, errors.New("guard: Around: the breaker is nil; make one with recloser.New")
	}
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	return around(b, cfg, vtime.Real{}, rand.Float64), nil
}

// around makes a guard of settings that are valid.
func around(breaker *recloser.Breaker, cfg Config, clock vtime.Clock, random func() float64) *Guard {
	cfg = cfg.WithDefaults()
	g := &Guard{cfg: cfg, breaker: breaker, clock: clock, base: clock.Now(), random: random}
	if l := cfg.RateLimit; l.Rate > 0 {
		g.limit = bucket.New(l.Rate, float64(l.Burst), float64(l.Burst))
	}
	if cfg.Bulkhead.Max > 0 {
		g.bulkhead = newBulkhead(cfg.Bulkhead, clock)
	}
	if r := cfg.Retry; r.Attempts > 1 && r.Budget > 0 {
		floor := max(0, r.Floor)
		g.budget = bucket.New(floor, savedRetries, 10*floor)
	}
	g.bare = g.limit == nil && g.bulkhead == nil && cfg.Retry.Attempts == 1 && cfg.Timeout < 0 && cfg.AttemptTimeout < 0
	return g
}

// With returns g with another breaker in the middle, which must not be nil. Both
// have the rate limit, the bulkhead and the retry budget in common: for one
// dependency with several breakers, such as one for each customer.
func (g *Guard) With(b *recloser.Breaker) *Guard {
	with := *g
	with.breaker = b
	return &with
}

// BulkheadLimit returns how many calls may run at once at this moment, 0 if there is no
// bulkhead.
func (g *Guard) BulkheadLimit() int {
	if g.bulkhead == nil {
		return 0
	}
	return g.bulkhead.size()
}

// Breaker returns the breaker in the middle: to read it, to listen to it, to change
// its settings, for operators. Calls made through it go around the rest of the
// guard, whose other settings stay as they were made.
func (g *Guard) Breaker() *recloser.Breaker { return g.breaker }

// Config returns the settings in force, with every default filled in.
func (g *Guard) Config() Config {
	cfg := g.cfg
	cfg.Breaker = g.breaker.Config()
	return cfg
}

// A Mark says something about one call.
type Mark uint8

// Idempotent marks a call that may be made twice: it is worth a retry. It is
// said of each call, and not in the context, as what a call does inside may be
// another matter.
const Idempotent Mark = 1

// Do runs fn with everything that the guard has around it. fn may be called
// several times, one after the other; where a timeout or recloser.Config.CancelOnTrip
// is set, each time with a context of its own that is done as soon as fn returns,
// else with ctx. The error is that of the last attempt; or an
// *recloser.OpenError, *LimitError or *BulkheadError if the call was refused; or
// a *BudgetError around the last attempt's; or ctx's error if ctx was done before.
//
// fn runs on the caller's goroutine, so Do returns only after fn has: a timeout
// ends fn's context and nothing else. A function that ignores its context is
// waited for; if it ends well in the end, the caller gets that, but for the
// breaker the call failed.
func (g *Guard) Do(ctx context.Context, fn func(context.Context) error, marks ...Mark) error {
	if g.bare || fn == nil {
		return g.breaker.Do(ctx, fn)
	}
	c, err := g.Allow(ctx, marks...)
	if err != nil {
		return err
	}
	return c.run(fn)
}

// retries reports whether a call with these marks may be made again.
func (g *Guard) retries(marks []Mark) bool {
	return g.cfg.Retry.Unmarked || slices.Contains(marks, Idempotent)
}

// now returns how long ago the guard was made.
func (g *Guard) now() time.Duration { return g.clock.Since(g.base) }

// Do is Guard.Do for a function that returns a value.
func Do[T any](ctx context.Context, g *Guard, fn func(context.Context) (T, error), marks ...Mark) (T, error) {
	var value T
	if fn == nil {
		return value, g.Do(ctx, nil)
	}
	err := g.Do(ctx, func(ctx context.Context) (err error) {
		value, err = fn(ctx)
		return err
	}, marks...)
	return value, err
}

// DoOr is Do with something to fall back on: whatever error the guard gives is
// handed to fallback, which gives the answer instead. It is outside of
// everything else, so no timeout applies to it. It is not asked if ctx is done.
func DoOr[T any](
	ctx context.Context, g *Guard, fn func(context.Context) (T, error), fallback func(context.Context, error) (T, error), marks ...Mark,
) (T, error) {
	value, err := Do(ctx, g, fn, marks...)
	if err == nil || ctx.Err() != nil {
		return value, err
	}
	return fallback(ctx, err)
}

// backoff returns how long to wait after attempt n failed with err, and whether
// to wait at all.
func (g *Guard) backoff(n int, told time.Duration) (wait time.Duration, ok bool) {
	r := &g.cfg.Retry
	longest := r.Backoff
	for ; n > 1 && longest < r.MaxBackoff; n-- {
		longest *= 2
	}
	return told + time.Duration(g.random()*float64(min(longest, r.MaxBackoff))), told <= r.MaxBackoff
}
