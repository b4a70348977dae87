package bench

import (
	"context"
	"time"

	"github.com/recloser-go/recloser"
)

const rateRule = "50 % of 20 in 10 s, run of 5, slow limit 2 s; with statistics"

// rateConfig has every rule on. Spread is short so that a breaker opens at once
// when it is asked to; on calls that end well it has no part.
func rateConfig(clock *recloser.Clock) recloser.Config {
	return recloser.Config{
		Window: window, MinCalls: minCalls, FailureRate: rate, SlowCall: 2 * time.Second,
		Spread: time.Millisecond, OpenFor: openFor, Clock: clock,
	}
}

func rowConfig(clock *recloser.Clock) recloser.Config {
	return recloser.Config{
		FailureRate: recloser.Off, SlowCall: recloser.Off, Consecutive: inARow, OpenFor: openFor, Clock: clock,
	}
}

func recloserDo(name, rule string, cfg recloser.Config) Peer {
	return Peer{
		Name: name, Rule: rule, Refusal: recloser.ErrOpen,
		New: func() Breaker { return viaDo{must(recloser.New(cfg))} },
	}
}

func recloserAllow(name, rule string, cfg recloser.Config) Peer {
	return Peer{
		Name: name, Rule: rule, Refusal: recloser.ErrOpen,
		New: func() Breaker { return viaAllow{must(recloser.New(cfg))} },
	}
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
