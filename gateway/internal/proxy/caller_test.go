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

// got is what a client was answered.
type got struct {
	*http.Response
	body string
}

// released has twelve clients ask a hotel that takes 900 ms from now on, which is 650 ms
// longer than usual, and returns their answers. Each gets his within 700 ms.
func (b *bench) released(method string) []got {
	b.t.Helper()
	b.hotel.Now(gatewaytest.Slow(900*time.Millisecond, gatewaytest.Yes()))
	b.breaker.SetSuspect(250 * time.Millisecond)
	var clients sync.WaitGroup
	all := make([]got, 12)
	for i := range all {
		clients.Go(func() {
			start := time.Now()
			req, _ := http.NewRequestWithContext(b.t.Context(), method, "http://gateway.example/hotels/hotel-1/", nil)
			resp, err := b.client.Do(req)
			if err != nil {
				b.t.Error(err)
				return
			}
			body, err := io.ReadAll(resp.Body)
			if took := time.Since(start); err != nil || resp.Body.Close() != nil || took > 700*time.Millisecond {
				b.t.Errorf("answered after %s, %v", took, err)
			}
			all[i] = got{resp, string(body)}
		})
		pause(20 * time.Millisecond)
	}
	clients.Wait()
	synctest.Wait()
	if b.t.Failed() {
		b.t.FailNow()
	}
	return all
}

// closed returns how many of the answers are the last on their connections.
func closed(all []got) (n int) {
	for _, a := range all {
		if a.Close {
			n++
		}
	}
	return n
}

// Those whose requests run on as witnesses have the same answer as all others that are
// released, and as soon; but it is the last on their connections, and the requests keep
// their places among the calls that may run.
func TestCallerGoesBeforeHisRequest(t *testing.T) {
	for _, method := range []string{http.MethodGet, http.MethodHead} {
		t.Run(method, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBench(t, gatewaytest.Yes())
				all := b.released(method)
				for _, a := range all {
					if a.StatusCode != http.StatusServiceUnavailable || a.Header.Get("Recloser-Reason") != "released" || a.Header.Get("Date") == "" ||
						a.Header.Get("Content-Type") != "application/problem+json" || (a.body != "") != (method == http.MethodGet) ||
						a.ContentLength != all[0].ContentLength || a.ContentLength <= 0 {
						t.Errorf("%d, %d bytes, %v %q", a.StatusCode, a.ContentLength, a.Header, a.body)
					}
				}
				running := func() [3]int {
					return [3]int{b.hotel.Running(), b.dep.Bulkhead.InFlight(), b.process.InFlight()}
				}
				if n := running(); n != [3]int{2, 2, 2} || closed(all) != 2 {
					t.Errorf("running and in two bulkheads: %d, %d connections closed; want 2 each", n, closed(all))
				}
				pause(time.Second)
				synctest.Wait()
				if n := running(); n != [3]int{} || b.breaker.Stats().Success != 2 {
					t.Errorf("later: %d, %d ended well", n, b.breaker.Stats().Success)
				}
			})
		})
	}
}

// A last known answer is what a released caller gets, too, whether his request runs on
// or not.
func TestCallerGoesWithALastKnownAnswer(t *testing.T) {
	for _, method := range []string{http.MethodGet, http.MethodHead} {
		t.Run(method, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBench(t, gatewaytest.Yes(), func(_ *config.Dependency, r *config.Route) {
					r.LastKnown = &config.LastKnown{For: time.Hour, Max: 10, Memory: 16 << 20}
				})
				first := b.send(t.Context(), method, "/hotels/hotel-1/", nil)
				if first.status != http.StatusOK || first.header.Get("Content-Length") == "" {
					t.Fatal(first)
				}
				all := b.released(method)
				for _, a := range all {
					if a.StatusCode != http.StatusOK || a.Header.Get("Recloser-Last-Known") == "" ||
						a.body != first.body || a.Header.Get("Content-Length") != first.header.Get("Content-Length") {
						t.Errorf("%d %v %q, want %q as before", a.StatusCode, a.Header, a.body, first.body)
					}
				}
				if n := closed(all); n != 2 {
					t.Errorf("%d requests ran on, want 2", n)
				}
				pause(time.Second)
			})
		})
	}
}
