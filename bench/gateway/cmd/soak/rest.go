package main

import (
	"context"
	"time"

	"github.com/recloser-go/recloser/bench/gateway/town"
)

const (
	// coolDown is how long goroutines may take to end once nobody comes any more:
	// connections to hotels are kept for 90 s.
	coolDown = 3 * time.Minute
	// few is how many more there may be than before the first guest came: a probe a
	// minute keeps a connection to each hotel, of two goroutines, and some.
	few = 2*partners + 10
)

// idle is how many goroutines there are while nobody comes.
type idle struct{ before, after float64 }

func (i idle) back() bool { return i.after <= i.before+few }

// goroutines are those of the gateway now.
func (s *soak) goroutines(ctx context.Context) (float64, error) {
	metrics, err := s.admin.metrics(ctx, goroutinesMetric)
	return metrics[goroutinesMetric], err
}

// rest waits until there are as few goroutines as there were before, and returns
// how many there are in the end.
func (s *soak) rest(ctx context.Context, before float64) (idle, error) {
	ctx, cancel := context.WithTimeout(ctx, coolDown)
	defer cancel()
	say("all guests have gone: waiting for goroutines to end")
	for {
		now, err := s.goroutines(ctx)
		i := idle{before, now}
		if err != nil || i.back() || !town.Wait(ctx, look) {
			return i, err
		}
	}
}
