package bench

import (
	"github.com/cenk/backoff"
	"github.com/eapache/go-resiliency/breaker"
	"github.com/rubyist/circuitbreaker"
	gozero "github.com/zeromicro/go-zero/core/breaker"
	"github.com/zeromicro/go-zero/core/stat"
)

func rateRubyist() Peer {
	return Peer{
		Name: "rubyist", Rule: "50 % of 20 in 10 s, ten buckets", RateWindow: true, Refusal: circuit.ErrBreakerOpen,
		New: func() Breaker { return newRubyist(rubyistRate()) },
	}
}

func rowRubyist() Peer {
	return Peer{
		Name: "rubyist", Rule: "5 in a row", Refusal: circuit.ErrBreakerOpen,
		New: func() Breaker { return newRubyist(circuit.ConsecutiveTripFunc(inARow)) },
	}
}

func rubyistRate() circuit.TripFunc { return circuit.RateTripFunc(rate, minCalls) }

func newRubyist(trip circuit.TripFunc) rubyist {
	return rubyist{circuit.NewBreakerWithOptions(&circuit.Options{
		ShouldTrip: trip, WindowTime: window, WindowBuckets: 10,
		BackOff: backoff.NewConstantBackOff(openFor), // its default costs more on each success
	})}
}

type rubyist struct{ b *circuit.Breaker }

func (r rubyist) Succeed() error { return r.b.Call(succeed, 0) }
func (r rubyist) Fail() error    { return r.b.Call(fail, 0) }

func eapachePeer() Peer {
	return Peer{
		Name: "eapache", Rule: "5 failures; successes are not seen: no rate, no window, no clock", Refusal: breaker.ErrBreakerOpen,
		New: func() Breaker { return newEapache() },
	}
}

func newEapache() eapache { return eapache{breaker.New(inARow, 1, openFor)} }

type eapache struct{ b *breaker.Breaker }

func (e eapache) Succeed() error { return e.b.Run(succeed) }
func (e eapache) Fail() error    { return e.b.Run(fail) }

func gozeroPeer() Peer {
	return Peer{
		Name: "go-zero", Rule: "adaptive, 10 s in 40 buckets, all fixed; refuses by chance", RateWindow: true, Sheds: true,
		Refusal: gozero.ErrServiceUnavailable,
		New:     func() Breaker { return newGozero() },
	}
}

func newGozero() goZero {
	// What it logs would stand among our tables. It writes the text of its alerts
	// even so.
	stat.SetReporter(nil)
	stat.DisableLog()
	return goZero{gozero.NewBreaker(gozero.WithName("peer"))}
}

type goZero struct{ b gozero.Breaker }

func (g goZero) Succeed() error { return g.b.Do(succeed) }
func (g goZero) Fail() error    { return g.b.Do(fail) }
