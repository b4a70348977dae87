// Package demo plays one outage twice, at the same time and with the same
// guests: once through a real gateway and once without it. Every hotel is a
// process of its own, so what hangs really hangs.
package demo

import (
	"context"
	"fmt"
	"time"
)

// Script says when things happen, counted from the first guest.
type Script struct {
	FaultsFrom  time.Duration // when three hotels fall ill; default 10 s
	FaultsUntil time.Duration // when they recover; default 30 s
	Length      time.Duration // when the last guest has come; default 45 s
}

// DefaultScript is the one that `recloser demo` plays.
func DefaultScript() Script {
	return Script{FaultsFrom: 10 * time.Second, FaultsUntil: 30 * time.Second, Length: 45 * time.Second}
}

const (
	hotelsPerLane  = 12
	scansPerSecond = 120 // of guests whose hotel is known, to that hotel
	asksPerSecond  = 10  // of guests whose hotel is not known, to all of them
	clientTimeout  = 30 * time.Second
	longWait       = time.Second // what a guest notices
)

// Fault is what is wrong with a hotel between FaultsFrom and FaultsUntil.
type Fault string

// The faults. None makes the hotel's health check fail at once: that is what
// makes them hard to see.
const (
	NoFault Fault = ""
	Hang    Fault = "hang"   // its process is stopped: connections open, nothing answers
	Slow    Fault = "slow"   // it answers in slowAnswer
	Errors  Fault = "errors" // it answers 500
)

// faultOf says what befalls a hotel, by its number.
func faultOf(hotel int) Fault {
	switch hotel {
	case 3:
		return Hang
	case 5:
		return Errors
	case 7:
		return Slow
	default:
		return NoFault
	}
}

// illHotels are the numbers of the hotels that a fault befalls.
func illHotels() []int { return []int{3, 5, 7} }

// says describes a fault to a stranger.
func (f Fault) says() string {
	switch f {
	case Hang:
		return "hangs: its process is stopped"
	case Slow:
		return "is slow: answers take " + inSeconds(slowAnswer)
	case Errors:
		return "answers 500, its /health says 200"
	default:
		return "is well"
	}
}

func hotelID(number int) string { return fmt.Sprintf("hotel-%d", number) }

// clock is the script's time: zero when the first guest comes.
type clock struct{ start time.Time }

func (c clock) now() time.Duration           { return time.Since(c.start) }
func (c clock) at(d time.Duration) time.Time { return c.start.Add(d) }
func (c clock) of(t time.Time) time.Duration { return t.Sub(c.start) }

// wait returns when the script's time is d, and false if ctx ended first.
func (c clock) wait(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d - c.now())
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// outage is when the faults really began and ended, on the script's clock.
// The zero value is an outage that has not begun.
type outage struct {
	begun, ended bool
	from, until  time.Duration
}

// lasts reports whether the faults are there now.
func (o outage) lasts() bool { return o.begun && !o.ended }
