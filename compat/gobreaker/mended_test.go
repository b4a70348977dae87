package gobreaker

import (
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// The tests in this file are what docs/guides/from-gobreaker.md lists: each
// fails, hangs or deadlocks with the original.

func always(Counts) bool { return true }

func TestTrialThatHangsKeepsNobodyOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := NewTwoStepCircuitBreaker[int](Settings{MaxRequests: 2, Timeout: time.Second, ReadyToTrip: always})
		take(t, b)(errDown)
		advance(time.Second + 1)
		hangs := take(t, b)
		advance(time.Second / 2)
		alsoHangs := take(t, b)
		refused(t, b, ErrTooManyRequests)
		advance(time.Second / 2)
		refused(t, b, ErrTooManyRequests)
		advance(1) // the first one's time is over
		take(t, b)(nil)
		refused(t, b, ErrTooManyRequests) // the second one's is not
		hangs(nil)                        // counts after all
		if got := b.State(); got != StateClosed {
			t.Fatalf("after two successes it is %v", got)
		}
		alsoHangs(errDown)
		if got := b.Counts(); got != (Counts{}) {
			t.Fatalf("a trial counts in the closed state: %+v", got)
		}
	})
}

func TestTrialThatHungAndFailedReopens(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := NewTwoStepCircuitBreaker[int](Settings{MaxRequests: 2, Timeout: time.Second, ReadyToTrip: always})
		take(t, b)(errDown)
		advance(time.Second + 1)
		hangs := take(t, b)
		advance(time.Second + 1)
		take(t, b)(nil)
		hangs(errDown)
		if got := b.State(); got != StateOpen {
			t.Fatalf("it is %v", got)
		}
	})
}

func TestGoexitAndPanicGiveTheirPlaceBack(t *testing.T) {
	for name, leave := range map[string]func(){
		"Goexit":     runtime.Goexit,
		"panic":      func() { panic("oops") },
		"panic(nil)": func() { panic(nil) },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var seen []string
				b := NewCircuitBreaker[int](Settings{ReadyToTrip: always, IsSuccessful: func(err error) bool {
					seen = append(seen, err.Error())
					return false
				}})
				call := func() (panicked any) {
					ended := make(chan any)
					go func() {
						defer func() { ended <- recover() }()
						_, err := b.Execute(func() (int, error) { leave(); return 0, nil })
						t.Errorf("Execute returned %v", err)
					}()
					return <-ended
				}
				value := call()
				if got := b.State(); got != StateOpen {
					t.Fatalf("after a call that did not return it is %v", got)
				}
				if (value != nil) != (name != "Goexit") || value == "oops" != (name == "panic") {
					t.Errorf("the panic went on as %v", value)
				}
				advance(time.Minute + 1)
				call() // as a trial
				if got := b.State(); got != StateOpen {
					t.Fatalf("after a trial that did not return it is %v", got)
				}
				if len(seen) != 2 || name == "panic" && seen[0] != "oops" {
					t.Errorf("IsSuccessful saw %q", seen)
				}
			})
		})
	}
}

func TestEndToldTwiceCountsOnce(t *testing.T) {
	b := NewTwoStepCircuitBreaker[int](Settings{})
	const calls = 200 // more than flags are made at a time
	var ends []func(error)
	for range calls {
		ends = append(ends, take(t, b))
	}
	for range 2 {
		for _, done := range ends {
			done(nil)
		}
	}
	ends[0](errDown)
	want := Counts{Requests: calls, TotalSuccesses: calls, ConsecutiveSuccesses: calls}
	if got := b.Counts(); got != want {
		t.Errorf("counts %+v, want %+v", got, want)
	}
}

func TestHooksMayUseTheBreaker(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var b *CircuitBreaker[int]
		var seen []string
		inside := 0
		use := func() {
			b.Name()
			b.State()
			b.Counts()
			if inside++; inside == 1 { // else it would go on for ever
				_, err := b.Execute(func() (int, error) { return 0, errDown })
				seen = append(seen, fmt.Sprint("inside: ", err))
			}
			inside--
		}
		b = NewCircuitBreaker[int](Settings{
			ReadyToTrip:  func(c Counts) bool { use(); return c.TotalFailures >= 3 },
			IsSuccessful: func(err error) bool { use(); return err == nil },
			IsExcluded:   func(error) bool { use(); return false },
			OnStateChange: func(_ string, from, to State) {
				seen = append(seen, fmt.Sprint(from, " -> ", to))
				use()
				seen = append(seen, fmt.Sprint("heard of ", to))
			},
		})
		if _, err := b.Execute(func() (int, error) { return 0, errDown }); !errors.Is(err, errDown) {
			t.Fatal(err)
		}
		advance(time.Minute + 1)
		seen = nil
		// The hook's own call is the trial, and fails: that is told of after what it is told now.
		if got := b.State(); got != StateHalfOpen {
			t.Fatal(got)
		}
		want := []string{"open -> half-open", "inside: down", "heard of half-open", "half-open -> open", "inside: circuit breaker is open", "heard of open"}
		if !slices.Equal(seen, want) {
			t.Errorf("seen %q, want %q", seen, want)
		}
	})
}

func TestHookThatPanicsCountsAsNotSet(t *testing.T) {
	for name, leave := range map[string]func(){"panic": func() { panic("oops") }, "Goexit": runtime.Goexit} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				told := 0
				st := Settings{OnStateChange: func(string, State, State) { told++; leave() }}
				if name == "panic" {
					st.ReadyToTrip = func(Counts) bool { panic("oops") }
					st.IsSuccessful = func(error) bool { panic("oops") }
					st.IsExcluded = func(error) bool { panic("oops") }
				}
				b := NewCircuitBreaker[int](st)
				apart := func(f func()) { // a goroutine that a hook may end
					var wg sync.WaitGroup
					wg.Go(f)
					wg.Wait()
				}
				apart(func() {
					for i := range 7 {
						value, err := b.Execute(func() (int, error) { return i, errDown })
						if i < 6 && (value != i || !errors.Is(err, errDown)) || i == 6 && !errors.Is(err, ErrOpenState) {
							t.Errorf("call %d returned %d, %v", i, value, err)
						}
					}
				})
				advance(time.Minute + 1)
				apart(func() { b.State() })
				apart(func() { _, _ = b.Execute(func() (int, error) { return 0, nil }) })
				if got := b.State(); got != StateClosed || told != 3 {
					t.Errorf("it is %v, and the hook was told %d times, want 3", got, told)
				}
			})
		})
	}
}

func TestHookThatHangsHoldsNobodyUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var heard []string
		hang := make(chan struct{})
		b := NewCircuitBreaker[int](Settings{
			Timeout:     time.Millisecond,
			ReadyToTrip: always,
			OnStateChange: func(_ string, from, to State) {
				<-hang
				heard = append(heard, fmt.Sprint(from, " -> ", to))
			},
		})
		fails := func() { _, _ = b.Execute(func() (int, error) { return 0, errDown }) }
		go fails()
		synctest.Wait()
		for range maxChanges {
			advance(time.Millisecond + 1)
			fails()
		}
		close(hang)
		synctest.Wait()
		want := append([]string{"closed -> open"}, slices.Repeat([]string{"open -> half-open", "half-open -> open"}, maxChanges/2)...)
		if !slices.Equal(heard, want) {
			t.Errorf("heard %d changes, want the first and the last %d; they begin with %q", len(heard), maxChanges, heard[:min(3, len(heard))])
		}
	})
}

func TestSlowClassifierHoldsNobodyUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hang := make(chan struct{})
		b := NewCircuitBreaker[int](Settings{IsSuccessful: func(err error) bool {
			if err != nil {
				<-hang
			}
			return true
		}})
		go func() { _, _ = b.Execute(func() (int, error) { return 0, errDown }) }()
		synctest.Wait()
		if _, err := b.Execute(func() (int, error) { return 0, nil }); err != nil {
			t.Error(err)
		}
		if got, want := b.Counts(), (Counts{Requests: 2, TotalSuccesses: 1, ConsecutiveSuccesses: 1}); got != want {
			t.Errorf("counts %+v, want %+v", got, want)
		}
		close(hang)
	})
}

func TestVerdictThatComesTooLateTripsNothingNewer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hang := make(chan struct{})
		first := true
		b := NewCircuitBreaker[int](Settings{ReadyToTrip: func(Counts) bool {
			if first {
				first = false
				<-hang
			}
			return true
		}})
		fails := func() { _, _ = b.Execute(func() (int, error) { return 0, errDown }) }
		go fails()
		synctest.Wait()
		fails()
		if got := b.State(); got != StateOpen {
			t.Fatalf("a failure while another one is judged: %v", got)
		}
		advance(time.Minute + 1)
		if _, err := b.Execute(func() (int, error) { return 0, nil }); err != nil {
			t.Fatal(err)
		}
		close(hang)
		synctest.Wait()
		if got := b.State(); got != StateClosed {
			t.Errorf("the first failure's verdict made it %v", got)
		}
	})
}

// The original's 32-bit counts begin again at 0, so that one failure after 4
// billion calls is a failure rate of 100 %.
func TestCountsDoNotOverflow(t *testing.T) {
	w := window{length: 1}
	w.requests, w.ended = 1<<33+5, [outcomes]uint64{success: 1 << 32, failure: 1 << 31, excluded: 1 << 30}
	w.inRow, w.kind = 1<<40, failure
	got := w.counts()
	want := Counts{Requests: 1<<31 + 1, TotalSuccesses: 1 << 30, TotalFailures: 1 << 29, TotalExclusions: 1 << 28, ConsecutiveFailures: 1<<32 - 1}
	if got != want {
		t.Errorf("counts %+v, want %+v", got, want)
	}
	w.requests = 1<<32 - 1
	if got := w.counts().Requests; got != 1<<32-1 {
		t.Errorf("%d requests, and they still fit", got)
	}
}
