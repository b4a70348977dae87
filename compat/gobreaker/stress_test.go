package gobreaker

import (
	"errors"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// Goroutines use a breaker in every way at once, its hooks use it too, and its
// times are so short that it changes all the time.
func TestStress(t *testing.T) {
	const workers, calls = 8, 3000
	var b *CircuitBreaker[int]
	var last State
	var telling atomic.Bool
	var changed int
	st := Settings{
		MaxRequests:  2,
		Interval:     3 * time.Millisecond,
		BucketPeriod: time.Millisecond,
		Timeout:      50 * time.Microsecond,
		ReadyToTrip:  func(c Counts) bool { return b.Counts().Requests > 0 && c.ConsecutiveFailures > 2 },
		IsSuccessful: func(err error) bool { b.State(); return err == nil },
		IsExcluded:   func(err error) bool { return errors.Is(err, errOdd) },
		OnStateChange: func(_ string, from, to State) {
			if !telling.CompareAndSwap(false, true) {
				t.Error("told of two changes at once")
			}
			if from != last || from == to {
				t.Errorf("told of %v -> %v after -> %v", from, to, last)
			}
			last = to
			changed++
			b.Counts()
			telling.Store(false)
		},
	}
	b = NewCircuitBreaker[int](st)
	two := &TwoStepCircuitBreaker[int]{b.b} // the same one
	var wg sync.WaitGroup
	for n := range workers {
		wg.Go(func() {
			r := rand.New(rand.NewPCG(uint64(n), 2))
			results := []error{nil, nil, errDown, errDown, errOdd}
			var ends []func(error)
			for range calls {
				result := results[r.IntN(len(results))]
				switch r.IntN(4) {
				case 0:
					if done, err := two.Allow(); err == nil {
						ends = append(ends, done)
					}
				case 1:
					for _, done := range ends {
						done(result)
						wg.Go(func() { done(result) }) // must not matter
					}
					ends = nil
				case 2:
					c := b.Counts()
					if sum := uint64(c.TotalSuccesses) + uint64(c.TotalFailures) + uint64(c.TotalExclusions); sum > uint64(c.Requests) ||
						c.ConsecutiveFailures > c.TotalFailures || c.ConsecutiveSuccesses > c.TotalSuccesses {
						t.Errorf("counts do not add up: %+v", c)
					}
				default:
					if _, err := b.Execute(func() (int, error) { return 1, result }); !errors.Is(err, result) && !isRefusal(err) {
						t.Errorf("Execute returned %v, want %v", err, result)
					}
				}
			}
			for _, done := range ends {
				done(nil)
			}
		})
	}
	wg.Wait()
	if state := b.State(); state != last || changed < 10 {
		t.Errorf("it is %v; of %d changes the last was to %v", state, changed, last)
	}
}

func isRefusal(err error) bool {
	return errors.Is(err, ErrOpenState) || errors.Is(err, ErrTooManyRequests)
}
