// Package bench compares Recloser with other circuit breakers for Go.
//
//	go run ./cmd/ratios [-quick]     one interleaved run, a table of ratios
//	go test -bench . -count 10       ordinary benchmarks, for benchstat
//
// It is a module of its own so that nobody who uses Recloser sees the rivals.
package bench

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cenk/backoff"
	"github.com/eapache/go-resiliency/breaker"
	"github.com/failsafe-go/failsafe-go/circuitbreaker"
	"github.com/rubyist/circuitbreaker"
	"github.com/sony/gobreaker/v2"

	"github.com/recloser-go/recloser"
)

// What every peer is set to, as far as it has the setting: 50 % bad calls of at
// least 20 in the last 10 s, and an open time that outlasts the run.
const (
	window   = 10 * time.Second
	minCalls = 20
	rate     = 0.5
	openFor  = time.Hour
)

// Breaker is one breaker around a trivial function.
type Breaker interface {
	Succeed() error // one call that ends well; an error only if it was refused
	Fail() error    // one call that fails with ErrWork, or is refused
}

// ErrWork is the failure of the function that the breakers protect.
var ErrWork = errors.New("work failed")

// Peer is a library, driven in one way.
type Peer struct {
	Name       string
	Rule       string // its settings in words
	RateWindow bool   // a rival that judges a rate over a time window, as Recloser does
	Refusal    error  // what errors.Is finds in a refusal
	New        func() Breaker
}

// Open returns a breaker that refuses.
func (p Peer) Open() (Breaker, error) {
	b := p.New()
	for start := time.Now(); time.Since(start) < 5*time.Second; {
		if errors.Is(b.Fail(), p.Refusal) {
			return b, nil
		}
	}
	return nil, fmt.Errorf("%s does not open", p.Name)
}

// Peers lists Recloser first, then the rivals.
func Peers() []Peer {
	const ourRule = "50 % of 20 in 10 s, slow limit 2 s, run of 5; with statistics"
	return []Peer{
		{
			Name: "recloser Do", Rule: ourRule, Refusal: recloser.ErrOpen,
			New: func() Breaker { return viaDo{newRecloser()} },
		},
		{
			Name: "recloser Allow", Rule: ourRule, Refusal: recloser.ErrOpen,
			New: func() Breaker { return viaAllow{newRecloser()} },
		},
		{
			Name: "failsafe-go permits", Rule: "50 % of 20 in 10 s, ten slices; by hand, no executor", RateWindow: true, Refusal: circuitbreaker.ErrOpen,
			New: func() Breaker {
				return failsafe{circuitbreaker.NewBuilder[any]().WithFailureRateThreshold(rate, minCalls, window).
					WithDelay(openFor).WithSuccessThreshold(1).Build()}
			},
		},
		{
			Name: "gobreaker", Rule: "50 % of 20 in 10 s, buckets of 1 s", RateWindow: true, Refusal: gobreaker.ErrOpenState,
			New: func() Breaker {
				return goBreaker{gobreaker.NewCircuitBreaker[struct{}](gobreaker.Settings{
					Interval: window, BucketPeriod: window / 10, Timeout: openFor,
					ReadyToTrip: func(c gobreaker.Counts) bool {
						return c.Requests >= minCalls && float64(c.TotalFailures) >= rate*float64(c.Requests)
					},
				})}
			},
		},
		{
			Name: "rubyist", Rule: "50 % of 20 in 10 s, ten buckets", RateWindow: true, Refusal: circuit.ErrBreakerOpen,
			New: func() Breaker {
				return rubyist{circuit.NewBreakerWithOptions(&circuit.Options{
					ShouldTrip: circuit.RateTripFunc(rate, minCalls), WindowTime: window, WindowBuckets: 10,
					BackOff: backoff.NewConstantBackOff(openFor), // its default costs more on each success
				})}
			},
		},
		{
			Name: "eapache", Rule: "5 failures, successes are not seen: no rate, no window, no clock", Refusal: breaker.ErrBreakerOpen,
			New: func() Breaker { return eapache{breaker.New(5, 1, openFor)} },
		},
	}
}

// Parallel times calls through breaker from GOMAXPROCS goroutines; open says
// whether they must all be refused or all be let through.
func Parallel(b *testing.B, breaker Breaker, open bool) {
	var wrong atomic.Int64
	b.ReportAllocs()
	b.RunParallel(func(pb *testing.PB) {
		n := int64(0)
		for pb.Next() {
			if refused := breaker.Succeed() != nil; refused != open {
				n++
			}
		}
		wrong.Add(n)
	})
	if n := wrong.Load(); n > 0 {
		b.Errorf("%d of %d calls: want refused = %v", n, b.N, open)
	}
}

func succeed() error                          { return nil }
func fail() error                             { return ErrWork }
func succeedContext(context.Context) error    { return nil }
func failContext(context.Context) error       { return ErrWork }
func succeedWithValue() (v struct{}, _ error) { return v, nil }
func failWithValue() (v struct{}, _ error)    { return v, ErrWork }

func newRecloser() *recloser.Breaker {
	b, err := recloser.New(recloser.Config{
		Window: window, MinCalls: minCalls, FailureRate: rate, SlowCall: 2 * time.Second, OpenFor: openFor,
	})
	if err != nil {
		panic(err)
	}
	return b
}

type viaDo struct{ b *recloser.Breaker }

func (d viaDo) Succeed() error { return d.b.Do(context.Background(), succeedContext) }
func (d viaDo) Fail() error    { return d.b.Do(context.Background(), failContext) }

type viaAllow struct{ b *recloser.Breaker }

func (a viaAllow) Succeed() error { return a.call(succeed) }
func (a viaAllow) Fail() error    { return a.call(fail) }

func (a viaAllow) call(fn func() error) error {
	permit, err := a.b.Allow(context.Background())
	if err != nil {
		return err
	}
	err = fn()
	permit.Done(err)
	return err
}

type failsafe struct {
	cb circuitbreaker.CircuitBreaker[any]
}

func (f failsafe) Succeed() error { return f.call(succeed) }
func (f failsafe) Fail() error    { return f.call(fail) }

func (f failsafe) call(fn func() error) error {
	if !f.cb.TryAcquirePermit() {
		return circuitbreaker.ErrOpen
	}
	err := fn()
	if err != nil {
		f.cb.RecordFailure()
	} else {
		f.cb.RecordSuccess()
	}
	return err
}

type goBreaker struct {
	cb *gobreaker.CircuitBreaker[struct{}]
}

func (g goBreaker) Succeed() error { _, err := g.cb.Execute(succeedWithValue); return err }
func (g goBreaker) Fail() error    { _, err := g.cb.Execute(failWithValue); return err }

type rubyist struct{ b *circuit.Breaker }

func (r rubyist) Succeed() error { return r.b.Call(succeed, 0) }
func (r rubyist) Fail() error    { return r.b.Call(fail, 0) }

type eapache struct{ b *breaker.Breaker }

func (e eapache) Succeed() error { return e.b.Run(succeed) }
func (e eapache) Fail() error    { return e.b.Run(fail) }
