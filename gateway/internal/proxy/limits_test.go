package proxy_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/recloser-go/recloser"
	"github.com/recloser-go/recloser/gateway/gatewaytest"
	"github.com/recloser-go/recloser/gateway/internal/bulkhead"
	"github.com/recloser-go/recloser/gateway/internal/config"
	"github.com/recloser-go/recloser/guard"
)

func (a answer) wantRefusal(t *testing.T, status int, reason, after string, took time.Duration) {
	t.Helper()
	if a.status != status || a.header.Get("Recloser-Reason") != reason || a.problem.Reason != reason ||
		a.header.Get("Retry-After") != after || fmt.Sprint(a.problem.RetryAfter) != after || a.took != took {
		t.Errorf("got %+v after %s\nwant %d, %q, Retry-After %s after %s", a, a.took, status, reason, after, took)
	}
}

func TestFullBulkhead(t *testing.T) {
	for name, limit := range map[string]func(*bench) *bulkhead.Bulkhead{
		"of the dependency": func(b *bench) *bulkhead.Bulkhead { return b.dep.Bulkhead },
		"of the process":    func(b *bench) *bulkhead.Bulkhead { return b.process },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBench(t, gatewaytest.Hang())
				limit(b).SetMax(2)
				var callers sync.WaitGroup
				for range 2 {
					callers.Go(func() { b.hangUp(time.Second) })
				}
				pause(10 * time.Millisecond)
				a := b.get("/hotels/hotel-1/")
				a.wantRefusal(t, http.StatusServiceUnavailable, "bulkhead", "1", 100*time.Millisecond)
				if a.problem.Dependency != "hotel-1" || b.hotel.Calls() != 2 {
					t.Errorf("%+v, %d calls", a.problem, b.hotel.Calls())
				}
				if s := b.breaker.Stats(); s.InFlight != 2 || s.Failed+s.Ignored != 0 {
					t.Errorf("the breaker has counted it: %+v", s)
				}
				callers.Wait()
				synctest.Wait()
				if b.dep.Bulkhead.InFlight()+b.process.InFlight() != 0 {
					t.Error("slots are not given back")
				}
			})
		})
	}
}

func TestCutOffDoesNotWaitForASlot(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, gatewaytest.Yes())
		b.trip()
		b.dep.Bulkhead.SetMax(1)
		if !b.dep.Bulkhead.TryEnter() {
			t.Fatal("no slot")
		}
		if a := b.get("/hotels/hotel-1/"); a.problem.Reason != "open" || a.took != 0 {
			t.Errorf("got %+v after %s, want to be refused at once", a, a.took)
		}
		b.dep.Bulkhead.Leave()
	})
}

// G26: what a refusal says about the time to wait is what is left, rounded up.
func TestG26_RetryAfterIsWhatIsLeft(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, gatewaytest.Yes())
		if err := b.breaker.TripFor(4300*time.Millisecond, "test", "test"); err != nil {
			t.Fatal(err)
		}
		for _, want := range []string{"5", "4", "3", "2", "1"} {
			for range 2 {
				b.get("/hotels/hotel-1/").wantRefusal(t, http.StatusServiceUnavailable, "open", want, 0)
			}
			pause(time.Second)
		}
		if a := b.get("/hotels/hotel-1/"); a.status != http.StatusOK {
			t.Errorf("got %+v once the time is over", a)
		}
	})
}

func TestRateLimitOfTheDependency(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, gatewaytest.Yes(), func(d *config.Dependency, _ *config.Route) {
			d.RateLimit = guard.RateLimit{Rate: 0.4, Burst: 2}
		})
		for range 2 {
			if a := b.get("/hotels/hotel-1/"); a.status != http.StatusOK {
				t.Fatalf("got %+v", a)
			}
		}
		a := b.get("/hotels/hotel-1/")
		a.wantRefusal(t, http.StatusServiceUnavailable, "rate limit", "3", 0)
		if s := b.breaker.Stats(); s.Success != 2 || s.Failed+s.Ignored != 0 {
			t.Errorf("the breaker has counted it: %+v", s)
		}
		if n := b.dep.Limited.Load(); n != 1 {
			t.Errorf("%d calls are counted as over the limit", n)
		}
	})
}

func TestRateLimitOfTheRoute(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, gatewaytest.Yes(), func(_ *config.Dependency, r *config.Route) {
			r.RateLimit = &config.RateLimit{Per: "client", Rate: 0.4, Burst: 1, Max: 10}
		})
		b.get("/hotels/hotel-1/")
		b.get("/hotels/hotel-1/").wantRefusal(t, http.StatusTooManyRequests, "rate limit", "3", 0)
		if s := b.breaker.Stats(); s.Success != 1 || s.Failed+s.Ignored != 0 || b.hotel.Calls() != 1 {
			t.Errorf("it counted against the dependency: %+v", s)
		}
	})
}

func TestRetries(t *testing.T) {
	thrice := func(d *config.Dependency, _ *config.Route) { d.Retry = guard.Retry{Attempts: 3} }
	tests := []struct {
		name, method string
		behaviour    gatewaytest.Behaviour
		body         string
		status       int
		calls        int
	}{
		{"good at last", http.MethodGet, gatewaytest.InTurn(gatewaytest.Refuse(), gatewaytest.Answer(502, ""), gatewaytest.Yes()), "", 200, 3},
		{"never good", http.MethodGet, gatewaytest.Answer(503, "sorry"), "", 503, 3},
		{"an answer that is one", http.MethodGet, gatewaytest.Answer(500, ""), "", 500, 1},
		{"may not be made twice", http.MethodPost, gatewaytest.InTurn(gatewaytest.Answer(502, ""), gatewaytest.Yes()), "", 502, 1},
		{"has a body", http.MethodPut, gatewaytest.InTurn(gatewaytest.Answer(502, ""), gatewaytest.Yes()), "x", 502, 1},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBench(t, tt.behaviour, thrice)
				var body io.Reader
				if tt.body != "" {
					body = strings.NewReader(tt.body)
				}
				a := b.send(t.Context(), tt.method, "/hotels/hotel-1/", body)
				if a.status != tt.status || b.hotel.Calls() != tt.calls {
					t.Errorf("got %+v, %d calls; want %d, %d", a, b.hotel.Calls(), tt.status, tt.calls)
				}
				if s := b.breaker.Stats(); s.Success+s.Failed != 1 || s.InFlight != 0 {
					t.Errorf("%d good, %d failed, %d in flight; want one outcome", s.Success, s.Failed, s.InFlight)
				}
			})
		})
	}
}

// An attempt's time and that of the whole call.
func TestRetriesWithinTheTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, gatewaytest.Hang(), func(d *config.Dependency, _ *config.Route) {
			d.Retry, d.Timeout, d.AttemptTimeout = guard.Retry{Attempts: 5}, 4*time.Second, 1500*time.Millisecond
		})
		a := b.get("/hotels/hotel-1/")
		if a.status != http.StatusGatewayTimeout || a.took > 4*time.Second || b.hotel.Calls() < 2 {
			t.Errorf("got %+v after %s and %d calls", a, a.took, b.hotel.Calls())
		}
	})
}

func byProperty(most int) option {
	return func(d *config.Dependency, _ *config.Route) { d.Key = &config.Key{Header: "X-Property", Max: most} }
}

func TestABreakerForEachKey(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, func(w http.ResponseWriter, r *http.Request) {
			if r.Header.Get("X-Property") == "bad" {
				w.WriteHeader(500)
			}
		}, byProperty(10))
		for range 20 {
			b.send(t.Context(), http.MethodGet, "/hotels/hotel-1/", nil, "X-Property", "bad")
			pause(100 * time.Millisecond)
		}
		a := b.send(t.Context(), http.MethodGet, "/hotels/hotel-1/", nil, "X-Property", "bad")
		if a.problem.Reason != "open" || a.problem.Dependency != "hotel-1" || !strings.HasPrefix(a.problem.Detail, "hotel-1, for this X-Property, is open (cut off): ") {
			t.Errorf("got %+v, want the property to be cut off", a)
		}
		for _, other := range [][]string{{"X-Property", "good"}, nil} {
			if a := b.send(t.Context(), http.MethodGet, "/hotels/hotel-1/", nil, other...); a.status != http.StatusOK {
				t.Errorf("%v: got %+v, want it not to be cut off", other, a)
			}
		}
		b.wantState(recloser.Closed)
	})
}

// G25: keys come from clients, who may make up as many as they like.
func TestG25_AMillionKeys(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, gatewaytest.Answer(500, ""), byProperty(100))
		req := func(key string) *http.Request {
			return &http.Request{Header: http.Header{"X-Property": {key}}}
		}
		open, isolated := b.dep.BreakerOf(req("open")), b.dep.BreakerOf(req("isolated"))
		if err := errors.Join(open.TripFor(time.Hour, "test", "test"), isolated.Isolate("test", "test", time.Time{})); err != nil {
			t.Fatal(err)
		}
		made := req("")
		for i := range manyKeys {
			made.Header["X-Property"][0] = strconv.Itoa(i)
			breaker := b.dep.BreakerOf(made)
			if i%1000 == 0 {
				_ = breaker.Do(t.Context(), func(context.Context) error { return nil })
				pause(time.Millisecond)
			}
		}
		n := 0
		for range b.dep.Keys.All() {
			n++
		}
		if n > 110 {
			t.Errorf("%d breakers are kept, want about 100", n)
		}
		if b.dep.BreakerOf(req("open")) != open || b.dep.BreakerOf(req("isolated")) != isolated || open.State() != recloser.Open || isolated.State() != recloser.Isolated {
			t.Error("one that was cut off is forgotten")
		}
	})
}

func TestLongBodyIsRefused(t *testing.T) {
	body := strings.Repeat("x", 8<<20+1)
	for name, hide := range map[string]func(io.Reader) io.Reader{
		"as its length says": func(r io.Reader) io.Reader { return r },
		"as it turns out":    func(r io.Reader) io.Reader { return struct{ io.Reader }{r} },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBench(t, gatewaytest.Slow(0, gatewaytest.Yes()))
				a := b.send(t.Context(), http.MethodPost, "/hotels/hotel-1/", hide(strings.NewReader(body)))
				if a.status != http.StatusRequestEntityTooLarge || a.problem.Status != a.status {
					t.Errorf("got %+v", a)
				}
				synctest.Wait()
				if s := b.breaker.Stats(); s.Failed != 0 || s.InFlight != 0 || b.hotel.Running() != 0 {
					t.Errorf("%d failed, %d in flight, %d running", s.Failed, s.InFlight, b.hotel.Running())
				}
			})
		})
	}
}
