package ask_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/recloser-go/recloser"
	"github.com/recloser-go/recloser/gateway/gatewaytest"
	"github.com/recloser-go/recloser/gateway/internal/ask"
	"github.com/recloser-go/recloser/gateway/internal/bulkhead"
	"github.com/recloser-go/recloser/gateway/internal/config"
	"github.com/recloser-go/recloser/gateway/internal/dependency"
	"github.com/recloser-go/recloser/gateway/internal/ratelimit"
	"github.com/recloser-go/recloser/internal/vtime"
)

// bench is a client, a gateway with one ask route and its members on a network
// in memory. It is used in a synctest bubble.
type bench struct {
	t       *testing.T
	hotels  []*gatewaytest.Dependency
	deps    []*dependency.Dependency
	process *bulkhead.Bulkhead
	client  *http.Client
}

type option func(*config.Ask, *recloser.Config)

// newBench makes one member, hotel-1, hotel-2 and so on, for each behaviour.
func newBench(t *testing.T, behaviours []gatewaytest.Behaviour, options ...option) *bench {
	t.Helper()
	return newBenchOf(t, behaviours, func(*config.Dependency, *config.Route) {}, options...)
}

// newBenchOf also changes what each member and the route are defined by.
func newBenchOf(t *testing.T, behaviours []gatewaytest.Behaviour, change func(*config.Dependency, *config.Route), options ...option) *bench {
	t.Helper()
	rule := &config.Ask{Group: "*", Accept: "status == 200 && body.allowed == true", Decide: config.FirstYes, Timeout: 1500 * time.Millisecond}
	settings := recloser.Config{SlowCall: 2 * time.Second, CancelOnTrip: true}
	for _, o := range options {
		o(rule, &settings)
	}
	var err error
	if rule.Condition, err = config.Compile(rule.Accept); err != nil {
		t.Fatal(err)
	}
	b := &bench{t: t}
	network := gatewaytest.NewNetwork(t)
	route := config.Route{Path: "/access", Ask: rule}
	change(new(config.Dependency), &route)
	var list []config.Dependency
	for i, behaviour := range behaviours {
		id := fmt.Sprintf("hotel-%d", i+1)
		dep := config.Dependency{
			ID: id, Name: "Hotel " + id, URL: &url.URL{Scheme: "http", Host: id + ".example", Path: "/v1"},
			Timeout: 5 * time.Second, AttemptTimeout: 3 * time.Second, Settings: settings,
		}
		change(&dep, new(config.Route))
		list = append(list, dep)
		hotel := gatewaytest.NewDependency(behaviour)
		b.hotels = append(b.hotels, hotel)
		network.Serve(id+".example", hotel)
	}
	deps, err := dependency.Maker{Clock: settings.Clock}.NewList(list)
	if err != nil {
		t.Fatal(err)
	}
	network.Connect(deps)
	b.deps = deps.All()
	look(t, b.deps)
	network.Serve("gateway.example", b.newAsker(deps).Handler(route))
	b.client = network.Client()
	return b
}

func (b *bench) newAsker(deps *dependency.List) *ask.Asker {
	b.process = bulkhead.New(8192, vtime.Real{})
	return ask.New(ask.Options{
		Dependencies: deps,
		Bulkhead:     b.process,
		Limits:       func() config.Limits { return config.Limits{BodyIdle: 30 * time.Second} },
		Limiters:     &ratelimit.Limiters{},
		Log:          slog.New(slog.DiscardHandler),
	})
}

// look calls Check from a ticker, as the gateway does.
func look(t *testing.T, deps []*dependency.Dependency) {
	ticker := time.NewTicker(50 * time.Millisecond)
	ctx := t.Context()
	go func() {
		defer ticker.Stop()
		for {
			select {
			case <-ticker.C:
				for _, d := range deps {
					d.Breaker.Check()
				}
			case <-ctx.Done():
				return
			}
		}
	}()
}

type answer struct {
	ask.Result
	status int
	header http.Header
	took   time.Duration
	err    error
}

func (b *bench) ask() answer {
	b.t.Helper()
	return b.send(b.t.Context(), http.MethodGet, "/access", nil)
}

func (b *bench) send(ctx context.Context, method, path string, body io.Reader, header ...string) answer {
	b.t.Helper()
	req, err := http.NewRequestWithContext(ctx, method, "http://gateway.example"+path, body)
	if err != nil {
		b.t.Fatal(err)
	}
	for i := 0; i < len(header); i += 2 {
		req.Header.Add(header[i], header[i+1])
	}
	start := time.Now()
	resp, err := b.client.Do(req)
	a := answer{took: time.Since(start), err: err}
	if err != nil {
		return a
	}
	defer resp.Body.Close()
	a.status, a.header = resp.StatusCode, resp.Header
	if err := json.NewDecoder(resp.Body).Decode(&a.Result); err != nil {
		b.t.Errorf("answer: %v", err)
	}
	return a
}

// results is the members' results in short: "yes no failed".
func (a answer) results() string {
	var all []string
	for _, m := range a.Members {
		all = append(all, string(m.Result))
	}
	return strings.Join(all, " ")
}

func (a answer) want(t *testing.T, status int, answer ask.Answer, results string, took time.Duration) {
	t.Helper()
	if a.err != nil || a.status != status || a.Answer != answer || a.results() != results || a.took != took {
		t.Errorf("got %d %s (%s) after %s, %v\nwant %d %s (%s) after %s",
			a.status, a.Answer, a.results(), a.took, a.err, status, answer, results, took)
	}
}

// trip makes hotel i open for two seconds.
func (b *bench) trip(i int) {
	b.t.Helper()
	if err := b.deps[i].Breaker.TripFor(2*time.Second, "test", "test"); err != nil {
		b.t.Fatal(err)
	}
}

func (b *bench) stats(i int) recloser.Stats { return b.deps[i].Breaker.Stats() }

func hotels(b ...gatewaytest.Behaviour) []gatewaytest.Behaviour { return b }

func after(d time.Duration, b gatewaytest.Behaviour) gatewaytest.Behaviour {
	return gatewaytest.Slow(d, b)
}

// pause lets virtual time pass.
func pause(d time.Duration) { <-time.After(d) }

const ms = time.Millisecond
