package admin

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/recloser-go/recloser"
	"github.com/recloser-go/recloser/gateway/internal/auth"
	"github.com/recloser-go/recloser/gateway/internal/config"
	"github.com/recloser-go/recloser/gateway/internal/ratelimit"
)

func (b *bench) wantMetrics(lines ...string) {
	b.t.Helper()
	text := b.send("GET", "/metrics", "").Body.String()
	for _, line := range lines {
		if !strings.Contains(text, "\n"+line+"\n") {
			b.t.Errorf("the metrics do not say %s", line)
		}
	}
}

// What rate limits refuse is counted: of a dependency and of a route.
func TestRefusalsOfRateLimitsAreCounted(t *testing.T) {
	limiters := &ratelimit.Limiters{}
	c, err := config.Parse("recloser.yaml", []byte(wholeConfig+"  - { path: /access, dependency: bank, rate_limit: { per: route, rate: 0.001/s, burst: 1 } }\n"))
	if err != nil {
		t.Fatal(err)
	}
	w := newWhole(t, signIn, func(o *Options) { o.Limiters, o.Config = limiters, func() *config.Config { return c } })
	viewer, admin, coast := w.token("v", auth.Viewer, ""), w.token("a", auth.Admin, ""), w.token("c", auth.Viewer, "coast")
	var d Dependency
	w.want(http.StatusCreated, &d, "POST", dependenciesPath, `{"id":"hotel-9","definition":{"url":"https://192.0.2.9","rate_limit":{"rate":"5/s","burst":7}}}`, admin)
	if d.RateLimit == nil || *d.RateLimit != (RateLimit{Rate: 5, Burst: 7}) {
		t.Errorf("rate limit %+v", d.RateLimit)
	}
	w.wantMetrics(`recloser_route_limited_total{path="/access"} 0`, `recloser_refused_total{dependency="hotel-9",reason="rate limit"} 0`, `recloser_refused_total{dependency="hotel-1",reason="rate limit"} 0`)

	limited := limiters.Of(c.Routes[1])
	for range 4 {
		limited.Allow(httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, "/access", nil))
	}
	put, _ := w.list.Get("hotel-9")
	put.Limited.Add(5)
	w.wantMetrics(`recloser_route_limited_total{path="/access"} 3`, `recloser_refused_total{dependency="hotel-9",reason="rate limit"} 5`)
	w.want(http.StatusOK, &d, "GET", dependenciesPath+"/hotel-9", "", viewer)
	if d.RateLimit == nil || d.RateLimit.Refused != 5 {
		t.Errorf("rate limit %+v", d.RateLimit)
	}
	w.want(http.StatusOK, &d, "GET", dependenciesPath+"/hotel-1", "", viewer)
	if d.RateLimit != nil {
		t.Errorf("rate limit %+v of one that has none", d.RateLimit)
	}
	var nodes NodeList
	w.want(http.StatusOK, &nodes, "GET", "/api/v1/nodes", "", viewer)
	if got := fmt.Sprint(nodes.Nodes[0].Limited); got != "map[/access:3]" {
		t.Errorf("limited %s", got)
	}
	nodes = NodeList{}
	w.want(http.StatusOK, &nodes, "GET", "/api/v1/nodes", "", coast)
	if len(nodes.Nodes[0].Limited) > 0 {
		t.Errorf("who sees one group sees the routes of all: %v", nodes.Nodes[0].Limited)
	}
	w.want(http.StatusOK, &d, "PATCH", dependenciesPath+"/hotel-9", `{"definition":{"url":"https://192.0.2.9","rate_limit":{"rate":"6/s"}}}`, admin)
	if d.RateLimit == nil || d.RateLimit.Refused != 5 {
		t.Errorf("a change of the definition forgets: %+v", d.RateLimit)
	}
}

// A dependency with a breaker for each key is one dependency to whoever counts: its
// numbers are sums, without a series for each key, and one that is dropped stays counted.
func TestKeysAreCountedTogether(t *testing.T) {
	w := newWhole(t)
	var d Dependency
	w.want(http.StatusCreated, &d, "POST", dependenciesPath, `{"id":"hotel-9","definition":{"url":"https://192.0.2.9","key":{"header":"X-Property","max":3},"breaker":{"consecutive":2}}}`)
	put, _ := w.list.Get("hotel-9")
	call := func(b *recloser.Breaker, n int, err error) {
		for range n {
			_ = b.Do(t.Context(), func(context.Context) error { return err })
		}
	}
	call(put.Breaker, 2, nil)
	for i := range 20 {
		call(put.Keys.Get(fmt.Sprint("key-", i)), 10, nil)
	}
	down := put.Keys.Get("down")
	call(down, 5, errors.New("down"))
	running, err := put.Keys.Get("key-19").Allow(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	failed := down.Stats().Failed
	w.wantMetrics(
		`recloser_calls_total{dependency="hotel-9",outcome="success"} 202`,
		fmt.Sprintf(`recloser_calls_total{dependency="hotel-9",outcome="failed"} %d`, failed),
		fmt.Sprintf(`recloser_refused_total{dependency="hotel-9",reason="open"} %d`, 5-failed),
		`recloser_transitions_total{dependency="hotel-9",reason="run",to="open"} 1`,
		fmt.Sprintf(`recloser_call_seconds_count{dependency="hotel-9"} %d`, 202+failed),
		`recloser_inflight{dependency="hotel-9"} 1`,
		`recloser_state{dependency="hotel-9",state="closed"} 1`,
		`recloser_keys{dependency="hotel-9",state="open"} 1`,
	)
	running.Done(nil)
	if text := w.send("GET", "/metrics", "").Body.String(); strings.Contains(text, "key-") {
		t.Error("a key is a label")
	}
	w.want(http.StatusOK, &d, "GET", dependenciesPath+"/hotel-9", "")
	if d.Totals.Success != 203 || d.Totals.Failed != failed || d.Refused["open"] != 5-failed || d.State != "closed" {
		t.Errorf("%+v", d)
	}
}

// What all pages show as spared is what the stream says.
func TestKeysAreSparedTogether(t *testing.T) {
	var (
		reader *Reader
		d      Dependency
	)
	w := newWhole(t, func(o *Options) { o.Pages = func(r *Reader, _, _ *http.ServeMux) { reader = r } })
	w.want(http.StatusCreated, &d, "POST", dependenciesPath, `{"id":"hotel-9","definition":{"url":"https://192.0.2.9","key":{"header":"X-Property","max":3},"breaker":{"consecutive":1}}}`)
	put, _ := w.list.Get("hotel-9")
	for range 4 {
		_ = put.Keys.Get("down").Do(t.Context(), func(context.Context) error { return errors.New("down") })
	}
	if got := reader.Spared(t.Context()); got.Calls != 3 || got.WaitMS == 0 {
		t.Errorf("%+v, want 3 calls", got)
	}
}

// The reason of the opening and the result of the last trial are two fields.
func TestLastTrialIsAFieldOfItsOwn(t *testing.T) {
	w := newWhole(t)
	hotel, _ := w.list.Get("hotel-1")
	read := func() (d Dependency) {
		w.want(http.StatusOK, &d, "GET", dependenciesPath+"/hotel-1", "")
		return d
	}
	if d := read(); d.LastTrial != nil {
		t.Errorf("%+v, and there was none", d.LastTrial)
	}
	w.trip("hotel-1")
	for _, c := range []struct {
		err          error
		result, says string
	}{{errors.New("still " + strings.Repeat("d", 300)), "bad", "still dd"}, {nil, "good", ""}} {
		hotel.Breaker.TryNow("ines", "")
		_ = hotel.Breaker.Do(t.Context(), func(context.Context) error { return c.err })
		d := read()
		if d.LastTrial == nil || d.LastTrial.Result != c.result || !strings.HasPrefix(d.LastTrial.Cause, c.says) || len([]rune(d.LastTrial.Cause)) > maxCause || d.LastTrial.At.IsZero() {
			t.Fatalf("%+v, want %s", d.LastTrial, c.result)
		}
	}
}
