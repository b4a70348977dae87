package httpbreaker_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/recloser-go/recloser"
	"github.com/recloser-go/recloser/guard"
	"github.com/recloser-go/recloser/httpbreaker"
	"github.com/recloser-go/recloser/internal/eventually"
)

// A body is followed to its end by an object that its reader may keep for ever,
// so it cannot be used again.
func TestTransportDoesNotAllocate(t *testing.T) {
	breaker := newBreaker(t, recloser.Config{SlowCall: 2 * time.Second})
	req, _ := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://hotel-1.example/access", nil)
	buf := make([]byte, 64)
	for name, want := range map[string]float64{"no body": 0, "small body": 1} {
		tr := &httpbreaker.Transport{
			Base:    &canned{resp: http.Response{StatusCode: http.StatusOK}, body: cannedBodies()[name]},
			Breaker: httpbreaker.Fixed(breaker),
		}
		if n := testing.AllocsPerRun(1000, func() {
			if err := roundTrip(tr, req, buf); err != nil {
				t.Fatal(err)
			}
		}); n != want {
			t.Errorf("%s: %g allocations, want %g", name, n, want)
		}
	}
	refused, cancel := context.WithCancel(t.Context())
	cancel()
	tr := &httpbreaker.Transport{Breaker: httpbreaker.Fixed(breaker)}
	gone := req.WithContext(refused)
	if n := testing.AllocsPerRun(1000, func() { _, _ = tr.RoundTrip(gone) }); n != 0 {
		t.Errorf("a request that is not sent: %g allocations", n)
	}
}

// A watch for a trip that is left behind would keep its request for as long as
// the breaker stays closed.
func TestEndedRequestsAreNotHeld(t *testing.T) {
	b := newBreaker(t, recloser.Config{CancelOnTrip: true})
	for name, call := range map[string]func(ctx context.Context){
		"Transport": func(ctx context.Context) {
			req, _ := http.NewRequestWithContext(ctx, http.MethodGet, "http://hotel-1.example/", nil)
			_, _ = do(through(b, answers(200)), req)
		},
		"GuardedTransport": func(ctx context.Context) {
			req, _ := http.NewRequestWithContext(ctx, http.MethodGet, "http://hotel-1.example/", nil)
			g := newGuarded(t, guard.Config{Breaker: recloser.Config{CancelOnTrip: true}}, answers(200))
			_, _, _ = g.do(req)
		},
		"Middleware": func(ctx context.Context) {
			r := httptest.NewRequestWithContext(ctx, http.MethodPost, "/", strings.NewReader("guest"))
			behind(b, says(200)).ServeHTTP(httptest.NewRecorder(), r)
		},
		"Middleware, no answer": func(ctx context.Context) {
			behind(b, func(http.ResponseWriter, *http.Request) {}).
				ServeHTTP(httptest.NewRecorder(), httptest.NewRequestWithContext(ctx, http.MethodGet, "/", nil))
		},
	} {
		var freed atomic.Bool
		func() {
			p := new([64]byte)
			runtime.AddCleanup(p, func(int) { freed.Store(true) }, 0)
			call(context.WithValue(t.Context(), leaveKey{}, p))
		}()
		eventually.True(t, 20*time.Second, func() bool { runtime.GC(); return freed.Load() }, name+" to let go of its request")
	}
	wantState(t, b, recloser.Closed)
}
