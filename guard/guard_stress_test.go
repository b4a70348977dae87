package guard

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/recloser-go/recloser"
)

// Everything at once on real time, for the race detector: calls that keep their
// contexts, trips that release them, a limit that moves, and queues.
func TestEverythingAtOnce(t *testing.T) {
	const callers, calls = 16, 300
	cfg := Config{
		Breaker: recloser.Config{SlowCall: 50 * time.Millisecond, OpenFor: time.Millisecond, MaxOpenFor: time.Millisecond, CancelOnTrip: true},
		Timeout: 20 * time.Millisecond, AttemptTimeout: 2 * time.Millisecond,
		RateLimit: RateLimit{Rate: 1e6}, Bulkhead: Bulkhead{Min: 2, Max: callers / 2, Wait: time.Millisecond},
		Retry: Retry{Attempts: 3, Unmarked: true, Backoff: time.Millisecond, Budget: 1},
	}
	g := newTest(t, cfg)
	g.random = rand.Float64
	var kept, wg sync.WaitGroup
	for range callers {
		wg.Go(func() {
			for range calls {
				ctx, cancel := context.WithTimeout(t.Context(), time.Duration(1+rand.IntN(10))*time.Millisecond)
				_ = g.Do(ctx, func(ctx context.Context) error {
					kept.Go(func() { look(t, ctx) })
					switch rand.IntN(20) {
					case 0:
						<-ctx.Done()
						return ctx.Err()
					case 1:
						return errDown
					case 2:
						_ = g.breaker.TripFor(time.Millisecond, "ana", "test")
					}
					return nil
				})
				cancel()
			}
		})
	}
	wg.Wait()
	kept.Wait()
	if h := g.bulkhead; h.running != 0 || h.waiting.Len() != 0 || h.limit < 2 || h.limit > callers/2 {
		t.Errorf("%d run, %d wait, the limit is %d", h.running, h.waiting.Len(), h.limit)
	}
	if s := g.breaker.Stats(); s.InFlight != 0 || s.Success == 0 {
		t.Errorf("%d in flight, %d good", s.InFlight, s.Success)
	}
}

// look asks a context everything, and follows it to its end.
func look(t *testing.T, ctx context.Context) {
	ctx.Deadline()
	derived, cancel := context.WithCancel(ctx)
	defer cancel()
	_ = ctx.Value(t)
	<-derived.Done()
	err := ctx.Err()
	if !errors.Is(err, context.Canceled) && !errors.Is(err, context.DeadlineExceeded) || !errors.Is(ctx.Err(), err) {
		t.Errorf("done, and says %v", err)
	}
	if context.Cause(ctx) == nil {
		t.Error("done without a cause")
	}
}
