package proxy_test

import (
	"context"
	"io"
	"net/http"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/recloser-go/recloser"
	"github.com/recloser-go/recloser/gateway/gatewaytest"
	"github.com/recloser-go/recloser/gateway/internal/config"
)

func TestG01_CallersAtTheEndOfTheOpenTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, gatewaytest.Yes())
		b.trip()
		b.hotel.Now(gatewaytest.Hang())
		before := b.hotel.Calls()
		pause(time.Until(b.breaker.Stats().Until))
		var callers sync.WaitGroup
		for range 200 {
			callers.Go(func() {
				a := b.get("/hotels/hotel-1/")
				if a.status != http.StatusServiceUnavailable || a.took > 2*time.Second+300*time.Millisecond {
					t.Errorf("got %d after %s (%v), want a refusal or a release", a.status, a.took, a.err)
				}
			})
		}
		callers.Wait()
		if n, most := b.hotel.Calls()-before, b.breaker.Config().Trials; n < 1 || n > most {
			t.Errorf("%d calls reached it, want 1 to %d", n, most)
		}
		b.wantState(recloser.Open)
	})
}

func TestG02_StatusCounts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, gatewaytest.Answer(500, "the hotel's own words"))
		if a := b.get("/hotels/hotel-1/"); a.status != 500 || a.body != "the hotel's own words" {
			t.Errorf("got %+v, want the dependency's own answer", a)
		}
		b.trip()
		calls := b.hotel.Calls()
		a := b.get("/hotels/hotel-1/")
		if a.status != 503 || a.header.Get("Retry-After") == "" || a.header.Get("Recloser-Dependency") != "hotel-1" ||
			a.header.Get("Recloser-State") != "open" || a.header.Get("Recloser-Reason") != "open" || a.problem.Dependency != "hotel-1" {
			t.Errorf("got %+v, want a refusal that says which and why", a)
		}
		if b.hotel.Calls() != calls {
			t.Error("a refused call reached the dependency")
		}
	})
}

func TestG02_BrokenBodyCounts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, gatewaytest.BreakOff(4096))
		for range 5 {
			if a := b.get("/hotels/hotel-1/"); a.err == nil {
				t.Fatalf("got %d bytes and no error", len(a.body))
			}
			pause(100 * time.Millisecond)
		}
		b.wantState(recloser.Open)
	})
}

func TestG05_ClientsHangUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, gatewaytest.Hang())
		var callers sync.WaitGroup
		for range 1000 {
			callers.Go(func() { b.hangUp(900 * time.Millisecond) })
		}
		callers.Wait()
		synctest.Wait()
		b.wantState(recloser.Closed)
		if s := b.breaker.Stats(); s.Window != (recloser.Counts{}) || s.Failed+s.Success != 0 || s.InFlight != 0 || s.Ignored != 1000 {
			t.Errorf("counters moved: %+v", s)
		}
		if n := b.hotel.Running(); n != 0 {
			t.Errorf("%d calls still run at the dependency", n)
		}
	})
}

func TestG05_TheTrialsClientHangsUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, gatewaytest.Yes())
		b.trip()
		pause(time.Until(b.breaker.Stats().Until))
		b.hotel.Now(gatewaytest.Hang())
		b.hangUp(900 * time.Millisecond)
		synctest.Wait()
		b.wantState(recloser.HalfOpen)
		b.hotel.Now(gatewaytest.Yes())
		if a := b.get("/hotels/hotel-1/"); a.status != 200 {
			t.Errorf("the next call got %+v, want to be the trial", a)
		}
	})
}

// hangUp makes a call and cancels it.
func (b *bench) hangUp(after time.Duration) {
	ctx, cancel := context.WithTimeout(b.t.Context(), after)
	defer cancel()
	if a := b.send(ctx, http.MethodPost, "/hotels/hotel-1/", nil); a.err == nil {
		b.t.Errorf("got %+v, want no answer", a)
	}
}

func TestClientThatStopsItsUploadIsNoFailure(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, gatewaytest.Yes())
		ctx, cancel := context.WithCancel(t.Context())
		r, w := io.Pipe()
		go func() {
			_, _ = io.WriteString(w, "half of a gue")
			pause(100 * time.Millisecond)
			cancel()
			_ = w.CloseWithError(ctx.Err())
		}()
		b.send(ctx, http.MethodPost, "/hotels/hotel-1/", r)
		synctest.Wait()
		if s := b.breaker.Stats(); s.Failed != 0 || s.Ignored != 1 || s.InFlight != 0 {
			t.Errorf("%d failed, %d ignored, %d running", s.Failed, s.Ignored, s.InFlight)
		}
	})
}

func TestTripReleasesWhoWaits(t *testing.T) {
	tests := []struct {
		name     string
		release  bool
		attempts int
		status   int
	}{
		{"released", true, 1, http.StatusServiceUnavailable},
		{"waits on", false, 1, http.StatusOK},
		{"released, with retries", true, 3, http.StatusServiceUnavailable},
		{"waits on, with retries", false, 3, http.StatusOK},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBench(t, gatewaytest.Slow(time.Second, gatewaytest.Yes()), func(d *config.Dependency, r *config.Route) {
					r.ReleaseOnTrip, d.Retry.Attempts = tt.release, tt.attempts
				})
				got := make(chan answer)
				go func() { got <- b.get("/hotels/hotel-1/") }()
				pause(100 * time.Millisecond)
				if err := b.breaker.TripFor(time.Minute, "test", "test"); err != nil {
					t.Fatal(err)
				}
				a := <-got
				if a.status != tt.status {
					t.Fatalf("got %+v, want %d", a, tt.status)
				}
				if tt.release && (a.problem.Reason != "released" || a.took != 100*time.Millisecond || a.header.Get("Retry-After") != "60") {
					t.Errorf("got %+v", a)
				}
			})
		})
	}
}

func TestToldToWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Retry-After", "30")
			w.WriteHeader(http.StatusServiceUnavailable)
		})
		if a := b.get("/hotels/hotel-1/"); a.status != 503 || a.header.Get("Recloser-Reason") != "" {
			t.Errorf("got %+v, want the dependency's own answer", a)
		}
		if a := b.get("/hotels/hotel-1/"); a.problem.Reason != "told to wait" || a.header.Get("Retry-After") != "30" {
			t.Errorf("got %+v, want to be told to wait", a)
		}
	})
}

func TestHangIsNoticedWhileItLasts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, gatewaytest.Hang())
		var callers sync.WaitGroup
		start := time.Now()
		for range 40 {
			callers.Go(func() { b.get("/hotels/hotel-1/") })
			pause(100 * time.Millisecond)
			if b.breaker.State() == recloser.Open {
				break
			}
		}
		callers.Wait()
		if took := time.Since(start); took > 3*time.Second {
			t.Errorf("everybody was free after %s, want at most 3s", took)
		}
		b.wantState(recloser.Open)
	})
}
