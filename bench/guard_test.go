package bench

import (
	"context"
	"errors"
	"testing"

	"github.com/failsafe-go/failsafe-go"
)

// Both stacks must try again, or one would save what the other pays for.
func TestBothStacksRetry(t *testing.T) {
	peers := FullGuard().Peers
	ours, theirs := peers[0].New().(viaGuard), peers[1].New().(stack)
	for _, c := range []struct {
		name string
		do   func(fn func() error) error
	}{
		{peers[0].Name, func(fn func() error) error {
			return ours.g.Do(t.Context(), func(context.Context) error { return fn() })
		}},
		{peers[1].Name, func(fn func() error) error {
			return theirs.ex.RunWithExecution(func(failsafe.Execution[any]) error { return fn() })
		}},
	} {
		tried := 0
		err := c.do(func() error { tried++; return ErrWork })
		if tried != attempts || !errors.Is(err, ErrWork) {
			t.Errorf("%s: tried %d times, want %d; the error is %v", c.name, tried, attempts, err)
		}
		tried = 0
		err = c.do(func() error {
			if tried++; tried < attempts {
				return ErrWork
			}
			return nil
		})
		if tried != attempts || err != nil {
			t.Errorf("%s: tried %d times, want %d; the last ended well, and the error is %v", c.name, tried, attempts, err)
		}
	}
}
