package admin

import (
	"net/http"
	"testing"

	"github.com/recloser-go/recloser"
)

const resetOfHotel1 = "/api/v1/dependencies/hotel-1/reset"

const isolate = `{"mode":"isolated","no_expiry":true,"reason":"x"}`

// G22, first half.
func TestForeignOriginIsRefused(t *testing.T) {
	b := newBench(t)
	for _, tt := range []struct {
		name   string
		change func(*http.Request)
	}{
		{"another site", header("Sec-Fetch-Site", "cross-site")},
		{"another subdomain", header("Sec-Fetch-Site", "same-site")},
		{"an old browser", header("Origin", "https://evil.example")},
		{"another port of this machine", header("Origin", "http://localhost:3000")},
		{"no origin at all", header("Origin", "null")},
	} {
		t.Run(tt.name, func(t *testing.T) {
			for _, act := range []struct{ method, path, body string }{
				{"PUT", "override", isolate},
				{"DELETE", "override", ""},
				{"POST", "trial", "{}"},
				{"POST", "reset", "{}"},
				{"POST", "trial", ""},
				{"POST", "reset", ""},
			} {
				b.wantProblem(http.StatusForbidden, "another site", act.method, "/api/v1/dependencies/hotel-1/"+act.path, act.body, tt.change)
			}
		})
	}
	if s := b.breaker("hotel-1").State(); s != recloser.Closed {
		t.Fatalf("a refused act made it %s", s)
	}
	var d Dependency
	b.want(http.StatusOK, &d, "PUT", overrideOfHotel1, isolate, header("Origin", "http://localhost:8081"))
	b.want(http.StatusOK, &d, "PUT", overrideOfHotel1, isolate, header("Sec-Fetch-Site", "same-origin"))
}

func TestForeignHostIsRefused(t *testing.T) {
	b := newBench(t)
	for name, status := range map[string]int{
		"localhost":               http.StatusOK,
		"localhost:8081":          http.StatusOK,
		"LOCALHOST.:8081":         http.StatusOK,
		"127.0.0.1":               http.StatusOK,
		"127.8.9.10:80":           http.StatusOK,
		"[::1]:8081":              http.StatusOK,
		"[::1]":                   http.StatusOK,
		"[::ffff:127.0.0.1]:8081": http.StatusOK,
		"gateway.example:8081":    http.StatusOK,
		"evil.example":            http.StatusForbidden,
		"localhost.evil.example":  http.StatusForbidden,
		"127.0.0.1.evil.example":  http.StatusForbidden,
		"10.0.0.1:8081":           http.StatusForbidden,
		"":                        http.StatusForbidden,
	} {
		for _, path := range []string{"/api/v1/dependencies", "/metrics", "/nowhere"} {
			want := status
			if path == "/nowhere" && status == http.StatusOK {
				want = http.StatusNotFound
			}
			if w := b.send("GET", path, "", host(name)); w.Code != want {
				t.Errorf("host %q, %s: %d, want %d", name, path, w.Code, want)
			}
		}
	}
	b.wantProblem(http.StatusForbidden, "evil.example", "GET", "/version", "", host("evil.example"))
}

func TestActsMustBeJSON(t *testing.T) {
	b := newBench(t)
	for _, kind := range []string{"", "text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x", "application/jsonx"} {
		b.wantProblem(http.StatusUnsupportedMediaType, "application/json", "PUT", overrideOfHotel1, isolate, header("Content-Type", kind))
		b.wantProblem(http.StatusUnsupportedMediaType, "application/json", "POST", resetOfHotel1, "{}", header("Content-Type", kind))
		if kind != "" { // the empty form of an old browser
			b.wantProblem(http.StatusUnsupportedMediaType, "application/json", "POST", resetOfHotel1, "", header("Content-Type", kind))
		}
	}
	b.wantProblem(http.StatusUnsupportedMediaType, "application/json", "POST", resetOfHotel1, "", unknownLength)
	b.wantProblem(http.StatusBadRequest, "body", "PUT", overrideOfHotel1, "")
	b.wantProblem(http.StatusBadRequest, "query", "DELETE", overrideOfHotel1, `{"reason":"x"}`)
	if s := b.breaker("hotel-1").Stats(); s.Seq != 0 {
		t.Fatalf("a refused act changed the dependency: %+v", s)
	}
	b.want(http.StatusOK, new(Dependency), "PUT", overrideOfHotel1, isolate, header("Content-Type", "application/json; charset=utf-8"))
}

// All that an act without a body could say may be left out.
func TestActsWithoutBody(t *testing.T) {
	b := newBench(t)
	b.trip("hotel-1")
	var d Dependency
	b.want(http.StatusOK, &d, "POST", "/api/v1/dependencies/hotel-1/trial", "")
	if d.State != "half-open" {
		t.Errorf("after the trial's start: %s, want half-open", d.State)
	}
	b.want(http.StatusOK, &d, "POST", resetOfHotel1, "")
	if d.State != "closed" {
		t.Errorf("after the reset: %s, want closed", d.State)
	}
}

// unknownLength is a body that comes in chunks.
func unknownLength(r *http.Request) { r.ContentLength = -1 }
