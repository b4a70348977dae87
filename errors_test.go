package recloser

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"
)

func TestOpenError(t *testing.T) {
	s := newTripped(t, strict())
	err := s.refusal(ReasonOpen)
	mustEqual(t, "Name", err.Name, "hotel-7")
	mustEqual(t, "State", err.State, Open)
	mustEqual(t, "Trip", err.Trip, ReasonRun)
	mustEqual(t, "Until - Since", err.Until.Sub(err.Since), openFor)
	mustEqual(t, "left", err.RetryAfter(), openFor)
	if !errors.Is(err, errDown) && !errors.Is(err.Cause, errDown) {
		t.Errorf("the cause is %v", err.Cause)
	}
	mustEqual(t, "text", err.Error(), `recloser: "hotel-7" is open (cut off): last failure: down`)
	if again := s.refusal(ReasonOpen); again != err {
		t.Error("two refusals of one period are two values")
	}
	if wrapped := fmt.Errorf("ask: %w", err); !errors.Is(wrapped, ErrOpen) {
		t.Error("wrapped, it is no ErrOpen")
	}
	if errors.Is(errDown, ErrOpen) || errors.Is(err, errors.New("other")) {
		t.Error("errors.Is is too generous")
	}

	s.advance(openFor / 2)
	mustEqual(t, "left", err.RetryAfter(), openFor/2)
	s.advance(time.Hour)
	mustEqual(t, "left when it is over", err.RetryAfter(), 0)
	mustEqual(t, "left of one that no breaker made", (&OpenError{}).RetryAfter(), 0)
}

// Every kind of refusal is an ErrOpen that says which kind it is.
func TestEveryRefusal(t *testing.T) {
	isolated := newSim(t, strict())
	if err := isolated.b.Isolate("ann", "rebuild", time.Time{}); err != nil {
		t.Fatal(err)
	}
	busy := newHalfOpen(t, strict())
	busy.trial()
	cfg := strict()
	cfg.Ramp = time.Minute
	ramp := newHalfOpen(t, cfg)
	ramp.trial().Done(nil)
	ramp.allow()
	waits := newSim(t, strict())
	waits.allow().Done(&WaitError{After: 7 * time.Second, Err: errDown})

	for _, c := range []struct {
		s      *sim
		reason Reason
		state  State
		left   time.Duration
		text   string
	}{
		{isolated, ReasonIsolated, Isolated, 0, `recloser: "hotel-7" is isolated (cut off by hand): isolated`},
		{busy, ReasonTrialSlots, HalfOpen, 0, `recloser: "hotel-7" is half-open (on trial): trial slots: last failure: down`},
		{ramp, ReasonRamp, Closed, 0, `recloser: "hotel-7" has just reclosed and takes few calls at once yet (ramp): last failure: down`},
		{waits, ReasonToldToWait, Open, 7 * time.Second, `recloser: "hotel-7" is open (cut off): told to wait: last failure: down (told to wait 7s)`},
	} {
		err := c.s.refusal(c.reason)
		mustEqual(t, "State", err.State, c.state)
		mustEqual(t, "left", err.RetryAfter(), c.left)
		mustEqual(t, "text", err.Error(), c.text)
		mustEqual(t, "counted", c.s.b.Stats().Refused[c.reason], 1)
	}
}

// A caller that a trip releases gets an error of the same kind.
func TestReleased(t *testing.T) {
	cfg := strict()
	cfg.CancelOnTrip = true
	s := newSim(t, cfg)
	p := s.allow()
	if err := context.Cause(p.Released()); err != nil {
		t.Errorf("before the trip: %v", err)
	}
	s.fail()
	select {
	case <-p.Released().Done():
	default:
		t.Fatal("not released")
	}
	var open *OpenError
	if err := context.Cause(p.Released()); !errors.As(err, &open) || !errors.Is(err, ErrOpen) || open.Reason != ReasonReleased {
		t.Fatalf("got %v", err)
	}
	mustEqual(t, "left", open.RetryAfter(), openFor)
	p.Done(open)
	mustEqual(t, "counted", s.b.Stats().Refused[ReasonReleased], 1)
}

// What a caller gets whose call is under way when the breaker trips.
func TestReleasedFromDo(t *testing.T) {
	cfg := strict()
	cfg.CancelOnTrip = true
	s := newSim(t, cfg)
	answer := errors.New("the answer came after all")
	for name, c := range map[string]struct {
		give func(context.Context) error
		want error
	}{
		"it heeds its context":       {func(ctx context.Context) error { return ctx.Err() }, ErrOpen},
		"it gives its own error":     {func(context.Context) error { return answer }, ErrOpen},
		"it ended well all the same": {func(context.Context) error { return nil }, nil},
	} {
		t.Run(name, func(t *testing.T) {
			s.b.Reset("", "")
			err := s.b.Do(t.Context(), func(ctx context.Context) error {
				if err := s.b.TripFor(openFor, "ann", "drill"); err != nil {
					t.Error(err)
				}
				<-ctx.Done()
				return c.give(ctx)
			})
			if !errors.Is(err, c.want) {
				t.Errorf("got %v, want %v", err, c.want)
			}
			var open *OpenError
			if c.want != nil && (!errors.As(err, &open) || open.Reason != ReasonReleased) {
				t.Errorf("got %v, not released", err)
			}
		})
	}
	mustEqual(t, "released", s.b.Stats().Refused[ReasonReleased], 2)

	// The call that trips the breaker is not released by that.
	for range 100 {
		s.b.Reset("", "")
		s.fail()
	}
	mustEqual(t, "released", s.b.Stats().Refused[ReasonReleased], 2)
}

// A caller that gives up while a trip releases him gave up.
func TestReleasedWhenTheCallerIsGone(t *testing.T) {
	cfg := strict()
	cfg.CancelOnTrip = true
	s := newSim(t, cfg)
	ctx, cancel := context.WithCancel(t.Context())
	err := s.b.Do(ctx, func(ctx context.Context) error {
		cancel()
		if err := s.b.TripFor(openFor, "", ""); err != nil {
			t.Error(err)
		}
		return ctx.Err()
	})
	if !errors.Is(err, context.Canceled) || errors.Is(err, ErrOpen) {
		t.Errorf("got %v", err)
	}
}

func TestWaitError(t *testing.T) {
	err := &WaitError{After: 30 * time.Second, Err: errDown}
	mustEqual(t, "text", err.Error(), "down (told to wait 30s)")
	mustEqual(t, "text", (&WaitError{After: time.Second}).Error(), "told to wait 1s")
	if !errors.Is(err, errDown) {
		t.Error("the error in it is lost")
	}
}

func TestIsolationHasNoFailureOfTheDependencyAsItsCause(t *testing.T) {
	s := newTripped(t, strict())
	if err := s.b.Isolate("ops", "works", time.Time{}); err != nil {
		t.Fatal(err)
	}
	if e := s.refusal(ReasonIsolated); e.Cause != nil {
		t.Errorf("cause %v: %v", e.Cause, e)
	}
}
