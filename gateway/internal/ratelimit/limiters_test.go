package ratelimit

import (
	"net/http/httptest"
	"testing"

	"github.com/recloser-go/recloser/gateway/internal/config"
)

// A reload gives nobody new tokens, and what was refused stays counted, also under
// another limit.
func TestLimitersOutliveAReload(t *testing.T) {
	route := func(rate float64) config.Route {
		return config.Route{Path: "/access", RateLimit: &config.RateLimit{Per: "client", Rate: rate, Burst: 1, Max: 10}}
	}
	var s Limiters
	ask := func(l *Limiter) bool { return l.Allow(httptest.NewRecorder(), from("192.0.2.1:5000")) }
	if !ask(s.Of(route(0.001))) || ask(s.Of(route(0.001))) {
		t.Error("the same route has another limiter")
	}
	if n := s.Refused("/access"); n != 1 {
		t.Errorf("%d refused, want 1", n)
	}
	other := s.Of(route(0.002))
	if !ask(other) || ask(other) {
		t.Error("the new limit is not in force")
	}
	if n := s.Refused("/access"); n != 2 {
		t.Errorf("%d refused, want 2", n)
	}
	s.Keep([]config.Route{{Path: "/other"}, route(0.002)})
	if s.Of(route(0.002)) != other {
		t.Error("a limiter was forgotten whose route is still there")
	}
	s.Keep([]config.Route{{Path: "/other"}})
	if s.Of(route(0.002)) == other || s.Refused("/access") != 0 {
		t.Error("the limiter of a route that was away is still there")
	}
	if s.Of(config.Route{Path: "/access"}) != nil || s.Refused("/access") != 0 || s.Refused("/other") != 0 {
		t.Error("something is left of a limit that is gone")
	}
}
