package bench

import (
	"context"
	"time"

	"github.com/failsafe-go/failsafe-go"
	"github.com/failsafe-go/failsafe-go/budget"
	"github.com/failsafe-go/failsafe-go/bulkhead"
	"github.com/failsafe-go/failsafe-go/circuitbreaker"
	"github.com/failsafe-go/failsafe-go/ratelimiter"
	"github.com/failsafe-go/failsafe-go/retrypolicy"
	"github.com/failsafe-go/failsafe-go/timeout"

	"github.com/recloser-go/recloser"
	"github.com/recloser-go/recloser/guard"
)

// What the whole stack is set to, besides the breaker: limits that nobody who
// calls one after the other comes near to.
const (
	callTimeout    = time.Minute
	attemptTimeout = time.Second
	perSecond      = 1_000_000
	atOnce         = 25
	attempts       = 3
	firstWait      = time.Millisecond
	longestWait    = 10 * time.Millisecond
	retryShare     = 0.1
)

// BareGuard is a guard with nothing on, beside its breaker alone.
func BareGuard() Group {
	return Group{Name: "bare guard", Peers: []Peer{
		guardPeer("guard", "nothing on but the breaker", guard.Config{Breaker: rateConfig(nil)}),
		recloserDo("breaker alone", rateRule, rateConfig(nil)),
	}}
}

// FullGuard is a guard with everything on, and the same made of failsafe-go's
// policies.
func FullGuard() Group {
	const rule = "time-out, rate limit, bulkhead, breaker, 3 attempts with a budget, time-out of each"
	return Group{Name: "whole stack", Peers: []Peer{
		guardPeer("guard", rule, guard.Config{
			Breaker: rateConfig(nil), Timeout: callTimeout, AttemptTimeout: attemptTimeout,
			RateLimit: guard.RateLimit{Rate: perSecond, Burst: perSecond}, Bulkhead: guard.Bulkhead{Max: atOnce},
			Retry: guard.Retry{Attempts: attempts, Unmarked: true, Backoff: firstWait, MaxBackoff: longestWait, Budget: retryShare},
		}),
		{
			Name: "failsafe-go stack", Rule: rule + "; one executor for all calls", Refusal: circuitbreaker.ErrOpen,
			New: func() Breaker { return stack{newExecutor(failsafePolicies()...)} },
		},
	}}
}

func guardPeer(name, rule string, cfg guard.Config) Peer {
	return Peer{
		Name: name, Rule: rule, Refusal: recloser.ErrOpen,
		New: func() Breaker { return viaGuard{must(guard.New(cfg))} },
	}
}

type viaGuard struct{ g *guard.Guard }

func (v viaGuard) Succeed() error { return v.g.Do(context.Background(), succeedContext) }
func (v viaGuard) Fail() error    { return v.g.Do(context.Background(), failContext) }

func failsafePolicies() []failsafe.Policy[any] {
	return []failsafe.Policy[any]{
		timeout.New[any](callTimeout),
		ratelimiter.NewBursty[any](perSecond, time.Second),
		bulkhead.New[any](atOnce),
		rateFailsafe(),
		retrypolicy.NewBuilder[any]().WithMaxAttempts(attempts).WithBackoff(firstWait, longestWait).WithJitterFactor(0.5).
			WithBudget(budget.NewBuilder().WithMaxRate(retryShare).Build()).ReturnLastFailure().Build(),
		timeout.New[any](attemptTimeout),
	}
}

// stack is an executor whose function needs the context, as it is the time-outs
// that end it.
type stack struct{ *executor }

func (s stack) Succeed() error { return s.ex.RunWithExecution(succeedExecution) }
func (s stack) Fail() error    { return s.ex.RunWithExecution(failExecution) }

func succeedExecution(e failsafe.Execution[any]) error { return succeedContext(e.Context()) }
func failExecution(e failsafe.Execution[any]) error    { return failContext(e.Context()) }
