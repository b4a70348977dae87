package admin

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/recloser-go/recloser"
	"github.com/recloser-go/recloser/gateway/internal/config"
	"github.com/recloser-go/recloser/gateway/internal/dependency"
)

var errDown = errors.New("connection refused")

// bench is an admin listener in front of three dependencies.
type bench struct {
	t       *testing.T
	list    *dependency.List
	handler http.Handler
	ready   bool
	log     bytes.Buffer
}

func newBench(t *testing.T) *bench {
	t.Helper()
	settings := recloser.Config{
		MinCalls: 10, Consecutive: 4, SlowCall: 2 * time.Second,
		OpenFor: 5 * time.Second, Jitter: recloser.Off,
	}
	off := recloser.Config{FailureRate: recloser.Off, Consecutive: recloser.Off}
	return newBenchOf(t,
		config.Dependency{ID: "hotel-1", Name: "Aurora Central", Group: "coast", Settings: settings, URL: parsed(t, "https://guest:s3cret@api.hotel-1.example/v1")},
		config.Dependency{ID: "hotel-2", Name: "Harbour <Suites> & Sons", Group: "coast", Settings: settings, URL: parsed(t, "https://api.hotel-2.example")},
		config.Dependency{ID: "bank", Name: "bank", Settings: off, URL: parsed(t, "https://bank.example")},
	)
}

func newBenchOf(t *testing.T, dependencies ...config.Dependency) *bench {
	t.Helper()
	for i := range dependencies {
		dependencies[i].Bulkhead = 1024
	}
	list, err := dependency.Maker{}.NewList(dependencies)
	if err != nil {
		t.Fatal(err)
	}
	b := &bench{t: t, list: list, ready: true}
	b.handler = New(Options{
		Dependencies: list,
		Version:      "v1.2.3",
		Node:         "gateway-1",
		Ready:        func() bool { return b.ready },
		Log:          slog.New(slog.NewTextHandler(&b.log, nil)),
		Hosts:        []string{"Gateway.example"},
	})
	return b
}

func parsed(t *testing.T, text string) *url.URL {
	t.Helper()
	u, err := url.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return u
}

// breaker returns the breaker of a dependency.
func (b *bench) breaker(id string) *recloser.Breaker {
	b.t.Helper()
	d, ok := b.list.Get(id)
	if !ok {
		b.t.Fatalf("no dependency %s", id)
	}
	return d.Breaker
}

// calls makes n calls that end with end.
func (b *bench) calls(id string, n int, end error) {
	b.t.Helper()
	for range n {
		err := b.breaker(id).Do(b.t.Context(), func(context.Context) error { return end })
		if !errors.Is(err, end) {
			b.t.Fatalf("call of %s: %v, want %v", id, err, end)
		}
	}
}

// trip opens a breaker by the run rule.
func (b *bench) trip(id string) {
	b.t.Helper()
	b.calls(id, 4, errDown)
	if s := b.breaker(id).State(); s != recloser.Open {
		b.t.Fatalf("%s is %s after four failures, want open", id, s)
	}
}

// send makes a request as curl on this machine would. A body means JSON.
func (b *bench) send(method, path, body string, change ...func(*http.Request)) *httptest.ResponseRecorder {
	b.t.Helper()
	r := httptest.NewRequestWithContext(b.t.Context(), method, path, strings.NewReader(body))
	r.Host = "localhost:8081"
	r.RemoteAddr = "127.0.0.1:50000"
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	for _, c := range change {
		c(r)
	}
	w := httptest.NewRecorder()
	b.handler.ServeHTTP(w, r)
	return w
}

// want sends a request, checks the answer's status and reads its JSON into out.
func (b *bench) want(status int, out any, method, path, body string, change ...func(*http.Request)) {
	b.t.Helper()
	w := b.send(method, path, body, change...)
	if w.Code != status {
		b.t.Fatalf("%s %s: status %d, want %d: %s", method, path, w.Code, status, w.Body)
	}
	kind := "application/json"
	if status >= 400 {
		kind = "application/problem+json"
	}
	if got := w.Header().Get("Content-Type"); got != kind {
		b.t.Errorf("%s %s: Content-Type %q, want %q", method, path, got, kind)
	}
	if err := json.Unmarshal(w.Body.Bytes(), out); err != nil {
		b.t.Fatalf("%s %s: %v: %s", method, path, err, w.Body)
	}
}

// failure is what the tests look at of a problem.
type failure struct {
	Title, Detail string
	Status        int
	Errors        []struct{ Message, Location string }
	Current       *Dependency
}

// wantProblem is want for a problem whose detail has that text.
func (b *bench) wantProblem(status int, detail, method, path, body string, change ...func(*http.Request)) failure {
	b.t.Helper()
	var f failure
	b.want(status, &f, method, path, body, change...)
	if f.Status != status || f.Title != http.StatusText(status) || !strings.Contains(f.Detail, detail) {
		b.t.Errorf("%s %s: problem %+v, want status %d and a detail with %q", method, path, f, status, detail)
	}
	return f
}

func header(name, value string) func(*http.Request) {
	return func(r *http.Request) { r.Header.Set(name, value) }
}

func host(name string) func(*http.Request) {
	return func(r *http.Request) { r.Host = name }
}
