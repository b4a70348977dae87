package gobreaker

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/recloser-go/recloser"
)

var (
	errDown = errors.New("down")
	errOdd  = errors.New("odd")
)

// rig is a breaker of each type with the same settings, used alike, and what
// its hook heard.
type rig struct {
	t    *testing.T
	one  *CircuitBreaker[int]
	two  *TwoStepCircuitBreaker[int]
	seen []string // by one's hook
}

func newRig(t *testing.T, st Settings) *rig {
	r := &rig{t: t}
	r.two = NewTwoStepCircuitBreaker[int](st)
	st.OnStateChange = func(name string, from, to State) {
		r.seen = append(r.seen, fmt.Sprintf("%s: %s -> %s", name, from, to))
	}
	r.one = NewCircuitBreaker[int](st)
	return r
}

// call makes a call of each type that ends with err, and expects it to return want.
func (r *rig) call(err, want error) {
	r.t.Helper()
	wantValue := 7
	if isRefusal(want) {
		wantValue = 0
	}
	if value, got := r.one.Execute(func() (int, error) { return 7, err }); !errors.Is(got, want) || value != wantValue {
		r.t.Fatalf("Execute returned %d, %v, want error %v", value, got, want)
	}
	done, got := r.two.Allow()
	if got == nil {
		done(err)
		got = err
	} else if done != nil {
		r.t.Fatal("Allow refused, and returned a function")
	}
	if !errors.Is(got, want) {
		r.t.Fatalf("Allow returned %v, want %v", got, want)
	}
}

func (r *rig) calls(errs ...error) {
	r.t.Helper()
	for _, err := range errs {
		r.call(err, err)
	}
}

func (r *rig) is(state State, counts Counts) {
	r.t.Helper()
	for _, b := range []interface {
		State() State
		Counts() Counts
	}{r.one, r.two} {
		if got := b.Counts(); got != counts {
			r.t.Fatalf("%T: counts %+v, want %+v", b, got, counts)
		}
		if got := b.State(); got != state {
			r.t.Fatalf("%T is %v, want %v", b, got, state)
		}
	}
}

func (r *rig) heard(want ...string) {
	r.t.Helper()
	if !slices.Equal(r.seen, want) {
		r.t.Fatalf("the hook heard %q, want %q", r.seen, want)
	}
}

func repeat(err error, n int) []error { return slices.Repeat([]error{err}, n) }

func TestOneLifeWithDefaults(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, Settings{Name: "hotel-3"})
		if r.one.Name() != "hotel-3" || r.two.Name() != "hotel-3" {
			t.Fatalf("names are %q and %q", r.one.Name(), r.two.Name())
		}
		r.calls(repeat(errDown, 5)...)
		r.is(StateClosed, Counts{Requests: 5, TotalFailures: 5, ConsecutiveFailures: 5})
		r.calls(nil)
		r.is(StateClosed, Counts{Requests: 6, TotalSuccesses: 1, TotalFailures: 5, ConsecutiveSuccesses: 1})
		r.calls(repeat(errDown, 6)...)
		r.is(StateOpen, Counts{})
		r.call(nil, ErrOpenState)

		advance(time.Minute)
		r.call(nil, ErrOpenState) // one more instant
		advance(1)
		r.is(StateHalfOpen, Counts{})
		r.calls(errDown)
		r.is(StateOpen, Counts{})

		advance(time.Minute + 1)
		r.calls(nil)
		r.is(StateClosed, Counts{})
		r.heard("hotel-3: closed -> open", "hotel-3: open -> half-open", "hotel-3: half-open -> open",
			"hotel-3: open -> half-open", "hotel-3: half-open -> closed")

		advance(1000 * time.Hour)
		r.calls(errDown)
		advance(1000 * time.Hour)
		r.is(StateClosed, Counts{Requests: 1, TotalFailures: 1, ConsecutiveFailures: 1})
	})
}

func advance(d time.Duration) { <-time.After(d) }

func TestHalfOpenLetsMaxRequestsThrough(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := NewTwoStepCircuitBreaker[int](Settings{
			MaxRequests: 3,
			ReadyToTrip: func(Counts) bool { return true },
			IsExcluded:  func(err error) bool { return errors.Is(err, errOdd) },
		})
		take(t, b)(errDown)
		advance(time.Minute + 1)
		first, second, third := take(t, b), take(t, b), take(t, b)
		refused(t, b, ErrTooManyRequests)
		first(errOdd) // gives its place back
		fourth := take(t, b)
		refused(t, b, ErrTooManyRequests)
		second(nil)
		third(nil)
		refused(t, b, ErrTooManyRequests) // a success keeps its place
		want := Counts{Requests: 4, TotalSuccesses: 2, TotalExclusions: 1, ConsecutiveSuccesses: 2}
		if got := b.Counts(); got != want || b.State() != StateHalfOpen {
			t.Fatalf("%v with %+v, want %+v", b.State(), got, want)
		}
		fourth(nil)
		if got := b.State(); got != StateClosed {
			t.Fatalf("after 3 successes it is %v", got)
		}
	})
}

// take asks for a call that must be let through.
func take[T any](t *testing.T, b *TwoStepCircuitBreaker[T]) func(error) {
	t.Helper()
	done, err := b.Allow()
	if err != nil {
		t.Fatalf("refused: %v", err)
	}
	return done
}

func refused[T any](t *testing.T, b *TwoStepCircuitBreaker[T], want error) {
	t.Helper()
	if done, err := b.Allow(); !errors.Is(err, want) || done != nil {
		t.Fatalf("Allow returned %v, want %v", err, want)
	}
}

func TestIntervalClearsCounts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, Settings{Interval: 10 * time.Second})
		r.calls(errDown, errDown)
		running := take(t, r.two)
		advance(10 * time.Second)
		r.calls(errDown) // not over yet
		advance(1)
		r.is(StateClosed, Counts{})
		running(errDown) // began before that
		r.is(StateClosed, Counts{})
		r.calls(repeat(errDown, 5)...)
		running = take(t, r.two)
		advance(10*time.Second + 1)
		running(errDown) // nobody has looked since
		r.is(StateClosed, Counts{})
		r.calls(repeat(errDown, 6)...)
		r.is(StateOpen, Counts{})
	})
}

func TestBucketsLeaveTheWindowOneByOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		// Rounded up to 3 buckets.
		r := newRig(t, Settings{Interval: 5 * time.Second, BucketPeriod: 2 * time.Second})
		r.calls(errDown, nil)
		running := take(t, r.two)
		advance(2 * time.Second)
		r.calls(nil)
		advance(2 * time.Second)
		r.calls(nil)
		running(nil) // counts in the bucket it began in
		if got, want := r.two.Counts(), (Counts{Requests: 5, TotalSuccesses: 4, TotalFailures: 1, ConsecutiveSuccesses: 4}); got != want {
			t.Fatalf("counts %+v, want %+v", got, want)
		}
		advance(2 * time.Second)
		r.is(StateClosed, Counts{Requests: 2, TotalSuccesses: 2, ConsecutiveSuccesses: 2})
		advance(2 * time.Second)
		r.is(StateClosed, Counts{Requests: 1, TotalSuccesses: 1, ConsecutiveSuccesses: 1})
		advance(100 * time.Second)
		r.is(StateClosed, Counts{})
	})
}

func TestResultOfAnEarlierStateChangesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := NewTwoStepCircuitBreaker[int](Settings{ReadyToTrip: func(Counts) bool { return true }})
		late, later, latest := take(t, b), take(t, b), take(t, b)
		take(t, b)(errDown)
		late(nil)
		advance(time.Minute + 1)
		if got := b.State(); got != StateHalfOpen {
			t.Fatal(got)
		}
		later(nil)
		latest(errDown)
		if got, counts := b.State(), b.Counts(); got != StateHalfOpen || counts != (Counts{}) {
			t.Fatalf("%v with %+v", got, counts)
		}
	})
}

func TestHooksDecideWhatCounts(t *testing.T) {
	asked := 0
	r := newRig(t, Settings{
		IsSuccessful: func(err error) bool { return err == nil || errors.Is(err, errDown) },
		IsExcluded:   func(err error) bool { return errors.Is(err, errOdd) },
		ReadyToTrip:  func(c Counts) bool { asked++; return c.TotalFailures == 2 },
	})
	bad := errors.New("bad")
	r.calls(errDown, errOdd, nil, bad)
	r.is(StateClosed, Counts{Requests: 4, TotalSuccesses: 2, TotalFailures: 1, TotalExclusions: 1, ConsecutiveFailures: 1})
	r.calls(bad)
	r.is(StateOpen, Counts{})
	if asked != 4 {
		t.Errorf("two breakers asked ReadyToTrip %d times at two failures each", asked)
	}
}

func TestStatesAndErrors(t *testing.T) {
	names := map[State]string{StateClosed: "closed", StateHalfOpen: "half-open", StateOpen: "open", 100: "unknown state: 100"}
	for state, want := range names {
		if got := state.String(); got != want {
			t.Errorf("state %d is called %q, want %q", state, got, want)
		}
	}
	for _, err := range []error{ErrOpenState, ErrTooManyRequests} {
		if !errors.Is(err, recloser.ErrOpen) {
			t.Errorf("%v is not recloser.ErrOpen", err)
		}
	}
	if errors.Is(ErrOpenState, ErrTooManyRequests) {
		t.Error("the refusals are the same")
	}
}

func TestAbsurdSettings(t *testing.T) {
	const forever = time.Duration(1<<63 - 1)
	for _, st := range []Settings{
		{Interval: -1, BucketPeriod: -1, Timeout: -1},
		{Interval: forever, BucketPeriod: 1},
		{Interval: forever, BucketPeriod: forever, Timeout: forever},
		{Interval: 1, BucketPeriod: forever},
		{BucketPeriod: time.Second, MaxRequests: 1<<32 - 1},
	} {
		synctest.Test(t, func(t *testing.T) {
			r := newRig(t, st)
			r.calls(repeat(errDown, 3)...)
			advance(time.Hour) // must not end what lasts for ever
			r.calls(repeat(errDown, 3)...)
			r.is(StateOpen, Counts{})
			advance(30 * time.Second)
			r.call(nil, ErrOpenState)
		})
	}
}

// The original asks its hooks under its lock, so only about results that it books.
func TestHooksAreNotAskedAboutWhatDoesNotCount(t *testing.T) {
	for name, ends := range map[string]func(done func(error)){
		"late":       func(done func(error)) { advance(2 * time.Second); done(errDown) },
		"told twice": func(done func(error)) { done(nil); done(errDown) },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				asked := func(err error) bool {
					if err != nil {
						t.Errorf("asked about %v", err)
					}
					return false
				}
				b := NewTwoStepCircuitBreaker[int](Settings{Interval: time.Second, IsExcluded: asked, IsSuccessful: asked})
				ends(take(t, b))
			})
		})
	}
}

// A result that its hook takes too long over is late.
func TestIntervalThatEndsWhileAHookIsAsked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		slow := func(error) bool { advance(2 * time.Second); return false }
		b := NewTwoStepCircuitBreaker[int](Settings{Interval: time.Second, IsSuccessful: slow, ReadyToTrip: always})
		take(t, b)(errDown)
		if got := b.State(); got != StateClosed {
			t.Errorf("it is %v", got)
		}
	})
}
