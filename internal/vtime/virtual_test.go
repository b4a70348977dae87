package vtime

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"
)

func TestStall(t *testing.T) {
	v := NewVirtual(time.Unix(1e9, 0))
	began := v.Now()
	var moves []time.Duration
	v.OnMove(func(d time.Duration) { moves = append(moves, d) })
	var said []string
	say := func(what string) { said = append(said, fmt.Sprintf("%s %s", v.Now().Sub(began), what)) }
	for _, after := range []time.Duration{3, 1, 2, 20} {
		v.After(after*time.Second, func() { say(fmt.Sprintf("due at %d s", after)) })
	}
	v.Run(time.Second)
	v.Stall(9 * time.Second)
	v.Run(0)
	v.Run(time.Minute)
	if want := []string{"1s due at 1 s", "10s due at 2 s", "10s due at 3 s", "20s due at 20 s"}; !slices.Equal(said, want) {
		t.Errorf("got %q, want %q", said, want)
	}
	if want := []time.Duration{time.Second, 9 * time.Second, 10 * time.Second, 50 * time.Second}; !slices.Equal(moves, want) {
		t.Errorf("it moved by %v, want %v", moves, want)
	}
}

func TestWhenClosed(t *testing.T) {
	v := NewVirtual(time.Unix(1e9, 0))
	began := v.Now()
	var said []string
	say := func(what string) func() {
		return func() { said = append(said, fmt.Sprintf("%s %s", v.Now().Sub(began), what)) }
	}
	one, two := make(chan struct{}), make(chan struct{})
	v.WhenClosed(one, say("a"))
	stop := v.WhenClosed(one, say("stopped"))
	v.WhenClosed(two, say("c"))
	var stopLater func()
	v.WhenClosed(one, func() { say("b")(); stopLater() })
	stopLater = v.WhenClosed(one, say("stopped by b"))
	stop()
	stop()
	v.After(time.Second, func() { close(one) })
	v.After(time.Second, say("later at the same moment"))
	v.Run(time.Minute)
	close(two)
	v.Run(0)
	if want := []string{"1s a", "1s b", "1s later at the same moment", "1m0s c"}; !slices.Equal(said, want) {
		t.Errorf("got %q, want %q", said, want)
	}
	v.WhenClosed(make(chan struct{}), say("never"))()
	if len(v.watched) != 0 {
		t.Errorf("%d channels are still watched", len(v.watched))
	}
}

// The order is that of time and then of entry, however many there are.
func TestOrderOfEvents(t *testing.T) {
	v := NewVirtual(time.Unix(1e9, 0))
	var got, want []int
	for i := range 1000 {
		stop := v.AfterFunc(time.Duration(i*7919%100)*time.Second, func() { got = append(got, i) })
		if i%3 == 0 {
			stop()
		} else {
			want = append(want, i)
		}
	}
	slices.SortStableFunc(want, func(a, b int) int { return a*7919%100 - b*7919%100 })
	v.Run(time.Hour)
	if !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

func TestWaiting(t *testing.T) {
	v := NewVirtual(time.Unix(1e9, 0))
	ctx, cancel := context.WithCancel(t.Context())
	for range 3 {
		v.Go(func() { v.Wait(ctx, time.Hour, nil) })
	}
	v.Run(time.Second)
	if n := v.Waiting(); n != 3 {
		t.Errorf("%d wait, want 3", n)
	}
	cancel()
	v.Run(0)
	if n := v.Waiting(); n != 0 {
		t.Errorf("%d wait, want none", n)
	}
}

// What was stopped takes no room, however late it was due, and what is left keeps
// its order.
func TestStoppedEventsAreForgotten(t *testing.T) {
	v := NewVirtual(time.Unix(1e9, 0))
	var got, want []int
	for i := range 100_000 {
		due := i * 7919 % 1000
		stop := v.AfterFunc(time.Duration(due)*time.Second, func() { got = append(got, due) })
		if i%100 == 0 {
			want = append(want, due)
			continue
		}
		stop()
		stop()
	}
	if n := v.Pending(); n != len(want) {
		t.Errorf("%d are pending, want %d", n, len(want))
	}
	if n := len(v.events); n > 3*len(want) {
		t.Errorf("%d are kept", n)
	}
	slices.Sort(want)
	v.Run(time.Hour)
	if !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	if n := v.Pending(); n != 0 {
		t.Errorf("%d are pending, want none", n)
	}
}

func TestStopComesTooLate(t *testing.T) {
	v := NewVirtual(time.Unix(1e9, 0))
	var stop func()
	stop = v.AfterFunc(time.Second, func() { stop() })
	v.After(time.Minute, func() {})
	v.Run(2 * time.Second)
	stop()
	if n := v.Pending(); n != 1 {
		t.Errorf("%d are pending, want 1", n)
	}
}
