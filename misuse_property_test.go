package recloser_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net"
	"testing"
	"time"

	"github.com/recloser-go/recloser"
)

var errUnwell = errors.New("unwell")

// nilError is an error type that somebody forgot to look into before he returned it.
func nilError[T error]() error {
	var err T
	return err
}

// silent is an error that cannot be asked what it says.
type silent struct{ text string }

func (e *silent) Error() string { return e.text }

// broken is an error whose methods panic.
type broken struct{}

func (broken) Error() string   { panic("Error") }
func (broken) Is(error) bool   { panic("Is") }
func (broken) As(any) bool     { panic("As") }
func (broken) Unwrap() error   { panic("Unwrap") }
func (broken) Temporary() bool { panic("Temporary") }

// Whatever a caller hands in by mistake gives an error, or panics at him where
// the call is his own; the breaker works on, and no call is left in it.
func TestMisuseLeavesTheBreakerWhole(t *testing.T) {
	const panics = true
	for _, c := range []struct {
		name   string
		panics bool
		do     func(t *testing.T, b *recloser.Breaker) error
	}{
		{"Do without a function", !panics, func(t *testing.T, b *recloser.Breaker) error { return b.Do(t.Context(), nil) }},
		{"Do without a context", panics, func(_ *testing.T, b *recloser.Breaker) error {
			return b.Do(nil, func(context.Context) error { return nil }) //nolint:staticcheck // that is the mistake
		}},
		{"Allow without a context", panics, func(_ *testing.T, b *recloser.Breaker) error {
			_, err := b.Allow(nil) //nolint:staticcheck // that is the mistake
			return err
		}},
		{"typed Do without a function", !panics, func(t *testing.T, b *recloser.Breaker) error {
			_, err := recloser.Do[int](t.Context(), b, nil)
			return err
		}},
		{"a listener that is none", !panics, func(_ *testing.T, b *recloser.Breaker) error {
			b.Subscribe(nil)
			b.TryNow("ann", "")
			if err := b.TripFor(time.Minute, "ann", "nobody hears"); err != nil {
				return err
			}
			b.Reset("ann", "again")
			return errUnwell
		}},
		{"a nil *WaitError", !panics, returning(nilError[*recloser.WaitError]())},
		{"a nil *OpenError", !panics, returning(nilError[*recloser.OpenError]())},
		{"a nil *net.OpError", !panics, returning(nilError[*net.OpError]())},
		{"a nil error that would tell nothing else", !panics, returning(nilError[*silent]())},
		{"an error whose methods panic", !panics, returning(broken{})},
		{"a wrapped one", !panics, returning(fmt.Errorf("call: %w", broken{}))},
		{"a wait of 292 years", !panics, returning(&recloser.WaitError{After: math.MaxInt64, Throttled: true})},
		{"a wait that is negative", !panics, returning(&recloser.WaitError{After: math.MinInt64, Err: errUnwell})},
		{"TripFor no time", !panics, func(_ *testing.T, b *recloser.Breaker) error { return b.TripFor(0, "ann", "") }},
		{"TripFor less than that", !panics, func(_ *testing.T, b *recloser.Breaker) error { return b.TripFor(math.MinInt64, "ann", "") }},
		{"TripFor 292 years", !panics, func(_ *testing.T, b *recloser.Breaker) error { return b.TripFor(math.MaxInt64, "ann", "") }},
		{"Isolate until long ago", !panics, func(_ *testing.T, b *recloser.Breaker) error { return b.Isolate("ann", "", time.Unix(-1<<60, 0)) }},
		{"HoldClosed until long ago", !panics, func(_ *testing.T, b *recloser.Breaker) error { return b.HoldClosed("ann", "", time.Unix(1, 0)) }},
		{"Isolate until the sun is cold", !panics, func(_ *testing.T, b *recloser.Breaker) error {
			if err := b.Isolate("ann", "", time.Unix(1<<60, 0)); err != nil {
				return err
			}
			if _, err := b.Allow(t.Context()); !errors.Is(err, recloser.ErrOpen) {
				t.Error("let in while isolated")
			}
			b.Release("ann", "")
			b.Reset("ann", "")
			return errUnwell
		}},
		{"Update to nonsense", !panics, func(_ *testing.T, b *recloser.Breaker) error {
			return b.Update(recloser.Config{Window: math.MinInt64, MinCalls: math.MinInt, Jitter: math.NaN(), Trials: math.MaxInt})
		}},
		{"Restore nonsense", !panics, func(_ *testing.T, b *recloser.Breaker) error {
			return b.Restore(recloser.Saved{State: 77, Step: math.MinInt})
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			b, err := recloser.New(recloser.Config{Consecutive: 3, Clock: recloser.NewManualClock(time.Unix(1e9, 0))})
			if err != nil {
				t.Fatal(err)
			}
			if v, err := attempt(func() error { return c.do(t, b) }); (v != nil) != c.panics || v == nil && err == nil {
				t.Errorf("panicked with %v, error %v; want a panic: %t, and else an error", v, err, c.panics)
			}
			if v, _ := attempt(func() error { mustWork(t, b); return nil }); v != nil {
				t.Errorf("afterwards a panic: %v", v)
			}
		})
	}
}

// returning makes a call that ends with an odd error, is told what the breaker
// makes of it, and makes another one.
func returning(odd error) func(*testing.T, *recloser.Breaker) error {
	return func(t *testing.T, b *recloser.Breaker) error {
		p, err := b.Allow(t.Context())
		if err != nil {
			return err
		}
		p.Done(odd)
		if err := b.TripFor(time.Minute, "ann", "to be told why"); err != nil {
			return err
		}
		if _, err := b.Allow(t.Context()); !errors.Is(err, recloser.ErrOpen) || err.Error() == "" {
			t.Errorf("let in while open: %v", err)
		}
		_, _ = b.Explain(), b.Save()
		b.Reset("ann", "to go on")
		return b.Do(t.Context(), func(context.Context) error { return odd })
	}
}

func attempt(do func() error) (v any, err error) {
	defer func() { v = recover() }()
	return nil, do()
}

// mustWork trips the breaker, from closed, and recloses it.
func mustWork(t *testing.T, b *recloser.Breaker) {
	t.Helper()
	b.Reset("ann", "to begin")
	call := func(result error) error { return b.Do(t.Context(), func(context.Context) error { return result }) }
	if n := b.Stats().InFlight; n != 0 {
		t.Errorf("no call runs, but %d are counted", n)
	}
	if err := call(nil); err != nil {
		t.Errorf("a good call gave %v", err)
	}
	for range 3 {
		if err := call(errUnwell); !errors.Is(err, errUnwell) {
			t.Errorf("a failed call gave %v", err)
		}
	}
	if got := b.State(); got != recloser.Open {
		t.Errorf("%s after three failures", got)
	}
	b.TryNow("ann", "")
	for range 2 {
		if err := call(nil); err != nil {
			t.Errorf("a trial gave %v", err)
		}
	}
	if got := b.State(); got != recloser.Closed {
		t.Errorf("%s after two good trials: %s", got, b.Explain())
	}
}

// A value that nobody made is a mistake that shows at once, or does nothing.
func TestZeroValues(t *testing.T) {
	var p recloser.Permit
	p.Sending()
	p.Sent()
	p.Answered()
	p.Done(errUnwell)
	p.End(recloser.Failure)
	p.Cancel()
	if p.Trial() || p.Released().Done() != nil {
		t.Error("a permit of nobody knows something")
	}
	if _, err := recloser.StartClock(0); err == nil {
		t.Error("a clock ticks each 0 s")
	}
	if _, err := recloser.StartClock(math.MaxInt64); err == nil {
		t.Error("a clock ticks each 292 years")
	}
	for _, d := range []time.Duration{-1, math.MinInt64} {
		if v, _ := attempt(func() error { recloser.NewManualClock(time.Time{}).Advance(d); return nil }); v == nil {
			t.Errorf("a clock was advanced by %s", d)
		}
	}
}
