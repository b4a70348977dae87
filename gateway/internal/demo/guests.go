package demo

import (
	"context"
	"sync"
	"time"
)

// sendGuests sends the same guests to every lane for that long, evenly spaced, or
// until ctx ends, and returns when all have left or visiting has ended their visits.
func sendGuests(ctx, visiting context.Context, c clock, length time.Duration, lanes []*lane) {
	var all sync.WaitGroup
	send := func(due time.Duration, v visit, g guest) {
		v.start = due
		for _, l := range lanes {
			all.Go(func() { l.receive(visiting, c, v, g) })
		}
	}
	all.Go(func() {
		each(ctx, c, 0, length, scansPerSecond, func(n int, due time.Duration) {
			hotel := n%hotelsPerLane + 1
			send(due, visit{hotel: hotel}, newGuest(hotel, n))
		})
	})
	all.Go(func() {
		const between = time.Second / scansPerSecond / 2 // two scans
		each(ctx, c, between, length, asksPerSecond, func(n int, due time.Duration) {
			hotel := hotelOfUnknown(n)
			send(due, visit{hotel: hotel, ask: true}, newGuest(hotel, n))
		})
	})
	all.Wait()
}

// each calls do perSecond times a second until the time is length.
func each(ctx context.Context, c clock, first, length time.Duration, perSecond int, do func(n int, due time.Duration)) {
	for n := 0; ; n++ {
		due := first + time.Duration(n)*time.Second/time.Duration(perSecond)
		if due >= length || !c.wait(ctx, due) {
			return
		}
		do(n, due)
	}
}

// hotelOfUnknown says where a guest stays whose pass does not say it: every
// fourth at none of the hotels, the others at one after the other.
func hotelOfUnknown(n int) int {
	if n%4 == 3 {
		return 0
	}
	return (n-n/4)%hotelsPerLane + 1
}
