package guard

import (
	"context"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/recloser-go/recloser"
	"github.com/recloser-go/recloser/internal/vtime"
)

// A Guard stands around all calls to one dependency. Make one with New; all
// methods are safe for concurrent use. It needs no Close.
type Guard struct {
	cfg      Config
	breaker  *recloser.Breaker
	clock    vtime.Clock
	random   func() float64
	limit    *bucket
	bulkhead *bulkhead
	budget   *bucket
	bare     bool // nothing but the breaker is on
}

// New returns a guard with the settings of cfg, or an error that names every
// setting that is wrong.
func New(cfg Config) (*Guard, error) {
	return newGuard(cfg, vtime.Real{})
}

func newGuard(cfg Config, clock vtime.Clock) (*Guard, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	cfg = cfg.WithDefaults()
	cfg.Breaker.Classify = sparingRefusals(cfg.Breaker.Classify)
	breaker, err := recloser.New(cfg.Breaker)
	if err != nil {
		return nil, err
	}
	g := &Guard{cfg: cfg, breaker: breaker, clock: clock, random: rand.Float64}
	now := clock.Now()
	if l := cfg.RateLimit; l.Rate > 0 {
		g.limit = newBucket(l.Rate, float64(l.Burst), float64(l.Burst), now)
	}
	if cfg.Bulkhead.Max > 0 {
		g.bulkhead = newBulkhead(cfg.Bulkhead, clock)
	}
	if r := cfg.Retry; r.Attempts > 1 && r.Budget > 0 {
		floor := max(0, r.Floor)
		g.budget = newBucket(floor, savedRetries, 10*floor, now)
	}
	g.bare = g.limit == nil && g.bulkhead == nil && cfg.Retry.Attempts == 1 && cfg.Timeout < 0 && cfg.AttemptTimeout < 0
	return g, nil
}

// sparingRefusals has the refusals of guards further inside ignored: they say
// nothing about the dependency.
func sparingRefusals(classify func(error) recloser.Outcome) func(error) recloser.Outcome {
	return func(err error) recloser.Outcome {
		switch {
		case isRefusal(err):
			return recloser.Ignored
		case classify == nil:
			return recloser.Default
		}
		return classify(err)
	}
}

// Breaker returns the breaker in the middle: to read it, to listen to it, for
// operators. Calls made through it go around the rest of the guard.
func (g *Guard) Breaker() *recloser.Breaker { return g.breaker }

// Config returns the settings in force, with every default filled in.
func (g *Guard) Config() Config { return g.cfg }

// A Mark says something about one call.
type Mark uint8

// Idempotent marks a call that may be made twice: it is worth a retry. It is
// said of each call, and not in the context, as what a call does inside may be
// another matter.
const Idempotent Mark = 1

// Do runs fn with everything that the guard has around it. fn may be called
// several times, one after the other, each time with a context of its own that
// is done as soon as fn returns. The error is that of the last attempt; or an
// *recloser.OpenError, *LimitError or *BulkheadError if the call was refused; or
// a *BudgetError around the last attempt's; or ctx's error if ctx was done before.
//
// fn runs on the caller's goroutine, so Do returns only after fn has: a timeout
// ends fn's context and nothing else. A function that ignores its context is
// waited for; if it ends well in the end, the caller gets that, but for the
// breaker the call failed.
func (g *Guard) Do(ctx context.Context, fn func(context.Context) error, marks ...Mark) error {
	if g.bare {
		return g.breaker.Do(ctx, fn)
	}
	attempts := 1
	if g.cfg.Retry.Unmarked || slices.Contains(marks, Idempotent) {
		attempts = g.cfg.Retry.Attempts
	}
	return g.do(ctx, attempts, fn)
}

func (g *Guard) do(ctx context.Context, attempts int, fn func(context.Context) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	callCtx := ctx
	if g.cfg.Timeout > 0 {
		timed, cancel := g.clock.WithTimeout(ctx, g.cfg.Timeout)
		defer cancel()
		callCtx = timed
	}
	wait, ok := g.limit.take(g.clock.Now())
	if !ok {
		g.breaker.Check() // who is refused here does not get to the breaker, which judges by being asked
		return &LimitError{Name: g.breaker.Name(), After: wait}
	}
	reached := false
	defer func() {
		if !reached {
			g.limit.put(1)
		}
	}()
	if !g.bulkhead.tryEnter() {
		g.breaker.Check()
		if !g.bulkhead.enter(callCtx) {
			if err := ctx.Err(); err != nil {
				return err
			}
			return &BulkheadError{Name: g.breaker.Name(), Max: g.cfg.Bulkhead.Max}
		}
	}
	defer g.bulkhead.leave()
	call := call{Guard: g, ctx: ctx, callCtx: callCtx, attempts: attempts, fn: func(ctx context.Context) error {
		if !reached {
			reached = true
			g.budget.put(max(0, g.cfg.Retry.Budget))
		}
		return fn(ctx)
	}}
	if attempts == 1 && g.cfg.Timeout < 0 && g.cfg.AttemptTimeout < 0 {
		return g.breaker.Do(ctx, call.fn)
	}
	return call.run()
}

// Do is Guard.Do for a function that returns a value.
func Do[T any](ctx context.Context, g *Guard, fn func(context.Context) (T, error), marks ...Mark) (T, error) {
	var value T
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
