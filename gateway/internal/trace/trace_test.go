package trace_test

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/recloser-go/recloser/gateway/gatewaytest"
	"github.com/recloser-go/recloser/gateway/internal/config"
	"github.com/recloser-go/recloser/gateway/internal/dependency"
	"github.com/recloser-go/recloser/guard"
	"github.com/recloser-go/recloser/internal/eventually"
)

const (
	theirTrace = "4bf92f3577b34da6a3ce929d0e0e4736"
	theirSpan  = "00f067aa0ba902b7"
	theirs     = "00-" + theirTrace + "-" + theirSpan + "-01"
)

// heard is a dependency that keeps the headers of its last request.
func heard(into *http.Header) gatewaytest.Behaviour {
	return func(w http.ResponseWriter, r *http.Request) {
		*into = r.Header.Clone()
		gatewaytest.Yes()(w, r)
	}
}

// A call is a span with one of its attempt in it, part of the trace that the caller
// names; the dependency is told.
func TestCall(t *testing.T) {
	var got http.Header
	b := traced(t, asIs, heard(&got))
	b.call("/hotels/hotel-1/guests/17?name=secret", http.StatusOK, "Traceparent", theirs, "Tracestate", "vendor=1")
	servers, clients, others := b.spans()
	if len(servers) != 1 || len(clients) != 1 || len(others) != 0 {
		t.Fatalf("%d, %d and %d spans", len(servers), len(clients), len(others))
	}
	server, client := servers[0], clients[0]
	if fmt.Sprintf("%x %x", server.TraceId, server.ParentSpanId) != theirTrace+" "+theirSpan || !bytes.Equal(client.TraceId, server.TraceId) || !bytes.Equal(client.ParentSpanId, server.SpanId) {
		t.Errorf("they do not hang together: %v, %v", server, client)
	}
	if want := fmt.Sprintf("00-%s-%x-01", theirTrace, client.SpanId); got.Get("Traceparent") != want || got.Get("Tracestate") != "vendor=1" {
		t.Errorf("the dependency was told %v, want %s", got, want)
	}
	if want := "http.request.method=GET,http.response.status_code=200,http.route=/hotels/{dependency}/*,recloser.breaker.state=closed,recloser.dependency=hotel-1,recloser.outcome=passed"; server.Name != "GET /hotels/{dependency}/*" || server.attributes != want {
		t.Errorf("%s: %s", server.Name, server.attributes)
	}
	if want := "http.request.method=GET,http.response.status_code=200,recloser.breaker.state=closed,recloser.dependency=hotel-1,recloser.outcome=good,server.address=127.0.0.1,server.port=*"; client.Name != "GET" || client.attributes != want {
		t.Errorf("%s: %s", client.Name, client.attributes)
	}
	if text := server.String() + client.String(); strings.Contains(text, "secret") || strings.Contains(text, "17") && strings.Contains(text, "guests") {
		t.Errorf("who the guest is stands in it: %s", text)
	}
}

// The call that trips has it as an event, one that is refused says why; the transition
// is a span of its own.
func TestTripAndRefusal(t *testing.T) {
	b := traced(t, asIs, gatewaytest.Answer(http.StatusInternalServerError, "sorry"))
	for range 3 {
		b.call("/hotels/hotel-1/x", http.StatusInternalServerError)
	}
	b.call("/hotels/hotel-1/x", http.StatusServiceUnavailable)
	eventually.True(t, patience, func() bool { return b.heard.Load() == 1 }, "the transition to be told")
	servers, clients, others := b.spans()
	if len(servers) != 4 || len(clients) != 3 || len(others) != 1 {
		t.Fatalf("%d, %d and %d spans", len(servers), len(clients), len(others))
	}
	for i, want := range []string{"", "", "recloser.trip dependency=hotel-1,reason=run"} {
		if got := strings.Join(servers[i].events, ";"); got != want || !strings.Contains(servers[i].attributes, "recloser.outcome=passed") || servers[i].Status.GetCode() != 2 {
			t.Errorf("call %d: events %q, want %q; %s, %v", i+1, got, want, servers[i].attributes, servers[i].Status)
		}
		if got := clients[i].attributes; !strings.Contains(got, "recloser.outcome=failed") || !strings.Contains(got, "error.type=500") {
			t.Errorf("attempt %d: %s", i+1, got)
		}
	}
	last := servers[3]
	if got := strings.Join(last.events, ";"); !strings.HasPrefix(got, "recloser.refused dependency=hotel-1,reason=open,retry_after=") {
		t.Errorf("events %q", got)
	}
	if want := "recloser.breaker.state=open,recloser.dependency=hotel-1,recloser.outcome=refused,recloser.refused=open"; !strings.HasSuffix(last.attributes, want) {
		t.Errorf("%s, want %s", last.attributes, want)
	}
	if got := others[0]; got.Name != "recloser.transition" || !strings.Contains(got.attributes, "dependency=hotel-1,from=closed,reason=run,to=open") {
		t.Errorf("%s: %s", got.Name, got.attributes)
	}
}

// A call that takes no tick of the breakers' clock trips as others do.
func TestQuickTrips(t *testing.T) {
	const hotels = 8
	b := traced(t, func(d *config.Dependency) { d.Settings.Consecutive = 1 }, slices.Repeat([]gatewaytest.Behaviour{gatewaytest.Answer(http.StatusInternalServerError, "sorry")}, hotels)...)
	for i := range hotels {
		b.call(fmt.Sprintf("/hotels/hotel-%d/x", i+1), http.StatusInternalServerError)
	}
	servers, _, _ := b.spans()
	if len(servers) != hotels {
		t.Fatalf("%d spans, want %d", len(servers), hotels)
	}
	for _, s := range servers {
		if len(s.events) != 1 || !strings.HasPrefix(s.events[0], "recloser.trip ") {
			t.Errorf("%s: events %q, want that it trips", s.attributes, s.events)
			continue
		}
		if at := s.Events[0].TimeUnixNano; at < s.StartTimeUnixNano || at > s.EndTimeUnixNano {
			t.Errorf("%s: it trips outside of the span", s.attributes)
		}
	}
}

// Each attempt is a span, and says which it is.
func TestRetries(t *testing.T) {
	b := traced(t, func(d *config.Dependency) {
		d.Retry = guard.Retry{Attempts: 2, Backoff: time.Millisecond, MaxBackoff: time.Millisecond, Budget: 1, Floor: 10}
	},
		gatewaytest.InTurn(gatewaytest.Answer(http.StatusServiceUnavailable, "later"), gatewaytest.Yes()))
	b.call("/hotels/hotel-1/x", http.StatusOK)
	servers, clients, _ := b.spans()
	if len(servers) != 1 || len(clients) != 2 {
		t.Fatalf("%d and %d spans", len(servers), len(clients))
	}
	if first, second := clients[0].attributes, clients[1].attributes; !strings.Contains(first, "status_code=503") || strings.Contains(first, "resend") ||
		!strings.Contains(second, "http.request.resend_count=1,http.response.status_code=200") {
		t.Errorf("%s\n%s", first, second)
	}
	for _, c := range clients {
		if !bytes.Equal(c.ParentSpanId, servers[0].SpanId) {
			t.Error("an attempt is of another call")
		}
	}
}

// An ask has a span for each member that it calls, and an event for each that is cut off.
func TestAsk(t *testing.T) {
	var got http.Header
	b := traced(t, asIs, gatewaytest.No(), heard(&got), gatewaytest.No())
	third, _ := b.deps.Get("hotel-3")
	if err := third.Breaker.Isolate("mira", "new lift", time.Time{}); err != nil {
		t.Fatal(err)
	}
	b.call("/access", http.StatusOK, "Traceparent", theirs)
	servers, clients, _ := b.spans()
	if len(servers) != 1 || len(clients) != 2 {
		t.Fatalf("%d and %d spans", len(servers), len(clients))
	}
	ask := servers[0]
	if ask.Name != "GET /access" || ask.attributes != "http.request.method=GET,http.response.status_code=200,http.route=/access" {
		t.Errorf("%s: %s", ask.Name, ask.attributes)
	}
	if text := strings.Join(ask.events, ";"); text != "recloser.refused dependency=hotel-3,reason=isolated,state=isolated" {
		t.Errorf("events %q", text)
	}
	for _, c := range clients {
		if !bytes.Equal(c.ParentSpanId, ask.SpanId) {
			t.Errorf("%s is no part of the ask", c.attributes)
		}
	}
	if !strings.HasPrefix(got.Get("Traceparent"), "00-"+theirTrace+"-") || strings.Contains(got.Get("Traceparent"), theirSpan) {
		t.Errorf("a member was told %v", got)
	}
}

// What is not sampled is not sent, but the dependency is told of it all the same.
func TestSample(t *testing.T) {
	var got http.Header
	c := newCollector(t)
	b := newBench(t, to(t, c.URL, 1e-6), asIs, heard(&got)) // one in a million
	b.collector = c
	b.call("/hotels/hotel-1/x", http.StatusOK)
	if h := got.Get("Traceparent"); len(h) != len(theirs) || !strings.HasSuffix(h, "-00") {
		t.Errorf("of a call without a trace the dependency was told %q", h)
	}
	b.call("/hotels/hotel-1/x", http.StatusOK, "Traceparent", strings.TrimSuffix(theirs, "1")+"0")
	if h := got.Get("Traceparent"); !strings.HasPrefix(h, "00-"+theirTrace) || !strings.HasSuffix(h, "-00") {
		t.Errorf("of a call that is not sampled the dependency was told %q", h)
	}
	b.call("/hotels/hotel-1/x", http.StatusOK, "Traceparent", theirs)
	b.hotels[0].Now(gatewaytest.Answer(500, "sorry"))
	for range 3 {
		b.call("/hotels/hotel-1/x", http.StatusInternalServerError)
	}
	eventually.True(t, patience, func() bool { return b.heard.Load() == 1 }, "the transition to be told")
	servers, clients, others := b.spans()
	if len(servers) != 1 || len(clients) != 1 || fmt.Sprintf("%x", servers[0].TraceId) != theirTrace {
		t.Errorf("%d and %d spans, want those of the call that is sampled", len(servers), len(clients))
	}
	if len(others) != 1 {
		t.Errorf("%d transitions, want one: none is left out", len(others))
	}
}

// Off, nothing is between caller and dependency.
func TestOff(t *testing.T) {
	var got http.Header
	b := newBench(t, nil, asIs, heard(&got))
	b.call("/hotels/hotel-1/x", http.StatusOK, "Traceparent", theirs, "Tracestate", "vendor=1")
	if got.Get("Traceparent") != theirs || got.Get("Tracestate") != "vendor=1" {
		t.Errorf("the dependency was told %v", got)
	}
	b.call("/access", http.StatusOK, "Traceparent", theirs)
	if got.Get("Traceparent") != theirs {
		t.Errorf("a member was told %v", got)
	}
	h := http.NewServeMux()
	d, _ := b.deps.Get("hotel-1")
	if b.tracer.Handler(h) != http.Handler(h) || b.tracer.Transport(d, d.Transport) != d.Transport || b.tracer.Stop(t.Context()) != nil {
		t.Error("something is there")
	}
}

// The value of a key may be a person's, and stands in no span.
func TestKeysAreNotTold(t *testing.T) {
	b := traced(t, func(d *config.Dependency) { d.Key = &config.Key{Header: "X-Guest", Max: 10} }, gatewaytest.Answer(500, "sorry"))
	for range 3 {
		b.call("/hotels/hotel-1/x", http.StatusInternalServerError, "X-Guest", "mira")
	}
	b.call("/hotels/hotel-1/x", http.StatusServiceUnavailable, "X-Guest", "mira")
	servers, clients, others := b.spans()
	if len(servers) != 4 || len(clients) != 3 || len(others) != 0 || len(servers[3].events) != 1 {
		t.Fatalf("%d, %d and %d spans", len(servers), len(clients), len(others))
	}
	for _, s := range append(servers, clients...) {
		if strings.Contains(s.String(), "mira") {
			t.Errorf("%s", s)
		}
	}
}

// What is between leaves requests, connections and what can be done with them as they are.
func TestNothingElseChanges(t *testing.T) {
	b := traced(t, asIs, gatewaytest.Switch("echo"))
	d, _ := b.deps.Get("hotel-1")
	var sent *http.Request
	transport := b.tracer.Transport(d, roundTrip(func(r *http.Request) (*http.Response, error) {
		sent = r
		return &http.Response{StatusCode: http.StatusOK, Body: http.NoBody, Request: r}, nil
	}))
	for _, header := range []string{theirs, strings.TrimSuffix(theirs, "1") + "0"} {
		b.tracer.Handler(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			req, err := http.NewRequestWithContext(r.Context(), http.MethodGet, "http://hotel-1.example/", nil)
			if err != nil {
				t.Error(err)
				return
			}
			resp, err := transport.RoundTrip(req)
			if err != nil || resp.Request != req || len(req.Header) != 0 || sent.Header.Get("Traceparent") == "" {
				t.Errorf("%v, of %p with %v; want %p unchanged", err, resp.Request, req.Header, req)
			}
		})).ServeHTTP(httptest.NewRecorder(), withHeader(t, header))
	}
	b.call("/hotels/hotel-1/x", http.StatusSwitchingProtocols, "Connection", "upgrade", "Upgrade", "echo")
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func withHeader(t *testing.T, traceparent string) *http.Request {
	r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", nil)
	r.Header.Set("Traceparent", traceparent)
	return r
}

// An answer that breaks off has failed, whatever its status.
func TestBrokenOff(t *testing.T) {
	b := traced(t, asIs, gatewaytest.BreakOff(10))
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, b.gateway.URL+"/hotels/hotel-1/x", nil)
	if err != nil {
		t.Fatal(err)
	}
	if resp, err := http.DefaultTransport.RoundTrip(r); err == nil {
		_, _ = io.Copy(io.Discard, resp.Body)
		_ = resp.Body.Close()
	}
	servers, _, _ := b.spans()
	if len(servers) != 1 || !strings.Contains(servers[0].attributes, "recloser.outcome=failed") || servers[0].Status.GetCode() != 2 {
		t.Errorf("%v", servers)
	}
}

// What becomes of calls that get no answer.
func TestNoAnswer(t *testing.T) {
	for name, tt := range map[string]struct {
		behaviour    gatewaytest.Behaviour
		change       func(*config.Dependency)
		status       int
		call, client string
	}{
		"timeout": {gatewaytest.Hang(), func(d *config.Dependency) { d.AttemptTimeout, d.Settings.SlowCall = 50*time.Millisecond, time.Second }, 504, "outcome=failed", "error.type=timeout"},
		"broken":  {gatewaytest.Refuse(), asIs, 502, "outcome=failed", "error.type=broken"},
		"released": {
			gatewaytest.Hang(), func(d *config.Dependency) { d.Settings.Consecutive, d.Settings.SlowCall = 1, 50*time.Millisecond }, 503,
			"outcome=refused,recloser.refused=released", "error.type=released",
		},
		"slow": {
			gatewaytest.Slow(60*time.Millisecond, gatewaytest.Yes()), func(d *config.Dependency) { d.Settings.SlowCall = 20 * time.Millisecond }, 200, "outcome=passed", "outcome=slow",
		},
	} {
		t.Run(name, func(t *testing.T) {
			b := traced(t, tt.change, tt.behaviour)
			look(t, b.deps)
			b.call("/hotels/hotel-1/x", tt.status)
			b.clients(1)
			servers, clients, _ := b.spans()
			if len(servers) != 1 || len(clients) != 1 || !strings.Contains(servers[0].attributes, tt.call) {
				t.Errorf("calls %v", servers)
			}
			for _, c := range clients {
				if !strings.Contains(c.attributes, tt.client) {
					t.Errorf("attempt %s", c.attributes)
				}
			}
		})
	}
}

// Who has nothing called has no outcome, and was not sent to anybody.
func TestNothingCalled(t *testing.T) {
	b := traced(t, asIs, gatewaytest.Yes())
	b.sends("/hotels/hotel-1/x", bytes.Repeat([]byte("a"), mostBody+1), http.StatusRequestEntityTooLarge)
	servers, clients, _ := b.spans()
	if want := "http.request.method=POST,http.response.status_code=413,http.route=/hotels/{dependency}/*"; len(servers) != 1 || len(clients) != 0 || servers[0].attributes != want {
		t.Errorf("%v, %v; want %s alone", servers, clients, want)
	}
}

// look calls Check from a ticker, as the gateway does.
func look(t *testing.T, deps *dependency.List) {
	ticker := time.NewTicker(5 * time.Millisecond)
	ctx := t.Context()
	go func() {
		defer ticker.Stop()
		for {
			select {
			case <-ticker.C:
				for _, d := range deps.All() {
					d.Breaker.Check()
				}
			case <-ctx.Done():
				return
			}
		}
	}()
}
