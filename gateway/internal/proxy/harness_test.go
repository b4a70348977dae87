package proxy_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/recloser-go/recloser"
	"github.com/recloser-go/recloser/gateway/gatewaytest"
	"github.com/recloser-go/recloser/gateway/internal/bulkhead"
	"github.com/recloser-go/recloser/gateway/internal/config"
	"github.com/recloser-go/recloser/gateway/internal/dependency"
	"github.com/recloser-go/recloser/gateway/internal/forwarded"
	"github.com/recloser-go/recloser/gateway/internal/problem"
	"github.com/recloser-go/recloser/gateway/internal/proxy"
	"github.com/recloser-go/recloser/gateway/internal/ratelimit"
	"github.com/recloser-go/recloser/internal/vtime"
)

// bench is a client, a gateway with one proxy route and one dependency on a
// network in memory. It is used in a synctest bubble.
type bench struct {
	t       *testing.T
	hotel   *gatewaytest.Dependency
	dep     *dependency.Dependency
	breaker *recloser.Breaker
	process *bulkhead.Bulkhead
	log     *bytes.Buffer // from info upwards
	client  *http.Client
}

type option func(*config.Dependency, *config.Route)

func newBench(t *testing.T, b gatewaytest.Behaviour, options ...option) *bench {
	t.Helper()
	base, _ := url.Parse("http://hotel-1.example/v1")
	dep := config.Dependency{
		ID: "hotel-1", URL: base, Timeout: 5 * time.Second, AttemptTimeout: 3 * time.Second,
		BodyIdle: time.Minute, Settings: recloser.Config{SlowCall: 2 * time.Second, CancelOnTrip: true},
	}
	route := config.Route{Path: "/hotels/{dependency}/*", ReleaseOnTrip: true}
	for _, o := range options {
		o(&dep, &route)
	}
	deps, err := dependency.Maker{}.NewList([]config.Dependency{dep})
	if err != nil {
		t.Fatal(err)
	}
	log := &bytes.Buffer{}
	network := gatewaytest.NewNetwork(t)
	hotel := gatewaytest.NewDependency(b)
	network.Serve("hotel-1.example", hotel)
	network.Connect(deps)
	process := bulkhead.New(8192, vtime.Real{})
	handler := proxy.New(proxy.Options{
		Dependencies: deps,
		Bulkhead:     process,
		Limits:       func() config.Limits { return config.Limits{Body: 8 << 20, BodyIdle: 30 * time.Second} },
		Limiters:     &ratelimit.Limiters{},
		Log:          slog.New(slog.NewTextHandler(log, nil)),
	}).Handler(route)
	network.Serve("gateway.example", routed(handler))
	d, _ := deps.Get("hotel-1")
	look(t, d.Breaker)
	return &bench{t: t, hotel: hotel, dep: d, breaker: d.Breaker, process: process, log: log, client: network.Client()}
}

// routed takes requests for /hotels/{dependency}/*.
func routed(h *proxy.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		id, rest, _ := strings.Cut(strings.TrimPrefix(forwarded.Path(r.URL), "/hotels/"), "/")
		h.Serve(w, r, id, rest)
	})
}

// look calls Check from a ticker, as the gateway does.
func look(t *testing.T, b *recloser.Breaker) {
	ticker := time.NewTicker(50 * time.Millisecond)
	ctx := t.Context()
	go func() {
		defer ticker.Stop()
		for {
			select {
			case <-ticker.C:
				b.Check()
			case <-ctx.Done():
				return
			}
		}
	}()
}

// answer is what a client got.
type answer struct {
	status  int
	header  http.Header
	body    string
	took    time.Duration
	problem problem.Problem
	err     error
}

func (b *bench) get(path string) answer {
	b.t.Helper()
	return b.send(b.t.Context(), http.MethodGet, path, nil)
}

func (b *bench) send(ctx context.Context, method, path string, body io.Reader, header ...string) (a answer) {
	b.t.Helper()
	req, err := http.NewRequestWithContext(ctx, method, "http://gateway.example"+path, body)
	if err != nil {
		b.t.Fatal(err)
	}
	for i := 0; i < len(header); i += 2 {
		req.Header.Add(header[i], header[i+1])
	}
	start := time.Now()
	defer func() { a.took = time.Since(start) }()
	resp, err := b.client.Do(req)
	if err != nil {
		return answer{err: err}
	}
	all, err := io.ReadAll(resp.Body)
	a = answer{status: resp.StatusCode, header: resp.Header, body: string(all), err: errors.Join(err, resp.Body.Close())}
	if strings.Contains(resp.Header.Get("Content-Type"), "problem+json") {
		if err := json.Unmarshal(all, &a.problem); err != nil {
			b.t.Errorf("problem %q: %v", all, err)
		}
	}
	return a
}

func (b *bench) wantState(want recloser.State) {
	b.t.Helper()
	if got := b.breaker.State(); got != want {
		b.t.Fatalf("state %s, want %s: %s", got, want, b.breaker.Explain())
	}
}

// trip sends failing calls until the breaker opens.
func (b *bench) trip() {
	b.t.Helper()
	b.hotel.Now(gatewaytest.Answer(500, "sorry"))
	for range 20 {
		if b.get("/hotels/hotel-1/"); b.breaker.State() == recloser.Open {
			return
		}
		pause(100 * time.Millisecond)
	}
	b.t.Fatal("did not trip: " + b.breaker.Explain())
}

// pause lets virtual time pass.
func pause(d time.Duration) { <-time.After(d) }
