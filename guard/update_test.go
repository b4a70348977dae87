package guard

import (
	"context"
	"testing"

	"github.com/recloser-go/recloser"
)

func TestUpdateOfTheBreaker(t *testing.T) {
	bubble(t, func(t *testing.T) {
		g := newTest(t, Config{Breaker: tripping()})
		cfg := tripping()
		cfg.Trials = 7
		if err := g.Breaker().Update(cfg); err != nil {
			t.Fatal(err)
		}
		if got := g.breaker.Config().Trials; got != 7 {
			t.Errorf("%d trials, want 7", got)
		}
		// The refusal of a guard further inside is still no failure.
		_ = g.Do(t.Context(), func(context.Context) error { return &LimitError{} })
		g.mustCount(0, 0, 1)
		g.mustBe(recloser.Closed)
		if g.Breaker().Update(recloser.Config{Trials: -1}) == nil {
			t.Error("no error")
		}
	})
}
