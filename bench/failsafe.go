package bench

import (
	"github.com/failsafe-go/failsafe-go"
	"github.com/failsafe-go/failsafe-go/circuitbreaker"
)

func ratePermits() Peer {
	return Peer{
		Name: "failsafe-go permits", Rule: "50 % of 20 in 10 s, ten slices; by hand: no executor, nothing against panics",
		RateWindow: true, Refusal: circuitbreaker.ErrOpen,
		New: func() Breaker { return permits{rateFailsafe()} },
	}
}

func rowPermits() Peer {
	return Peer{
		Name: "failsafe-go permits", Rule: "5 of the last 5; by hand", Refusal: circuitbreaker.ErrOpen,
		New: func() Breaker {
			return permits{circuitbreaker.NewBuilder[any]().WithFailureThreshold(inARow).WithDelay(openFor).Build()}
		},
	}
}

func rateExecutor() Peer {
	return Peer{
		Name: "failsafe-go executor", Rule: "50 % of 20 in 10 s, ten slices", RateWindow: true, Refusal: circuitbreaker.ErrOpen,
		New: func() Breaker { return newExecutor(rateFailsafe()) },
	}
}

func rateFailsafe() circuitbreaker.CircuitBreaker[any] {
	return circuitbreaker.NewBuilder[any]().WithFailureRateThreshold(rate, minCalls, window).
		WithDelay(openFor).WithSuccessThreshold(1).Build()
}

// permits drives the policy by hand.
type permits struct {
	cb circuitbreaker.CircuitBreaker[any]
}

func (p permits) Succeed() error { return p.call(succeed) }
func (p permits) Fail() error    { return p.call(fail) }

func (p permits) call(fn func() error) error {
	if !p.cb.TryAcquirePermit() {
		return circuitbreaker.ErrOpen
	}
	err := fn()
	if err != nil {
		p.cb.RecordFailure()
	} else {
		p.cb.RecordSuccess()
	}
	return err
}

// executor is the way that failsafe-go's documentation shows. It is built once,
// for all calls.
type executor struct{ ex failsafe.Executor[any] }

func newExecutor(policies ...failsafe.Policy[any]) *executor {
	return &executor{failsafe.With(policies...)}
}

func (e *executor) Succeed() error { return e.ex.Run(succeed) }
func (e *executor) Fail() error    { return e.ex.Run(fail) }
