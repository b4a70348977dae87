package bench

import "github.com/sony/gobreaker/v2"

func rateGobreaker() Peer {
	return Peer{
		Name: "gobreaker", Rule: "50 % of 20 in 10 s, buckets of 1 s", RateWindow: true, Refusal: gobreaker.ErrOpenState,
		New: func() Breaker { return newGobreaker(gobreakerRate()) },
	}
}

func rowGobreaker() Peer {
	return Peer{
		Name: "gobreaker", Rule: "5 in a row", Refusal: gobreaker.ErrOpenState,
		New: func() Breaker {
			return newGobreaker(gobreaker.Settings{
				Timeout:     openFor,
				ReadyToTrip: func(c gobreaker.Counts) bool { return c.ConsecutiveFailures >= inARow },
			})
		},
	}
}

func gobreakerRate() gobreaker.Settings {
	return gobreaker.Settings{
		Interval: window, BucketPeriod: window / 10, Timeout: openFor,
		ReadyToTrip: func(c gobreaker.Counts) bool {
			return c.Requests >= minCalls && float64(c.TotalFailures) >= rate*float64(c.Requests)
		},
	}
}

func newGobreaker(s gobreaker.Settings) goBreaker {
	return goBreaker{gobreaker.NewCircuitBreaker[struct{}](s)}
}

type goBreaker struct {
	cb *gobreaker.CircuitBreaker[struct{}]
}

func (g goBreaker) Succeed() error { _, err := g.cb.Execute(succeedWithValue); return err }
func (g goBreaker) Fail() error    { _, err := g.cb.Execute(failWithValue); return err }
