package admin

import (
	"net/http"
	"runtime"
	"strings"
	"testing"
	"time"
)

// The checks are about the gateway alone: with every breaker open it is well.
func TestHealthWithEveryBreakerOpen(t *testing.T) {
	b := newBench(t)
	for _, d := range b.list.All() {
		if err := d.Breaker.Isolate("test", "x", time.Time{}); err != nil {
			t.Fatal(err)
		}
	}
	for _, path := range []string{"/healthz", "/readyz"} {
		if w := b.send("GET", path, ""); w.Code != http.StatusOK || w.Body.String() != "ok\n" {
			t.Errorf("%s: %d %q, want 200 ok", path, w.Code, w.Body)
		}
	}
}

func TestReadiness(t *testing.T) {
	b := newBench(t)
	b.ready = false
	b.wantProblem(http.StatusServiceUnavailable, "not ready", "GET", "/readyz", "")
	if w := b.send("GET", "/healthz", ""); w.Code != http.StatusOK {
		t.Errorf("/healthz of a gateway that is not ready: %d, want 200", w.Code)
	}
}

func TestVersion(t *testing.T) {
	b := newBench(t)
	var v Version
	b.want(http.StatusOK, &v, "GET", "/version", "")
	if want := (Version{Version: "v1.2.3", Go: runtime.Version()}); v != want {
		t.Errorf("%+v, want %+v", v, want)
	}
}

func TestMetrics(t *testing.T) {
	b := newBench(t)
	b.trip("hotel-2")
	body := b.send("GET", "/metrics", "").Body.String()
	for _, line := range []string{
		`recloser_state{dependency="hotel-1",state="closed"} 1`,
		`recloser_state{dependency="hotel-2",state="open"} 1`,
		`recloser_transitions_total{dependency="hotel-2",reason="run",to="open"} 1`,
		`recloser_calls_total{dependency="bank",outcome="failed"} 0`,
	} {
		if !strings.Contains(body, line+"\n") {
			t.Errorf("no line %s", line)
		}
	}
	for _, name := range []string{"go_goroutines", "process_open_fds"} {
		if !strings.Contains(body, "\n"+name+" ") {
			t.Errorf("no metric %s", name)
		}
	}
}
