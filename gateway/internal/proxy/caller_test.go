package proxy_test

import (
	"io"
	"net/http"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/recloser-go/recloser/gateway/gatewaytest"
	"github.com/recloser-go/recloser/gateway/internal/config"
)

// Those whose requests run on as witnesses have the same answer as all others that are
// released, and as soon; but it is the last on their connections, and the requests keep
// their places among the calls that may run.
func TestCallerGoesBeforeHisRequest(t *testing.T) {
	for _, method := range []string{http.MethodGet, http.MethodHead} {
		t.Run(method, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBench(t, gatewaytest.Slow(900*time.Millisecond, gatewaytest.Yes()))
				b.breaker.SetSuspect(250 * time.Millisecond)
				var (
					callers sync.WaitGroup
					mu      sync.Mutex
					closed  int
				)
				for range 12 {
					callers.Go(func() {
						start := time.Now()
						req, _ := http.NewRequestWithContext(t.Context(), method, "http://gateway.example/hotels/hotel-1/", nil)
						resp, err := b.client.Do(req)
						if err != nil {
							t.Error(err)
							return
						}
						body, err := io.ReadAll(resp.Body)
						_ = resp.Body.Close()
						h := resp.Header
						if resp.StatusCode != http.StatusServiceUnavailable || h.Get("Recloser-Reason") != "released" || h.Get("Date") == "" ||
							h.Get("Content-Type") != "application/problem+json" || err != nil || (len(body) > 0) != (method == http.MethodGet) {
							t.Errorf("%d %v %q %v", resp.StatusCode, h, body, err)
						}
						if took := time.Since(start); took > 700*time.Millisecond {
							t.Errorf("answered after %s", took)
						}
						mu.Lock()
						defer mu.Unlock()
						if resp.Close {
							closed++
						}
					})
					pause(20 * time.Millisecond)
				}
				callers.Wait()
				synctest.Wait()
				counted := func() [4]int {
					return [4]int{b.hotel.Running(), b.dep.Bulkhead.InFlight(), b.process.InFlight(), closed}
				}
				if got := counted(); got != [4]int{2, 2, 2, 2} {
					t.Errorf("running, in two bulkheads, and connections closed: %d, want 2 each", got)
				}
				pause(time.Second)
				synctest.Wait()
				if got := counted(); got != [4]int{0, 0, 0, 2} || b.breaker.Stats().Success != 2 {
					t.Errorf("later: %d, %d ended well", got, b.breaker.Stats().Success)
				}
			})
		})
	}
}

// A last known answer is what a released caller gets, too.
func TestCallerGoesWithALastKnownAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, gatewaytest.Yes(), func(_ *config.Dependency, r *config.Route) {
			r.LastKnown = &config.LastKnown{For: time.Hour, Max: 10, Memory: 16 << 20}
		})
		if a := b.get("/hotels/hotel-1/"); a.status != http.StatusOK {
			t.Fatal(a)
		}
		b.hotel.Now(gatewaytest.Slow(900*time.Millisecond, gatewaytest.Yes()))
		b.breaker.SetSuspect(250 * time.Millisecond)
		var callers sync.WaitGroup
		for range 12 {
			callers.Go(func() {
				if a := b.get("/hotels/hotel-1/"); a.status != http.StatusOK || a.header.Get("Recloser-Last-Known") == "" || a.took > 700*time.Millisecond {
					t.Errorf("%+v", a)
				}
			})
			pause(20 * time.Millisecond)
		}
		callers.Wait()
		pause(time.Second)
	})
}
