package main

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/recloser-go/recloser/bench/gateway/entrant"
	"github.com/recloser-go/recloser/bench/gateway/town"
)

const (
	connections = 64
	// pinned is the processor that all gateways get, the same for each.
	pinned = "0"
	// rounds in which each gateway has a turn, so that a busy spell of the machine
	// falls on all.
	rounds = 4
)

// loaded is a gateway under full load.
type loaded struct {
	*entrant.Gateway
	url   string
	hotel *town.Hotel
	turns []float64 // µs of processor time for each request
}

// measureCPU measures the processor time that each gateway takes for a proxied
// request, in turns. The first of kinds is what the others are compared with.
func measureCPU(ctx context.Context, kinds []entrant.Kind, turn time.Duration, t entrant.Tools, dir string) (outcome, error) {
	var all []*loaded
	defer func() {
		for _, l := range all {
			l.Stop()
			l.hotel.Close()
		}
	}()
	for _, kind := range kinds {
		h, err := town.Open("hotel-1", 0)
		if err != nil {
			return outcome{}, err
		}
		g, err := kind.Start(t, entrant.Options{
			Dir: filepath.Join(dir, "cpu-"+kind.Name), ProbePath: town.ProbePath, CPU: pinned,
			Hotels: []entrant.Hotel{{ID: h.ID, Address: h.Address()}},
		})
		if err != nil {
			h.Close()
			return outcome{}, err
		}
		l := &loaded{Gateway: g, url: g.HotelURL(h.ID, town.GuestPath), hotel: h}
		all = append(all, l)
		if _, err := l.turn(ctx, turn/4); err != nil { // connections are made
			return outcome{}, err
		}
	}
	for range rounds {
		for _, l := range all {
			spent, err := l.turn(ctx, turn)
			if err != nil {
				return outcome{}, err
			}
			l.turns = append(l.turns, spent)
		}
		slices.Reverse(all) // A B, B A: what drifts does not favour one of them
	}
	o := outcome{Row: cpuRow, Gateways: map[string]figures{}}
	base := slices.IndexFunc(all, func(l *loaded) bool { return l.Name == kinds[0].Name })
	for _, l := range all {
		ratios := make([]float64, rounds)
		for i := range ratios {
			ratios[i] = l.turns[i] / all[base].turns[i]
		}
		o.Gateways[l.Name] = figures{cpu: median(l.turns), againstBare: median(ratios)}
	}
	return o, nil
}

// turn sends requests over all connections, one after the other on each, and
// returns the processor time for each of them in microseconds.
func (l *loaded) turn(ctx context.Context, d time.Duration) (float64, error) {
	ctx, cancel := context.WithTimeout(ctx, d)
	defer cancel()
	before, err := l.CPU()
	if err != nil {
		return 0, err
	}
	var good, bad atomic.Int64
	client := town.NewClient()
	defer client.CloseIdleConnections()
	var workers sync.WaitGroup
	for range connections {
		workers.Go(func() {
			for ctx.Err() == nil {
				if town.Visit(client, l.url).OK {
					good.Add(1)
				} else {
					bad.Add(1)
				}
			}
		})
	}
	workers.Wait()
	after, err := l.CPU()
	if err != nil {
		return 0, err
	}
	if bad.Load() > 0 || good.Load() == 0 {
		return 0, fmt.Errorf("%s under load: %d calls failed, %d did not", l.Name, bad.Load(), good.Load())
	}
	return float64((after - before).Microseconds()) / float64(good.Load()), nil
}

// median is that of values that are not empty: the mean of the middle two of an
// even number.
func median(values []float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	return (sorted[(len(sorted)-1)/2] + sorted[len(sorted)/2]) / 2
}
