package guard

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/recloser-go/recloser"
)

var errDown = errors.New("down")

// tolerant is a breaker that does not trip by itself.
func tolerant() recloser.Config {
	return recloser.Config{Name: "hotel-7", Consecutive: recloser.Off, FailureRate: recloser.Off, Ramp: recloser.Off}
}

// tripping is a breaker that opens for a second on the first bad call.
func tripping() recloser.Config {
	return recloser.Config{Name: "hotel-7", Consecutive: 1, OpenFor: time.Second, Jitter: recloser.Off, Trials: 1, Ramp: recloser.Off}
}

// thrice retries all calls, without a budget.
func thrice() Retry {
	return Retry{Attempts: 3, Unmarked: true, Budget: recloser.Off}
}

// testGuard is a guard whose waits between attempts are half of the longest.
type testGuard struct {
	*Guard
	testing.TB
	giveUp func() // for tests whose caller does
}

func newTest(t testing.TB, cfg Config) *testGuard {
	t.Helper()
	g, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	g.random = func() float64 { return 0.5 }
	return &testGuard{Guard: g, TB: t, giveUp: func() {}}
}

// mustBe fails the test if the breaker is not in this state.
func (g *testGuard) mustBe(want recloser.State) {
	g.Helper()
	if got := g.breaker.State(); got != want {
		g.Fatalf("the breaker is %s, want %s", got, want)
	}
}

// mustCount fails the test if the breaker has not seen these ends of calls.
func (g *testGuard) mustCount(success, failed, ignored uint64) {
	g.Helper()
	s := g.breaker.Stats()
	if s.Success != success || s.Failed != failed || s.Ignored != ignored {
		g.Errorf("the breaker saw %d good, %d failed, %d ignored; want %d, %d, %d", s.Success, s.Failed, s.Ignored, success, failed, ignored)
	}
}

// trip opens the breaker for d.
func (g *testGuard) trip(d time.Duration) {
	if err := g.breaker.TripFor(d, "ana", "test"); err != nil {
		g.Error(err)
	}
}

// bubble runs test on virtual time.
func bubble(t *testing.T, test func(t *testing.T)) {
	t.Helper()
	synctest.Test(t, test)
}

// pass lets virtual time pass.
func pass(d time.Duration) { <-time.After(d) }

func fails(context.Context) error { return errDown }

func succeeds(context.Context) error { return nil }

// hangs waits for its context.
func hangs(ctx context.Context) error {
	<-ctx.Done()
	return ctx.Err()
}

// takes ends well after d, whatever its context says.
func takes(d time.Duration) func(context.Context) error {
	return func(context.Context) error {
		pass(d)
		return nil
	}
}
