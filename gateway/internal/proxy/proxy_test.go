package proxy_test

import (
	"net/http"
	"net/url"
	"testing"
	"testing/synctest"
	"time"

	"github.com/recloser-go/recloser/gateway/gatewaytest"
	"github.com/recloser-go/recloser/gateway/internal/config"
)

func TestRequestReachesTheDependency(t *testing.T) {
	tests := []struct {
		base, path, want string
	}{
		{"http://hotel-1.example/v1", "/hotels/hotel-1/access/42?guest=7&x=%2F", "/v1/access/42?guest=7&x=%2F"},
		{"http://hotel-1.example/v1/", "/hotels/hotel-1/access", "/v1/access"},
		{"http://hotel-1.example", "/hotels/hotel-1/access", "/access"},
		{"http://hotel-1.example/v1", "/hotels/hotel-1", "/v1"},
		{"http://hotel-1.example/v1/", "/hotels/hotel-1/", "/v1/"},
		{"http://hotel-1.example/v1", "/hotels/hotel-1/a%2Fb//c%20d/", "/v1/a%2Fb//c%20d/"},
		{"http://hotel-1.example/a%2Fb", "/hotels/hotel-1/c", "/a%2Fb/c"},
		{"http://hotel-1.example/a%2Fb|c", "/hotels/hotel-1/c", "/a%2Fb%7Cc/c"},
		{"http://hotel-1.example/v1?key=1", "/hotels/hotel-1/access?guest=7", "/v1/access?key=1&guest=7"},
		{"http://hotel-1.example/v1", "/hotels/hotel-1/access?a=1;b=2&c=%zz", "/v1/access?a=1;b=2&c=%zz"},
	}
	for _, tt := range tests {
		t.Run(tt.path, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var got *http.Request
				b := newBench(t, func(_ http.ResponseWriter, r *http.Request) { got = r }, func(d *config.Dependency, _ *config.Route) {
					d.URL, _ = url.Parse(tt.base)
				})
				if a := b.get(tt.path); a.status != 200 || a.err != nil {
					t.Fatalf("got %+v", a)
				}
				if got.RequestURI != tt.want || got.Host != "hotel-1.example" {
					t.Errorf("reached %s%s, want %s", got.Host, got.RequestURI, tt.want)
				}
			})
		})
	}
}

func TestRouteWithOneDependency(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, gatewaytest.Yes(), func(_ *config.Dependency, r *config.Route) { r.Dependency = "hotel-1" })
		if a := b.get("/hotels/something-else/access"); a.status != 200 || b.hotel.Calls() != 1 {
			t.Errorf("got %+v, %d calls", a, b.hotel.Calls())
		}
	})
}

func TestG21_ForwardedHeadersAreOurs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var got http.Header
		b := newBench(t, func(_ http.ResponseWriter, r *http.Request) { got = r.Header })
		b.send(t.Context(), http.MethodGet, "/hotels/hotel-1/", nil,
			"X-Forwarded-For", "1.2.3.4", "X-Forwarded-Proto", "https", "X-Forwarded-Host", "evil.example",
			"X-Forwarded-Port", "1", "X-Real-Ip", "1.2.3.4", "Forwarded", "for=1.2.3.4",
			"Connection", "X-Forwarded-For, X-Forwarded-Host, X-Hop", "X-Hop", "1", "X-Guest", "7")
		want := map[string]string{
			"X-Forwarded-For": "192.0.2.1", "X-Forwarded-Proto": "http", "X-Forwarded-Host": "gateway.example", "X-Guest": "7",
			"X-Forwarded-Port": "", "X-Real-Ip": "", "Forwarded": "", "X-Hop": "",
		}
		for key, value := range want {
			if got.Get(key) != value {
				t.Errorf("%s: %q, want %q", key, got.Get(key), value)
			}
		}
	})
}

func TestNoResponse(t *testing.T) {
	tests := []struct {
		name      string
		path      string
		behaviour gatewaytest.Behaviour
		status    int
		reason    string
		took      time.Duration
	}{
		{"hangs", "/hotels/hotel-1/", gatewaytest.Hang(), http.StatusGatewayTimeout, "timeout", 3 * time.Second},
		{"refuses", "/hotels/hotel-1/", gatewaytest.Refuse(), http.StatusBadGateway, "failed", 0},
		{"unknown", "/hotels/hotel-2/", gatewaytest.Yes(), http.StatusNotFound, "", 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBench(t, tt.behaviour)
				a := b.get(tt.path)
				if a.status != tt.status || a.problem.Status != tt.status || a.problem.Reason != tt.reason || a.took != tt.took {
					t.Errorf("got %+v, want status %d, reason %q after %s", a, tt.status, tt.reason, tt.took)
				}
				if tt.reason != "" && (a.header.Get("Recloser-Dependency") != "hotel-1" || a.problem.Dependency != "hotel-1") {
					t.Errorf("does not say which dependency: %+v", a)
				}
				synctest.Wait()
				if n := b.hotel.Running(); n != 0 {
					t.Errorf("%d calls still run at the dependency", n)
				}
			})
		})
	}
}

func TestTheShorterTimeoutCounts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, gatewaytest.Hang(), func(d *config.Dependency, _ *config.Route) { d.Timeout = time.Second })
		if a := b.get("/hotels/hotel-1/"); a.status != http.StatusGatewayTimeout || a.took != time.Second {
			t.Errorf("got %+v", a)
		}
		if s := b.breaker.Stats(); s.Failed != 1 {
			t.Errorf("%d failed, want 1: our deadline is the dependency's failure", s.Failed)
		}
	})
}

// Only the gateway says what only a gateway can know.
func TestGatewaysOwnHeadersAreItsOwn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var got http.Header
		b := newBench(t, func(w http.ResponseWriter, r *http.Request) {
			got = r.Header
			w.Header().Set("Recloser-Reason", "open")
			w.Header().Set("Recloser-Last-Known", "7")
			w.Header().Set("X-Room", "7")
		})
		a := b.send(t.Context(), http.MethodGet, "/hotels/hotel-1/", nil, "Recloser-Dependency", "hotel-9", "Via", "1.1 evil", "X_Forwarded_For", "1.2.3.4")
		if a.header.Get("Recloser-Reason")+a.header.Get("Recloser-Last-Known") != "" || a.header.Get("X-Room") != "7" {
			t.Errorf("the client got %v", a.header)
		}
		if got.Get("Recloser-Dependency")+got.Get("Via")+got.Get("X_forwarded_for") != "" {
			t.Errorf("the dependency got %v", got)
		}
	})
}
