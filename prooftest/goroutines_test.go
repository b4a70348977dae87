package prooftest

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/recloser-go/recloser"
	"github.com/recloser-go/recloser/guard"
	"github.com/recloser-go/recloser/httpbreaker"
	"github.com/recloser-go/recloser/internal/eventually"
	"github.com/recloser-go/recloser/scenario"
)

// Whatever starts a goroutine ends it, also where callers give up, handlers
// panic, and trips release whoever waits.
func TestNoGoroutineIsLeft(t *testing.T) {
	for name, use := range map[string]func(t *testing.T){
		"listeners":           useListeners,
		"coarse clock":        useCoarseClock,
		"guard":               useGuard,
		"guard, by hand":      useGuardByHand,
		"transport":           useTransport,
		"guarded transport":   useGuardedTransport,
		"middleware":          useMiddleware,
		"scenarios":           useScenarios,
		"scenario, cancelled": cancelScenario,
	} {
		t.Run(name, func(t *testing.T) {
			running := goleak.IgnoreCurrent()
			use(t)
			goleak.VerifyNone(t, running)
		})
	}
}

func newBreaker(t *testing.T, cfg recloser.Config) *recloser.Breaker {
	t.Helper()
	b, err := recloser.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// useListeners has listeners that are slow, panic, end their goroutine or leave.
func useListeners(t *testing.T) {
	b := newBreaker(t, recloser.Config{})
	let := make(chan struct{})
	var heard atomic.Int64
	b.Subscribe(func(recloser.Transition) { <-let; heard.Add(1) })
	b.Subscribe(func(recloser.Transition) { heard.Add(1); panic("listener") })
	b.Subscribe(func(recloser.Transition) { heard.Add(1); runtime.Goexit() })
	leave := b.Subscribe(func(recloser.Transition) { heard.Add(1) })
	for range 10 {
		if err := b.TripFor(time.Minute, "test", "leaks"); err != nil {
			t.Error(err)
		}
	}
	eventually.True(t, 10*time.Second, func() bool { return heard.Load() == 30 }, "three listeners to hear of all")
	leave()
	b.Reset("test", "leaks")
	close(let)
	eventually.True(t, 10*time.Second, func() bool { return heard.Load() == 43 }, "the slow one too")
}

func useCoarseClock(t *testing.T) {
	clock, err := recloser.StartClock(time.Millisecond)
	if err != nil {
		t.Fatal(err)
	}
	b := newBreaker(t, recloser.Config{Clock: clock, SlowCall: time.Second})
	began := clock.Now()
	eventually.True(t, 10*time.Second, func() bool { return clock.Now().After(began) }, "the clock to tick")
	if err := b.Do(t.Context(), func(context.Context) error { return nil }); err != nil {
		t.Error(err)
	}
	clock.Stop()
	clock.Stop()
	if err := b.Do(t.Context(), func(context.Context) error { return nil }); err != nil {
		t.Error(err)
	}
}

func guardConfig() guard.Config {
	return guard.Config{
		Breaker: recloser.Config{CancelOnTrip: true}, Timeout: 50 * time.Millisecond, AttemptTimeout: 5 * time.Millisecond,
		Bulkhead: guard.Bulkhead{Max: 4, Wait: 10 * time.Millisecond},
		Retry:    guard.Retry{Attempts: 3, Unmarked: true, Backoff: time.Millisecond},
	}
}

// useGuard hangs until timeouts end the calls, and then until a trip does.
func useGuard(t *testing.T) {
	for _, timeouts := range []bool{true, false} {
		cfg := guardConfig()
		if !timeouts {
			cfg.Timeout, cfg.AttemptTimeout, cfg.Bulkhead = 0, 0, guard.Bulkhead{}
		}
		g, err := guard.New(cfg)
		if err != nil {
			t.Fatal(err)
		}
		var started atomic.Int64
		var all sync.WaitGroup
		for range 20 {
			all.Go(func() {
				err := g.Do(t.Context(), func(ctx context.Context) error {
					started.Add(1)
					<-ctx.Done()
					return ctx.Err()
				})
				if err == nil {
					t.Error("a call that hung ended well")
				}
			})
		}
		if !timeouts {
			eventually.True(t, 10*time.Second, func() bool { return started.Load() == 20 }, "all calls to hang")
			if err := g.Breaker().TripFor(time.Minute, "test", "leaks"); err != nil {
				t.Error(err)
			}
		}
		all.Wait()
	}
}

func useGuardByHand(t *testing.T) {
	g, err := guard.New(guardConfig())
	if err != nil {
		t.Fatal(err)
	}
	for i := range 20 {
		ctx, cancel := context.WithCancel(t.Context())
		c, err := g.Allow(ctx)
		if err != nil {
			t.Fatal(err)
		}
		if i%2 == 0 {
			cancel()
		}
		_ = c.Again(errDown)
		c.Done(nil)
		c.Done(errDown)
		cancel()
	}
}

// odd serves each request in another way: one hangs, one breaks off, one panics.
func odd() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("/ok", func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "fine") })
	mux.HandleFunc("/hang", func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
	mux.HandleFunc("/endless", func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(http.StatusOK)
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
	})
	mux.HandleFunc("/panic", func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) })
	mux.HandleFunc("/down", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusServiceUnavailable) })
	return mux
}

var oddPaths = []string{"/ok", "/hang", "/endless", "/panic", "/down"}

// ask asks for every odd thing, several times at once, and gives up in the end.
func ask(t *testing.T, client *http.Client, server string) {
	t.Helper()
	var all sync.WaitGroup
	for range 4 {
		for _, path := range oddPaths {
			all.Go(func() {
				ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
				defer cancel()
				req, err := http.NewRequestWithContext(ctx, http.MethodGet, server+path, nil)
				if err != nil {
					t.Error(err)
					return
				}
				resp, err := client.Do(req)
				if err != nil {
					return
				}
				if path == "/ok" {
					_, _ = io.ReadAll(resp.Body)
				}
				_ = resp.Body.Close()
			})
		}
	}
	all.Wait()
}

// served has use ask a server for whom wrap may put something in front.
func served(t *testing.T, wrap func(http.Handler) http.Handler, transport func(base http.RoundTripper) http.RoundTripper) {
	t.Helper()
	server := httptest.NewServer(wrap(odd()))
	defer server.Close()
	base := &http.Transport{}
	defer base.CloseIdleConnections()
	ask(t, &http.Client{Transport: transport(base)}, server.URL)
}

func asItIs[T any](v T) T { return v }

func useTransport(t *testing.T) {
	b := newBreaker(t, recloser.Config{CancelOnTrip: true, Consecutive: 5, Spread: time.Millisecond})
	served(t, asItIs, func(base http.RoundTripper) http.RoundTripper {
		return &httpbreaker.Transport{Base: base, Breaker: httpbreaker.Fixed(b), Timeout: 100 * time.Millisecond}
	})
	if n := b.Stats().InFlight; n != 0 {
		t.Errorf("%d calls run", n)
	}
}

func useGuardedTransport(t *testing.T) {
	g, err := guard.New(guardConfig())
	if err != nil {
		t.Fatal(err)
	}
	served(t, asItIs, func(base http.RoundTripper) http.RoundTripper {
		return &httpbreaker.GuardedTransport{Base: base, Guard: httpbreaker.Fixed(g)}
	})
	if n := g.Breaker().Stats().InFlight; n != 0 {
		t.Errorf("%d calls run", n)
	}
}

func useMiddleware(t *testing.T) {
	b := newBreaker(t, recloser.Config{CancelOnTrip: true, Consecutive: 5, Spread: time.Millisecond})
	m := &httpbreaker.Middleware{Breaker: httpbreaker.Fixed(b)}
	served(t, m.Handler, asItIs)
	eventually.True(t, 10*time.Second, func() bool { return b.Stats().InFlight == 0 }, "the handlers to return")
}

func useScenarios(t *testing.T) {
	files, err := filepath.Glob("../scenario/testdata/*.scenario")
	if err != nil || len(files) < 10 {
		t.Fatalf("%d scenarios, %v", len(files), err)
	}
	for _, file := range files[:10] {
		run(t, t.Context(), file)
	}
}

func run(t *testing.T, ctx context.Context, file string) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	s, err := scenario.Parse(file, text)
	if err != nil {
		t.Fatal(err)
	}
	if r, err := s.Run(ctx); !errors.Is(err, ctx.Err()) || err == nil && !r.Good() {
		t.Errorf("%s: %v", file, err)
	}
}

func cancelScenario(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	run(t, ctx, "../scenario/testdata/c02-somebody-always-asks.scenario")
}
