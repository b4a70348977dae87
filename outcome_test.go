package recloser

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"testing"
	"testing/synctest"
	"time"
)

// ends says what a call's end counted as.
func ends(before, after Stats) string {
	switch {
	case after.Success > before.Success:
		return "success"
	case after.Failed > before.Failed:
		return "failure"
	case after.Slow > before.Slow:
		return "slow"
	case after.Ignored > before.Ignored:
		return "ignored"
	}
	return "nothing"
}

// What the end of a call counts as, by Do and by a permit.
func TestOutcomeOfAnError(t *testing.T) {
	cause := errors.New("the shop closes")
	const slow = 2 * time.Second
	for _, c := range []struct {
		name    string
		slow    time.Duration
		took    time.Duration
		err     error
		cancel  bool          // the caller cancels at the end
		timeout time.Duration // the caller's own deadline
		want    string
	}{
		{name: "nil", want: "success"},
		{name: "any error", err: errDown, want: "failure"},
		{name: "cancelled: his context's error", err: context.Canceled, cancel: true, want: "ignored"},
		{name: "cancelled: the cause", err: cause, cancel: true, want: "ignored"},
		{name: "cancelled: a driver's words", err: errors.New("pq: canceling statement"), cancel: true, want: "ignored"},
		{name: "cancelled, but it ended well", cancel: true, want: "success"},
		{name: "siblings cancelled by the program", err: fmt.Errorf("get: %w", context.Canceled), want: "ignored"},
		{name: "a deadline of the guard", err: fmt.Errorf("get: %w", context.DeadlineExceeded), want: "failure"},
		{name: "own deadline, at once", took: 999 * time.Millisecond, timeout: 999 * time.Millisecond, err: context.DeadlineExceeded, want: "ignored"},
		{name: "own deadline, after 1 s", took: time.Second, timeout: time.Second, err: context.DeadlineExceeded, want: "failure"},
		{name: "own deadline, a driver's words", took: time.Second, timeout: 500 * time.Millisecond, err: errors.New("i/o timeout"), want: "failure"},
		{name: "own deadline, before SlowCall", slow: slow, took: slow - 1, timeout: slow - 1, err: context.DeadlineExceeded, want: "ignored"},
		{name: "own deadline, at SlowCall", slow: slow, took: slow, timeout: slow, err: context.DeadlineExceeded, want: "slow"},
		{name: "own deadline ahead, the guard's passed", took: time.Second, timeout: time.Minute, err: context.DeadlineExceeded, want: "failure"},
		{name: "slow", slow: slow, took: slow, want: "slow"},
		{name: "slow and failed", slow: slow, took: slow, err: errDown, want: "slow"},
		{name: "cancelled after SlowCall", slow: slow, took: slow, err: context.Canceled, cancel: true, want: "slow"},
		{name: "another breaker refused", err: &OpenError{}, want: "ignored"},
		{name: "told to wait", err: &WaitError{After: time.Second}, want: "failure"},
		{name: "told to wait by a rate limit", err: fmt.Errorf("get: %w", &WaitError{After: time.Second, Throttled: true, Err: errDown}), want: "ignored"},
		{name: "a rate limit that names no time", err: &WaitError{Throttled: true}, want: "ignored"},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b, err := New(Config{SlowCall: c.slow})
				if err != nil {
					t.Fatal(err)
				}
				start := func() (context.Context, context.CancelCauseFunc, func()) {
					ctx, cancel := context.WithCancelCause(t.Context())
					if c.timeout == 0 {
						return ctx, cancel, func() {}
					}
					ctx, stop := context.WithTimeout(ctx, c.timeout)
					return ctx, cancel, stop
				}
				work := func(cancel context.CancelCauseFunc) error {
					<-time.After(c.took)
					if c.cancel {
						cancel(cause)
					}
					return c.err
				}

				before := b.Stats()
				ctx, cancel, stop := start()
				defer stop()
				if err := b.Do(ctx, func(context.Context) error { return work(cancel) }); err != c.err { //nolint:errorlint // it must be the very same
					t.Errorf("the caller got %v, not %v", err, c.err)
				}
				if got := ends(before, b.Stats()); got != c.want {
					t.Errorf("Do: %s, want %s", got, c.want)
				}

				b.Reset("", "")
				before = b.Stats()
				ctx, cancel, stop = start()
				defer stop()
				p, err := b.Allow(ctx)
				if err != nil {
					t.Fatal(err)
				}
				p.Done(work(cancel))
				if got := ends(before, b.Stats()); got != c.want {
					t.Errorf("Done: %s, want %s", got, c.want)
				}
			})
		})
	}
}

func TestEnd(t *testing.T) {
	for outcome, want := range map[Outcome]string{Default: "success", Success: "success", Failure: "failure", Ignored: "ignored"} {
		s := newSim(t, Config{})
		before := s.b.Stats()
		s.allow().End(outcome)
		mustEqual(t, outcome.String(), ends(before, s.b.Stats()), want)
	}
	mustEqual(t, "an outcome that is none", Outcome(9).String(), "Outcome(9)")
}

func TestClassify(t *testing.T) {
	asked := 0
	for name, c := range map[string]struct {
		classify func(error) Outcome
		want     string
	}{
		"none":                    {nil, "failure"},
		"success":                 {func(error) Outcome { return Success }, "success"},
		"failure":                 {func(error) Outcome { return Failure }, "failure"},
		"ignored":                 {func(error) Outcome { return Ignored }, "ignored"},
		"leaves it":               {func(error) Outcome { return Default }, "failure"},
		"panics":                  {func(error) Outcome { panic("no idea") }, "failure"},
		"says what is no outcome": {func(error) Outcome { return 77 }, "failure"},
		"looks at the error": {func(err error) Outcome {
			if errors.Is(err, errDown) {
				return Ignored
			}
			return Failure
		}, "ignored"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSim(t, Config{Classify: c.classify})
			before := s.b.Stats()
			s.fail() // the caller gets the function's own error
			mustEqual(t, "counted as", ends(before, s.b.Stats()), c.want)
			mustEqual(t, "in flight", s.b.Stats().InFlight, 0)
			s.ok()
		})
	}

	// It is not asked where there is nothing to ask.
	s := newSim(t, Config{Classify: func(error) Outcome { asked++; return Success }})
	ctx, cancel := context.WithCancel(t.Context())
	_ = s.b.Do(ctx, func(context.Context) error { cancel(); return errDown })
	_ = s.b.Do(t.Context(), func(context.Context) error { return &WaitError{Throttled: true} })
	s.ok()
	mustEqual(t, "asked", asked, 0)
}

func TestPanicIsAFailure(t *testing.T) {
	for name, cfg := range map[string]Config{"Do": {}, "Do with a context of its own": {CancelOnTrip: true}} {
		t.Run(name, func(t *testing.T) {
			s := newSim(t, cfg)
			func() {
				defer func() { mustEqual(t, "the panic", recover(), any("boom")) }()
				_ = s.b.Do(t.Context(), func(context.Context) error { panic("boom") })
			}()
			done := make(chan struct{})
			go func() {
				defer close(done)
				_, _ = Do(t.Context(), s.b, func(context.Context) (int, error) { runtime.Goexit(); return 1, nil })
				t.Error("Goexit was stopped")
			}()
			<-done
			st := s.b.Stats()
			mustEqual(t, "failed", st.Failed, 2)
			mustEqual(t, "in flight", st.InFlight, 0)
			if st.Cause == nil {
				t.Error("no cause")
			}
		})
	}
}

// A context that is done admits nothing, counts nothing and spends no trial.
func TestContextAlreadyDone(t *testing.T) {
	s := newHalfOpen(t, strict())
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	late, stop := context.WithDeadline(t.Context(), time.Now().Add(-time.Second))
	defer stop()
	before := s.b.Stats()
	for ctx, want := range map[context.Context]error{cancelled: context.Canceled, late: context.DeadlineExceeded} {
		if err := s.b.Do(ctx, func(context.Context) error { t.Error("it ran"); return nil }); !errors.Is(err, want) || errors.Is(err, ErrOpen) {
			t.Errorf("got %v, want %v", err, want)
		}
		if p, err := s.b.Allow(ctx); !errors.Is(err, want) || p.Trial() {
			t.Errorf("got %v, want %v", err, want)
		}
	}
	after := s.b.Stats()
	mustEqual(t, "ignored", after.Ignored, before.Ignored)
	mustEqual(t, "in flight", after.InFlight, 0)
	s.trial().Done(nil)
	s.mustBe(Closed)
}

// The zero Permit, as it comes with a refusal, does nothing.
func TestPermitOfARefusal(t *testing.T) {
	s := newTripped(t, strict())
	p, err := s.b.Allow(t.Context())
	if !errors.Is(err, ErrOpen) {
		t.Fatal(err)
	}
	before := s.b.Stats()
	p.Sending()
	p.Sent()
	p.Answered()
	p.Done(errDown)
	p.End(Success)
	p.Cancel()
	if p.Trial() || p.Released().Done() != nil {
		t.Error("it says something")
	}
	mustEqual(t, "success", s.b.Stats().Success, before.Success)
	mustEqual(t, "in flight", s.b.Stats().InFlight, 0)
}
