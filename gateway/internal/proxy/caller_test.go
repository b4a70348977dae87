package proxy_test

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/recloser-go/recloser"
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

// Whoever has gone and does not take his answer holds up neither his request, which is to
// show that the dependency is well, nor its place.
func TestCallerWhoTakesNothingLeavesAWitness(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, gatewaytest.Slow(900*time.Millisecond, gatewaytest.Yes()))
		b.breaker.SetSuspect(250 * time.Millisecond)
		var lifted time.Duration
		b.breaker.Subscribe(func(tr recloser.Transition) { lifted = max(lifted, tr.Lifted) })
		var callers []net.Conn
		for range 12 {
			conn, err := b.client.Transport.(*http.Transport).DialContext(t.Context(), "tcp", "gateway.example:80")
			if err != nil {
				t.Fatal(err)
			}
			callers = append(callers, conn)
			_, _ = io.WriteString(conn, "GET /hotels/hotel-1/ HTTP/1.1\r\nHost: gateway.example\r\n\r\n")
			pause(20 * time.Millisecond)
		}
		pause(time.Second)
		synctest.Wait()
		if s := b.breaker.Stats(); lifted != 900*time.Millisecond || s.InFlight != 0 || s.Success != 2 {
			t.Errorf("lifted to %s, %+v", lifted, s)
		}
		if n := b.dep.Bulkhead.InFlight() + b.process.InFlight(); n != 0 {
			t.Errorf("%d places are taken", n)
		}
		for _, conn := range callers {
			if resp, err := http.ReadResponse(bufio.NewReader(conn), nil); err != nil || resp.StatusCode != http.StatusServiceUnavailable {
				t.Errorf("got %v, %v", resp, err)
			}
			_ = conn.Close()
		}
	})
}
