package main

import (
	"context"
	"fmt"
	"path/filepath"
	"sync"
	"time"

	"github.com/recloser-go/recloser/bench/gateway/entrant"
	"github.com/recloser-go/recloser/bench/gateway/town"
)

// fine is within what 99 of 100 guests of hotels that are well must be done.
const fine = 50 * time.Millisecond

// loadShare is how much of the highest rate is used.
const loadShare = 0.8

// finder looks for the rate of a soak.
type finder struct {
	tools entrant.Tools
	dir   string
	tries int
}

// find looks for the highest rate that is fine, by steps up and then by halves,
// and returns 80 % of it. What is fine for a moment may not be for long, so that
// is tried for longer, and lowered until it is.
func (f *finder) find(ctx context.Context) (float64, error) {
	const (
		lowest = 200.0
		factor = 1.5
		halves = 3
		short  = 5 * time.Second
		long   = 15 * time.Second
	)
	good, bad := 0.0, 0.0
	for rate, halved := lowest, 0; halved < halves; {
		ok, err := f.isFine(ctx, rate, short)
		switch {
		case err != nil:
			return 0, err
		case ok:
			good = rate
		case good == 0:
			return 0, fmt.Errorf("%.0f calls/s are too many for this machine as busy as it is", rate)
		default:
			bad = rate
		}
		if bad == 0 {
			rate *= factor
			continue
		}
		rate = (good + bad) / 2
		halved++
	}
	for rate := loadShare * good; rate > lowest/2; rate *= loadShare {
		if ok, err := f.isFine(ctx, rate, long); ok || err != nil {
			return rate, err
		}
	}
	return 0, fmt.Errorf("no rate is fine for %v: this machine is too busy", long)
}

// isFine tries a rate on a gateway of its own.
func (f *finder) isFine(ctx context.Context, rate float64, d time.Duration) (bool, error) {
	const settle = time.Second
	f.tries++
	s, err := openSoak(f.tools, filepath.Join(f.dir, fmt.Sprintf("rate-%d", f.tries)))
	if err != nil {
		return false, err
	}
	defer s.close()
	var log town.Log
	var all sync.WaitGroup
	client := town.NewClient()
	defer client.CloseIdleConnections()
	every := every(rate)
	start := time.Now()
	for i, p := range s.partners {
		g := s.guests(client, s.gateway.HotelURL(p.ID, town.GuestPath), every, every*time.Duration(i)/partners, d)
		g.Done = log.Add
		all.Go(func() { g.Come(ctx, start) })
	}
	all.Wait()
	calls := town.Between(log.Calls(), settle, d)
	p99, failed := town.Percentile(town.Took(calls), 0.99), len(calls)-town.Succeeded(calls)
	say("%.0f calls/s for %v: p99 %.1f ms, %d of %d failed", rate, d, p99.Seconds()*1000, failed, len(calls))
	return p99 < fine && failed == 0, ctx.Err()
}

// every is from one guest of a hotel to the next, at so many calls a second to all.
func every(rate float64) time.Duration {
	return time.Duration(partners / rate * float64(time.Second))
}
