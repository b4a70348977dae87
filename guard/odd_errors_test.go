package guard

import (
	"context"
	"net"
	"testing"
	"time"

	"github.com/recloser-go/recloser"
)

// oddErrors have methods that panic, or are of a type that a guard looks into.
var oddErrors = map[string]error{
	"nil *net.OpError":        (*net.OpError)(nil),
	"nil *BudgetError":        (*BudgetError)(nil),
	"nil *recloser.WaitError": (*recloser.WaitError)(nil),
}

// An error whose methods panic is a failure like any other: the caller gets it,
// and the slot is free again.
func TestErrorsWhoseMethodsPanic(t *testing.T) {
	for name, odd := range oddErrors {
		for with, c := range map[string]struct {
			cfg      Config
			attempts int
		}{
			"an adaptive bulkhead": {Config{Bulkhead: Bulkhead{Min: 1, Max: 4}}, 1},
			"retries":              {Config{Bulkhead: Bulkhead{Max: 1}, Retry: thrice()}, 3},
			"a timeout":            {Config{Bulkhead: Bulkhead{Max: 1}, AttemptTimeout: time.Second}, 1},
		} {
			t.Run(name+"/"+with, func(t *testing.T) {
				bubble(t, func(t *testing.T) {
					c.cfg.Breaker = tolerant()
					g := newTest(t, c.cfg)
					attempts := 0
					err := g.Do(t.Context(), func(context.Context) error {
						attempts++
						pass(2 * time.Second)
						return odd
					})
					if err != odd || attempts != c.attempts { //nolint:errorlint // errors.Is panics
						t.Errorf("got %T after %d attempts, want %T after %d", err, attempts, odd, c.attempts)
					}
					if err := g.Do(t.Context(), succeeds); err != nil {
						t.Errorf("the next call: %v", err)
					}
					g.mustCount(1, 1, 0)
				})
			})
		}
	}
}
