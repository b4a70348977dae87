package ratelimit

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/recloser-go/recloser/gateway/internal/config"
	"github.com/recloser-go/recloser/gateway/internal/problem"
	"github.com/recloser-go/recloser/internal/vtime"
)

func from(address string, header ...string) *http.Request {
	r := httptest.NewRequest(http.MethodGet, "/access", nil)
	r.RemoteAddr = address
	for i := 0; i < len(header); i += 2 {
		r.Header.Add(header[i], header[i+1])
	}
	return r
}

func TestWhoIsOneClient(t *testing.T) {
	tests := []struct {
		name, per string
		a, b      *http.Request
		same      bool
	}{
		{"one address", "client", from("192.0.2.1:5000"), from("192.0.2.1:6000"), true},
		{"two addresses", "client", from("192.0.2.1:5000"), from("192.0.2.2:5000"), false},
		{"one network of IPv6", "client", from("[2001:db8::1]:5000"), from("[2001:db8::ffff:2]:5000"), true},
		{"two networks of IPv6", "client", from("[2001:db8::1]:5000"), from("[2001:db8:0:1::1]:5000"), false},
		{"IPv4 in IPv6", "client", from("[::ffff:192.0.2.1]:5000"), from("192.0.2.1:5000"), true},
		{"two in IPv6", "client", from("[::ffff:192.0.2.1]:5000"), from("[::ffff:192.0.2.2]:5000"), false},
		{"what it claims", "client", from("192.0.2.1:5000", "X-Forwarded-For", "1.1.1.1"), from("192.0.2.1:5000"), true},
		{"a pipe", "client", from("@"), from("@"), true},
		{"a route", "route", from("192.0.2.1:5000"), from("192.0.2.2:5000"), true},
		{"one header", "header x-gate", from("192.0.2.1:5000", "X-Gate", "7"), from("192.0.2.2:5000", "X-Gate", "7"), true},
		{"two headers", "header x-gate", from("192.0.2.1:5000", "X-Gate", "7"), from("192.0.2.1:5000", "X-Gate", "8"), false},
		{"no header", "header x-gate", from("192.0.2.1:5000"), from("192.0.2.2:5000"), true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			l := New(config.RateLimit{Per: tt.per, Rate: 0.001, Burst: 1, Max: 10}, vtime.Real{})
			if _, ok := l.Take(tt.a); !ok {
				t.Fatal("the first request is refused")
			}
			if _, ok := l.Take(tt.b); ok == tt.same {
				t.Errorf("the second passes: %t", ok)
			}
		})
	}
}

func TestRateAndBurst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := New(config.RateLimit{Per: "client", Rate: 2, Burst: 3, Max: 10}, vtime.Real{})
		<-time.After(time.Hour) // who comes late has no more than who comes first
		for _, want := range []struct {
			after time.Duration
			pass  int
		}{{0, 3}, {0, 0}, {time.Second, 2}, {time.Hour, 3}} {
			<-time.After(want.after)
			passed := 0
			for range 10 {
				wait, ok := l.Take(from("192.0.2.1:5000"))
				if ok {
					passed++
				} else if wait != 500*time.Millisecond {
					t.Fatalf("to wait %s, want half a second", wait)
				}
			}
			if passed != want.pass {
				t.Errorf("%d passed after %s, want %d", passed, want.after, want.pass)
			}
		}
	})
}

func TestMillionClients(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := New(config.RateLimit{Per: "client", Rate: 0.001, Burst: 1, Max: 1000}, vtime.Real{})
		regular := from("192.0.2.1:5000")
		if _, ok := l.Take(regular); !ok {
			t.Fatal("the first request is refused")
		}
		r := from("")
		for i := range 1_000_000 {
			r.RemoteAddr = fmt.Sprintf("10.%d.%d.%d:5000", i>>16, i>>8&255, i&255)
			if _, ok := l.Take(r); !ok {
				t.Fatalf("client %d is refused", i)
			}
			if n := len(l.now) + len(l.old); n > 1000 {
				t.Fatalf("%d clients are kept, want at most 1000", n)
			}
			if i%200 == 0 {
				if _, ok := l.Take(regular); ok {
					t.Fatalf("who calls all the time was forgotten among %d others", i)
				}
			}
		}
	})
}

func TestRefusal(t *testing.T) {
	tests := []struct {
		cfg                    config.RateLimit
		after, policy, limited string
	}{
		{config.RateLimit{Per: "client", Rate: 0.25, Burst: 1, Max: 10}, "4", `"client";q=1;w=4`, `"client";r=0;t=4`},
		{config.RateLimit{Per: "header X-Gate", Rate: 1.5, Burst: 6, Max: 10}, "1", `"header";q=6;w=4`, `"header";r=0;t=1`},
		{config.RateLimit{Per: "route", Rate: 50, Burst: 10, Max: 10}, "1", `"route";q=10;w=1`, `"route";r=0;t=1`},
	}
	for _, tt := range tests {
		synctest.Test(t, func(t *testing.T) {
			l := (&Limiters{}).Of(config.Route{RateLimit: &tt.cfg})
			passed := 0
			w := httptest.NewRecorder()
			for l.Allow(w, from("192.0.2.1:5000")) {
				passed++
			}
			if passed != int(l.burst) {
				t.Errorf("%+v: %d passed", tt.cfg, passed)
			}
			for name, want := range map[string]string{
				"Retry-After": tt.after, "RateLimit-Policy": tt.policy, "RateLimit": tt.limited,
				"Recloser-Reason": "rate limit", "Content-Type": "application/problem+json", "Recloser-Dependency": "", "Connection": "",
			} {
				if got := w.Header().Get(name); got != want {
					t.Errorf("%s: %q, want %q", name, got, want)
				}
			}
			var p problem.Problem
			if err := json.Unmarshal(w.Body.Bytes(), &p); err != nil || w.Code != http.StatusTooManyRequests || p.Reason != "rate limit" || p.RetryAfter == 0 {
				t.Errorf("got %d %s", w.Code, w.Body)
			}
		})
	}
}

func TestBodyThatIsNotReadClosesTheConnection(t *testing.T) {
	l := New(config.RateLimit{Per: "route", Rate: 0.001, Burst: 1, Max: 10}, vtime.Real{})
	r := httptest.NewRequest(http.MethodPost, "/access", strings.NewReader("face"))
	w := httptest.NewRecorder()
	l.Allow(w, r)
	if l.Allow(w, r) || w.Header().Get("Connection") != "close" {
		t.Errorf("Connection: %q", w.Header().Get("Connection"))
	}
}

func TestNoLimit(t *testing.T) {
	for _, c := range []*config.RateLimit{nil, {Per: "client"}} {
		if l := (&Limiters{}).Of(config.Route{RateLimit: c}); l != nil || !l.Allow(nil, nil) {
			t.Errorf("%+v is a limit", c)
		}
	}
}

func TestStress(t *testing.T) {
	l := New(config.RateLimit{Per: "client", Rate: 0.001, Burst: 1000, Max: 100_000}, vtime.Real{})
	var passed [8]int
	var all sync.WaitGroup
	for i := range passed {
		all.Go(func() {
			for n := range 500 {
				if _, ok := l.Take(from("192.0.2.1:5000")); ok {
					passed[i]++
				}
				l.Take(from(fmt.Sprintf("10.0.%d.%d:1", i, n)))
			}
		})
	}
	all.Wait()
	sum := 0
	for _, n := range passed {
		sum += n
	}
	if sum != 1000 {
		t.Errorf("%d passed, want 1000", sum)
	}
}
