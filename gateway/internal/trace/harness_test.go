package trace_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	commonpb "go.opentelemetry.io/proto/otlp/common/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"github.com/recloser-go/recloser"
	"github.com/recloser-go/recloser/gateway/gatewaytest"
	"github.com/recloser-go/recloser/gateway/internal/ask"
	"github.com/recloser-go/recloser/gateway/internal/bulkhead"
	"github.com/recloser-go/recloser/gateway/internal/config"
	"github.com/recloser-go/recloser/gateway/internal/dependency"
	"github.com/recloser-go/recloser/gateway/internal/proxy"
	"github.com/recloser-go/recloser/gateway/internal/ratelimit"
	"github.com/recloser-go/recloser/gateway/internal/trace"
	"github.com/recloser-go/recloser/internal/eventually"
	"github.com/recloser-go/recloser/internal/vtime"
)

const (
	patience = 20 * time.Second // for what takes milliseconds on an idle machine
	mostBody = 4 << 10
)

// collector takes what is sent to it, over a real connection.
type collector struct {
	*httptest.Server
	mu     sync.Mutex
	got    []*tracepb.ResourceSpans
	faults []string
}

func newCollector(t *testing.T) *collector {
	t.Helper()
	c := &collector{}
	c.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if err := c.take(r); err != nil {
			w.WriteHeader(http.StatusBadRequest)
		}
	}))
	t.Cleanup(c.Close)
	return c
}

func (c *collector) take(r *http.Request) (err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	defer func() {
		if err != nil {
			c.faults = append(c.faults, err.Error())
		}
	}()
	if r.Method != http.MethodPost || r.URL.Path != "/v1/traces" || r.Header.Get("Content-Type") != "application/x-protobuf" || r.Header.Get("Authorization") != "Bearer secret" {
		return fmt.Errorf("%s %s with %v", r.Method, r.URL, r.Header)
	}
	zip, err := gzip.NewReader(r.Body)
	if err != nil {
		return err
	}
	body, err := io.ReadAll(zip)
	if err != nil {
		return err
	}
	var data tracepb.TracesData
	if err := proto.Unmarshal(body, &data); err != nil {
		return err
	}
	c.got = append(c.got, data.ResourceSpans...)
	return nil
}

// span is one with its attributes as text, in order.
type span struct {
	*tracepb.Span
	attributes string
	events     []string // name and attributes
}

func textOf(all []*commonpb.KeyValue) string {
	var texts []string
	for _, a := range all {
		value := a.Value.GetStringValue()
		if _, isInt := a.Value.Value.(*commonpb.AnyValue_IntValue); isInt {
			value = fmt.Sprint(a.Value.GetIntValue())
		}
		if a.Key == "server.port" {
			value = "*"
		}
		texts = append(texts, a.Key+"="+value)
	}
	slices.Sort(texts)
	return strings.Join(texts, ",")
}

// bench is a gateway with a proxy route and an ask, whose dependencies and collector
// are real servers.
type bench struct {
	t         *testing.T
	collector *collector
	tracer    *trace.Tracer
	hotels    []*gatewaytest.Dependency
	deps      *dependency.List
	gateway   *httptest.Server
	log       *gatewaytest.Log
	heard     atomic.Int64 // transitions
}

// newBench makes hotel-1, hotel-2 and so on, one for each behaviour. traces may be nil.
func newBench(t *testing.T, traces *config.Traces, change func(*config.Dependency), behaviours ...gatewaytest.Behaviour) *bench {
	t.Helper()
	b := &bench{t: t, log: &gatewaytest.Log{}}
	log := slog.New(slog.NewTextHandler(b.log, nil))
	if traces != nil {
		var err error
		if b.tracer, err = trace.New(trace.Options{Config: traces, Version: "v1.2.3", Log: log}); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = b.tracer.Stop(t.Context()) })
	}
	var list []config.Dependency
	for i, behaviour := range behaviours {
		hotel := gatewaytest.NewDependency(behaviour)
		b.hotels = append(b.hotels, hotel)
		u, err := url.Parse(hotel.Listen(t))
		if err != nil {
			t.Fatal(err)
		}
		d := config.Dependency{
			ID: fmt.Sprintf("hotel-%d", i+1), URL: u, Timeout: 5 * time.Second, AttemptTimeout: 3 * time.Second, BodyIdle: time.Minute,
			Settings: recloser.Config{Consecutive: 3, SlowCall: 2 * time.Second, OpenFor: time.Hour, MaxOpenFor: time.Hour, CancelOnTrip: true},
		}
		change(&d)
		list = append(list, d)
	}
	clock, err := recloser.StartClock(5 * time.Millisecond) // as the gateway's
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(clock.Stop)
	listen := func(_, key string, tr recloser.Transition) {
		if key == "" {
			b.tracer.Listen(tr)
			b.heard.Add(1)
		}
	}
	if b.deps, err = (dependency.Maker{Clock: clock, Listeners: []func(string, string, recloser.Transition){listen}}).NewList(list); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(b.deps.CloseIdle)
	process := bulkhead.New(8192, vtime.Real{})
	limits := func() config.Limits { return config.Limits{Body: mostBody, BodyIdle: 30 * time.Second} }
	limiters := &ratelimit.Limiters{}
	pass := proxy.New(proxy.Options{Dependencies: b.deps, Bulkhead: process, Limits: limits, Limiters: limiters, Log: log, Trace: b.tracer}).
		Handler(config.Route{Path: "/hotels/{dependency}/*", ReleaseOnTrip: true})
	rule := &config.Ask{Group: "*", Accept: "status == 200 && body.allowed == true", Decide: config.FirstYes, Timeout: patience}
	if rule.Condition, err = config.Compile(rule.Accept); err != nil {
		t.Fatal(err)
	}
	asks := ask.New(ask.Options{Dependencies: b.deps, Bulkhead: process, Limits: limits, Limiters: limiters, Log: log, Trace: b.tracer}).Handler(config.Route{Path: "/access", Ask: rule})
	b.gateway = httptest.NewServer(b.tracer.Handler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/access" {
			asks.ServeHTTP(w, r)
			return
		}
		id, rest, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/hotels/"), "/")
		pass.Serve(w, r, id, rest)
	})))
	t.Cleanup(b.gateway.Close)
	return b
}

// traced makes a bench whose calls are all sent to a collector.
func traced(t *testing.T, change func(*config.Dependency), behaviours ...gatewaytest.Behaviour) *bench {
	t.Helper()
	c := newCollector(t)
	b := newBench(t, to(t, c.URL, 1), change, behaviours...)
	b.collector = c
	return b
}

func to(t *testing.T, collector string, sample float64) *config.Traces {
	t.Helper()
	u, err := url.Parse(collector + "/v1/traces")
	if err != nil {
		t.Fatal(err)
	}
	return &config.Traces{Endpoint: u, Headers: map[string]config.Secret{"Authorization": "Bearer secret"}, Sample: sample}
}

func asIs(*config.Dependency) {}

func (b *bench) call(path string, status int, header ...string) {
	b.t.Helper()
	b.request(http.MethodGet, path, http.NoBody, status, header...)
}

func (b *bench) sends(path string, body []byte, status int) {
	b.t.Helper()
	b.request(http.MethodPost, path, bytes.NewReader(body), status)
}

func (b *bench) request(method, path string, send io.Reader, status int, header ...string) {
	b.t.Helper()
	r, err := http.NewRequestWithContext(b.t.Context(), method, b.gateway.URL+path, send)
	if err != nil {
		b.t.Fatal(err)
	}
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	resp, err := http.DefaultTransport.RoundTrip(r)
	if err != nil {
		b.t.Fatal(err)
	}
	defer resp.Body.Close()
	var body []byte
	if resp.StatusCode != http.StatusSwitchingProtocols { // whose body has no end
		body, _ = io.ReadAll(resp.Body)
	}
	if resp.StatusCode != status {
		b.t.Fatalf("%s: %d, want %d: %s", path, resp.StatusCode, status, body)
	}
}

// clients waits until the spans of n attempts have come, also of those that go on
// without their caller.
func (b *bench) clients(n int) {
	b.t.Helper()
	eventually.True(b.t, patience, func() bool {
		b.collector.mu.Lock()
		defer b.collector.mu.Unlock()
		come := 0
		for _, from := range b.collector.got {
			for _, scope := range from.ScopeSpans {
				for _, s := range scope.Spans {
					if s.Kind == tracepb.Span_SPAN_KIND_CLIENT {
						come++
					}
				}
			}
		}
		return come >= n
	}, "the spans of attempts")
}

// spans ends the gateway and returns all there were, by kind, in the order of their ends.
func (b *bench) spans() (servers, clients, others []span) {
	b.t.Helper()
	b.gateway.Close()                // waits for its handlers
	for _, d := range b.deps.All() { // and an answered ask's calls go on
		eventually.True(b.t, patience, func() bool { return d.Bulkhead.InFlight() == 0 }, "the calls of "+d.ID+" to end")
	}
	ctx, cancel := context.WithTimeout(b.t.Context(), patience)
	defer cancel()
	if err := b.tracer.Stop(ctx); err != nil {
		b.t.Fatal(err)
	}
	b.collector.mu.Lock()
	defer b.collector.mu.Unlock()
	if len(b.collector.faults) > 0 {
		b.t.Fatalf("the collector got %q", b.collector.faults)
	}
	for _, from := range b.collector.got {
		if text := textOf(from.Resource.Attributes); !strings.Contains(text, "service.name=recloser,service.version=v1.2.3") || !strings.Contains(text, "service.instance.id=") {
			b.t.Errorf("spans of %s", text)
		}
		for _, scope := range from.ScopeSpans {
			for _, s := range scope.Spans {
				one := span{s, textOf(s.Attributes), nil}
				for _, e := range s.Events {
					one.events = append(one.events, e.Name+" "+textOf(e.Attributes))
				}
				switch s.Kind {
				case tracepb.Span_SPAN_KIND_SERVER:
					servers = append(servers, one)
				case tracepb.Span_SPAN_KIND_CLIENT:
					clients = append(clients, one)
				default:
					others = append(others, one)
				}
			}
		}
	}
	return servers, clients, others
}
