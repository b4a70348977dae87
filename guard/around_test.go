package guard

import (
	"errors"
	"testing"
	"time"

	"github.com/recloser-go/recloser"
)

func TestAround(t *testing.T) {
	b, err := recloser.New(recloser.Config{Name: "hotel", Trials: 7})
	if err != nil {
		t.Fatal(err)
	}
	g, err := Around(b, Config{Breaker: recloser.Config{Name: "aside", Trials: -1}, Timeout: time.Second})
	if err != nil {
		t.Fatal(err)
	}
	if c := g.Config(); g.Breaker() != b || c.Breaker.Name != "hotel" || c.Breaker.Trials != 7 || c.Timeout != time.Second || c.Retry.Attempts != 1 {
		t.Errorf("got %+v", c)
	}
	for name, make := range map[string]func() (*Guard, error){
		"no breaker":  func() (*Guard, error) { return Around(nil, Config{}) },
		"bad setting": func() (*Guard, error) { return Around(b, Config{Timeout: time.Nanosecond}) },
	} {
		if g, err := make(); err == nil || g != nil {
			t.Errorf("%s: got %v, %v", name, g, err)
		}
	}
}

func TestWithSharesLimits(t *testing.T) {
	bubble(t, func(t *testing.T) {
		one := newTest(t, Config{Breaker: tripping(), RateLimit: RateLimit{Rate: 1, Burst: 2}, Bulkhead: Bulkhead{Max: 1}})
		b, err := recloser.New(recloser.Config{Name: "other"})
		if err != nil {
			t.Fatal(err)
		}
		other := one.With(b)
		call, err := one.Allow(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if _, err := other.Allow(t.Context()); !errors.Is(err, ErrFull) {
			t.Errorf("got %v, want the bulkhead of both to be full", err)
		}
		call.Done(errDown)
		if err := other.Do(t.Context(), succeeds); err != nil {
			t.Error(err)
		}
		var limited *LimitError
		if err := other.Do(t.Context(), succeeds); !errors.As(err, &limited) || limited.Name != "other" {
			t.Errorf("got %v, want the rate limit of both, by its own name", err)
		}
		if s := b.Stats(); s.Success != 1 || s.Failed != 0 || one.breaker.Stats().Failed != 1 {
			t.Errorf("a call was told to the wrong breaker: %+v", s)
		}
	})
}
