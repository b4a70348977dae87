package admin

import (
	"net/http"
	"strings"
	"testing"

	"github.com/recloser-go/recloser"
)

func TestStartTrial(t *testing.T) {
	b := newBench(t)
	const path = "/api/v1/dependencies/hotel-1/trial"
	f := b.wantProblem(http.StatusConflict, "is not open but closed", "POST", path, "{}")
	if f.Current == nil || f.Current.State != "closed" {
		t.Errorf("current %+v, want the closed dependency", f.Current)
	}
	b.trip("hotel-1")
	var d Dependency
	b.want(http.StatusOK, &d, "POST", path, `{"by":"ines","reason":"they say it is mended"}`)
	if d.State != "half-open" || d.Reason != "early" {
		t.Errorf("state %s, reason %q; want half-open, early", d.State, d.Reason)
	}
}

func TestReset(t *testing.T) {
	b := newBench(t)
	b.trip("hotel-1")
	var d Dependency
	b.want(http.StatusOK, &d, "POST", resetOfHotel1, "", header("Content-Type", "application/json"))
	if d.State != "closed" || d.Reason != "reset" || d.Window.Judged != 0 {
		t.Errorf("state %s, reason %q, %d calls in the window; want closed, reset, none", d.State, d.Reason, d.Window.Judged)
	}
	if !strings.Contains(b.log.String(), "act=reset dependency=hotel-1") {
		t.Errorf("log %q", b.log.String())
	}
}

// G22, second half: nothing that reads changes anything, and no act is a GET.
func TestGetChangesNothing(t *testing.T) {
	b := newBench(t)
	b.trip("hotel-2")
	before := b.breaker("hotel-1").Stats()
	for _, path := range []string{
		"/api/v1/dependencies", "/api/v1/dependencies/hotel-1", "/metrics", "/healthz", "/readyz", "/version", "/openapi.json",
	} {
		if w := b.send("GET", path, ""); w.Code != http.StatusOK {
			t.Errorf("GET %s: %d", path, w.Code)
		}
	}
	for path, allowed := range map[string]string{"override": "DELETE, PUT", "trial": "POST", "reset": "POST"} {
		for _, id := range []string{"hotel-1", "hotel-2"} {
			target := "/api/v1/dependencies/" + id + "/" + path
			b.wantProblem(http.StatusMethodNotAllowed, "GET is not possible here, only "+allowed, "GET", target, "")
		}
	}
	after := b.breaker("hotel-1").Stats()
	if after.Seq != before.Seq || after.State != before.State || after.InFlight != before.InFlight || after.Window != before.Window {
		t.Errorf("%+v became %+v", before, after)
	}
	if s := b.breaker("hotel-2").State(); s != recloser.Open {
		t.Errorf("hotel-2 is %s, want open", s)
	}
}
