package recloser_test

import (
	"context"
	"errors"
	"testing"
	"time"
)

// byHand is a breaker of the sixty lines, and its clock.
type byHand struct {
	*testing.T
	*breaker
	clock time.Time
}

func newByHand(t *testing.T) *byHand {
	h := &byHand{T: t, clock: time.Now()}
	h.breaker = &breaker{limit: 3, openFor: 4 * time.Second, state: closed, now: func() time.Time { return h.clock }}
	return h
}

func (h *byHand) mustBe(want state) {
	h.Helper()
	if h.state != want {
		h.Fatalf("%s, want %s", h.state, want)
	}
}

// begin has calls let through that are on their way from then on.
func (h *byHand) begin(calls int) {
	h.Helper()
	for range calls {
		if !h.admit() {
			h.Fatalf("%s, and the call was refused", h.state)
		}
	}
}

func (h *byHand) trip() {
	h.Helper()
	for range h.limit {
		h.begin(1)
		h.report(errFailed)
	}
	h.mustBe(open)
}

// tryOnce trips it, and has the trial on its way.
func (h *byHand) tryOnce() {
	h.Helper()
	h.trip()
	h.clock = h.clock.Add(h.openFor)
	h.begin(1)
	h.mustBe(halfOpen)
}

func (h *byHand) mustRefuseForADay() {
	h.Helper()
	for range 24 {
		h.clock = h.clock.Add(time.Hour)
		if h.admit() {
			h.Fatal("a call was let through")
		}
	}
}

var errFailed = errors.New("failed")

// What docs/how-a-breaker-works.md says that the sixty lines get wrong, they do
// get wrong.
func TestByHandGoesWrong(t *testing.T) {
	tests := map[string]func(*byHand){
		"calls that hang do not count": func(h *byHand) {
			h.begin(1000)
			h.clock = h.clock.Add(time.Hour)
			h.mustBe(closed)
			h.begin(1)
		},
		"an answer after half a minute is as good as any": func(h *byHand) {
			for range 1000 {
				h.begin(1)
				h.clock = h.clock.Add(30 * time.Second)
				h.report(nil)
			}
			h.mustBe(closed)
		},
		"a trial that hangs is the last": func(h *byHand) {
			h.tryOnce()
			h.mustRefuseForADay()
		},
		"a trial that panics is the last": func(h *byHand) {
			h.trip()
			h.clock = h.clock.Add(h.openFor)
			func() {
				defer func() { _ = recover() }()
				_ = h.do(func() error { panic("no such guest") })
			}()
			h.mustRefuseForADay()
		},
		"a good answer from before the trip closes": func(h *byHand) {
			h.begin(1)
			h.trip()
			h.report(nil)
			h.mustBe(closed)
		},
		"a failure from before the trip spoils the trial": func(h *byHand) {
			h.begin(1)
			h.tryOnce()
			h.report(errFailed)
			h.mustBe(open)
		},
		"failures from before the trip make the open time longer": func(h *byHand) {
			h.begin(1)
			h.trip()
			h.clock = h.clock.Add(h.openFor - time.Second)
			h.report(errFailed)
			h.clock = h.clock.Add(time.Second)
			if h.admit() {
				h.Error("the open time ended when it should")
			}
		},
		"the end of an old call frees the slot of a trial": func(h *byHand) {
			h.begin(2)
			h.tryOnce()
			h.report(errFailed) // an old call: reopens
			h.clock = h.clock.Add(h.openFor)
			h.begin(1) // a trial beside the one that still runs
		},
		"one burst trips": func(h *byHand) {
			h.begin(3)
			for range 3 {
				h.report(errFailed)
			}
			h.mustBe(open)
		},
		"callers who hang up trip": func(h *byHand) {
			for range 3 {
				h.begin(1)
				h.report(context.Canceled)
			}
			h.mustBe(open)
		},
		"two of three failing never trip": func(h *byHand) {
			for range 1000 {
				for _, err := range []error{errFailed, errFailed, nil} {
					_ = h.do(func() error { return err })
				}
			}
			h.mustBe(closed)
		},
		"one good trial brings everybody": func(h *byHand) {
			h.tryOnce()
			h.report(nil)
			h.begin(1000)
		},
		"the state stands still while nobody asks": func(h *byHand) {
			h.trip()
			h.clock = h.clock.Add(time.Hour)
			h.mustBe(open)
		},
	}
	for name, goesWrong := range tests {
		t.Run(name, func(t *testing.T) { goesWrong(newByHand(t)) })
	}
}
