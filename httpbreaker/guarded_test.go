package httpbreaker_test

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/recloser-go/recloser"
	"github.com/recloser-go/recloser/guard"
	"github.com/recloser-go/recloser/httpbreaker"
)

func TestWhatIsSentAgain(t *testing.T) {
	refused := func(*http.Request) (*http.Response, error) { return nil, &recloser.OpenError{} }
	for name, c := range map[string]struct {
		step     base
		attempts int
	}{
		"connection reset":                 {reset, 3},
		"no answer in time":                {hang, 3},
		"502":                              {answers(502), 3},
		"503":                              {answers(503), 3},
		"504":                              {answers(504), 3},
		"503 for a second":                 {answers(503, "Retry-After", "1"), 3},
		"503 for too long":                 {answers(503, "Retry-After", "3600"), 1},
		"429 for a second":                 {answers(429, "Retry-After", "1"), 3},
		"429":                              {answers(429), 1},
		"500":                              {answers(500), 1},
		"404":                              {answers(404), 1},
		"200":                              {answers(200), 1},
		"a breaker further inside is open": {refused, 1},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &script{T: t, steps: slices.Repeat([]base{c.step}, 3)}
				g := newGuarded(t, guard.Config{Breaker: tolerant(), AttemptTimeout: time.Minute, Retry: thrice()}, s.RoundTrip)
				status, body, err := g.do(g.request("GET", nil))
				if len(s.seen) != c.attempts {
					t.Errorf("%d attempts, want %d", len(s.seen), c.attempts)
				}
				if err == nil && body != "body" || s.open != 0 {
					t.Errorf("got %d %q, and %d responses are not closed", status, body, s.open)
				}
				if s := g.Breaker().Stats(); s.InFlight != 0 || s.Success+s.Failed+s.Ignored != 1 {
					t.Errorf("one call with one outcome, and the breaker has %+v", s)
				}
			})
		})
	}
}

func TestRetryAfterIsObeyed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		var after []time.Duration
		g := newGuarded(t, guard.Config{Breaker: tolerant(), Retry: thrice()}, func(req *http.Request) (*http.Response, error) {
			if after = append(after, time.Since(began)); len(after) == 1 {
				return answers(429, "Retry-After", "7")(req)
			}
			return answers(200)(req)
		})
		if status, _, err := g.do(g.request("GET", nil)); status != 200 || err != nil {
			t.Errorf("got %d, %v", status, err)
		}
		if len(after) != 2 || after[1] < 7*time.Second || after[1] > 8*time.Second {
			t.Errorf("attempts after %v", after)
		}
	})
}

// What the caller gets when all attempts fail, and what the breaker does.
func TestLastAttemptIsTheCallers(t *testing.T) {
	for name, c := range map[string]struct {
		cfg             guard.Config
		step            base
		status          int
		want            error
		failed, ignored uint64
	}{
		"a response":               {guard.Config{}, answers(503), 503, nil, 1, 0},
		"an error":                 {guard.Config{}, reset, 0, errReset, 1, 0},
		"the attempt's timeout":    {guard.Config{AttemptTimeout: time.Second}, hang, 0, guard.ErrTimeout, 1, 0},
		"the call's timeout":       {guard.Config{Timeout: time.Second}, hang, 0, guard.ErrTimeout, 1, 0},
		"no budget, an error":      {guard.Config{Retry: guard.Retry{Budget: 1e-9, Floor: recloser.Off}}, reset, 0, guard.ErrBudget, 1, 0},
		"no budget, a response":    {guard.Config{Retry: guard.Retry{Budget: 1e-9, Floor: recloser.Off}}, answers(503), 503, nil, 1, 0},
		"cancelled inside":         {guard.Config{}, func(*http.Request) (*http.Response, error) { return nil, context.Canceled }, 0, context.Canceled, 0, 1},
		"throttled without a wait": {guard.Config{}, answers(429), 429, nil, 0, 1},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c.cfg.Breaker = tolerant()
				if c.cfg.Retry.Budget == 0 {
					c.cfg.Retry = thrice()
				}
				c.cfg.Retry.Attempts = 3
				g := newGuarded(t, c.cfg, c.step)
				req := g.request("GET", nil)
				resp, err := g.tr.RoundTrip(req)
				if !errors.Is(err, c.want) || (resp != nil) != (c.status != 0) {
					t.Fatalf("got %v, %v, want %v", resp, err, c.want)
				}
				if timeout := net.Error(nil); errors.Is(c.want, guard.ErrTimeout) && (!errors.As(err, &timeout) || !timeout.Timeout()) {
					t.Errorf("%v is no net.Error that says so", err)
				}
				if resp != nil {
					if resp.StatusCode != c.status || resp.Request != req {
						t.Errorf("got %d for %p, want %d for %p", resp.StatusCode, resp.Request, c.status, req)
					}
					if all, err := io.ReadAll(resp.Body); string(all) != "body" || err != nil {
						t.Errorf("read %q, %v", all, err)
					}
					_ = resp.Body.Close()
				}
				wantEnded(t, g.Breaker(), 0, c.failed, c.ignored)
			})
		})
	}
}

// The slot is taken as long as the body is read, and free whatever happens.
func TestSlotIsTakenUntilTheBodyEnds(t *testing.T) {
	for name, end := range map[string]func(*http.Response){
		"read":   func(resp *http.Response) { _, _ = io.Copy(io.Discard, resp.Body) },
		"closed": func(resp *http.Response) { _ = resp.Body.Close(); _ = resp.Body.Close() },
	} {
		for status, failed := range map[int]bool{200: false, 500: true} {
			t.Run(name, func(t *testing.T) {
				g := newGuarded(t, guard.Config{Breaker: tolerant(), Bulkhead: guard.Bulkhead{Max: 1}}, answers(status))
				resp, err := g.tr.RoundTrip(g.request("GET", nil))
				if err != nil {
					t.Fatal(err)
				}
				if s := g.Breaker().Stats(); (s.Failed == 1) != failed {
					t.Errorf("with the headers of a %d: %d failed", status, s.Failed)
				}
				if _, err := g.tr.RoundTrip(g.request("GET", nil)); !errors.Is(err, guard.ErrFull) {
					t.Errorf("got %v, want a refusal", err)
				}
				end(resp)
				if got, _, err := g.do(g.request("GET", nil)); got != status || err != nil {
					t.Errorf("got %d, %v", got, err)
				}
				if n := g.Breaker().Stats().InFlight; n != 0 {
					t.Errorf("%d in flight", n)
				}
			})
		}
	}
}

func TestBodyThatBreaksOffIsAFailure(t *testing.T) {
	g := newGuarded(t, guard.Config{Breaker: tolerant(), Retry: thrice(), Bulkhead: guard.Bulkhead{Max: 1}},
		func(req *http.Request) (*http.Response, error) {
			return response(req, 200, &brokenBody{err: io.ErrUnexpectedEOF, left: 100}), nil
		})
	for range 2 {
		if _, _, err := g.do(g.request("GET", nil)); !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Error(err)
		}
	}
	wantEnded(t, g.Breaker(), 0, 2, 0)
}

func TestRefusalsCloseTheBody(t *testing.T) {
	for name, cfg := range map[string]guard.Config{
		"limit":    {RateLimit: guard.RateLimit{Rate: 1e-6, Burst: 1}},
		"bulkhead": {Bulkhead: guard.Bulkhead{Max: 1}},
	} {
		t.Run(name, func(t *testing.T) {
			g := newGuarded(t, cfg, answers(200))
			resp, err := g.tr.RoundTrip(g.request("GET", nil))
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = resp.Body.Close() }()
			closed := 0
			req := g.request("POST", nil)
			req.Body = &counted{io.NopCloser(strings.NewReader("x")), func() { closed++ }}
			_, err = g.tr.RoundTrip(req)
			if !errors.Is(err, guard.ErrFull) && !errors.Is(err, guard.ErrLimited) || closed != 1 {
				t.Errorf("got %v, and the body was closed %d times", err, closed)
			}
			if s := g.Breaker().Stats(); s.Failed+s.Ignored != 0 {
				t.Errorf("a refusal counts: %+v", s)
			}
		})
	}
}

func TestTripReleasesAGuardedRequest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cfg := guard.Config{Breaker: tolerant(), Retry: thrice(), Bulkhead: guard.Bulkhead{Max: 1}}
		cfg.Breaker.CancelOnTrip = true
		g := newGuarded(t, cfg, hang)
		got := make(chan error)
		go func() {
			_, _, err := g.do(g.request("GET", nil))
			got <- err
		}()
		synctest.Wait()
		if err := g.Breaker().TripFor(time.Minute, "ana", "test"); err != nil {
			t.Fatal(err)
		}
		if err := <-got; !errors.Is(err, recloser.ErrOpen) {
			t.Errorf("got %v", err)
		}
		wantEnded(t, g.Breaker(), 0, 0, 1)
	})
}

func TestCallerGivesUpAGuardedRequest(t *testing.T) {
	for name, step := range map[string]base{"in an attempt": hang, "between two": answers(503, "Retry-After", "5")} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &script{T: t, steps: []base{step}}
				g := newGuarded(t, guard.Config{Breaker: tolerant(), Timeout: time.Hour, Retry: thrice(), Bulkhead: guard.Bulkhead{Max: 1}}, s.RoundTrip)
				ctx, cancel := context.WithCancel(t.Context())
				time.AfterFunc(time.Second, cancel)
				began := time.Now()
				status, _, err := g.do(g.request("GET", nil).WithContext(ctx))
				if errors.Is(err, context.Canceled) == (status == 503) || time.Since(began) != time.Second {
					t.Errorf("got %d, %v after %s", status, err, time.Since(began))
				}
				if n := g.Breaker().Stats().InFlight; n != 0 || s.open != 0 {
					t.Errorf("%d in flight, %d responses open", n, s.open)
				}
				if free, err := g.Allow(t.Context()); err != nil {
					t.Error(err)
				} else {
					free.End(recloser.Ignored)
				}
			})
		})
	}
}

// A response that comes after the timeout is lost: its context is done.
func TestResponseThatComesTooLate(t *testing.T) {
	for name, cfg := range map[string]guard.Config{
		"for the call":       {Timeout: time.Second},
		"for its attempt":    {AttemptTimeout: time.Second},
		"for both, the call": {Timeout: time.Second, AttemptTimeout: time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				late := func(req *http.Request) (*http.Response, error) {
					pause(2 * time.Second)
					return answers(200)(req)
				}
				s := &script{T: t, steps: []base{late}}
				cfg.Breaker, cfg.Bulkhead = tolerant(), guard.Bulkhead{Max: 1}
				g := newGuarded(t, cfg, s.RoundTrip)
				resp, err := g.tr.RoundTrip(g.request("GET", nil))
				if resp != nil || !errors.Is(err, guard.ErrTimeout) || s.open != 0 {
					t.Errorf("got %v, %v, and %d responses are open", resp, err, s.open)
				}
				wantEnded(t, g.Breaker(), 0, 1, 0)
			})
		})
	}
}

// Every body that was opened for another attempt is closed, also if there is none.
func TestBodiesForRetriesAreClosed(t *testing.T) {
	for name, steps := range map[string][]base{
		"all fail":      slices.Repeat([]base{reset}, 3),
		"told too long": {reset, answers(503, "Retry-After", "3600")},
		"good":          {reset, answers(200)},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				open := 0
				body := func() (io.ReadCloser, error) {
					open++
					return &counted{io.NopCloser(strings.NewReader("guest=17")), func() { open-- }}, nil
				}
				s := &script{T: t, steps: steps}
				g := newGuarded(t, guard.Config{Breaker: tolerant(), Retry: thrice()}, s.RoundTrip)
				req := g.request("PUT", nil)
				req.Body, _ = body()
				req.GetBody = body
				_, _, _ = g.do(req)
				if open != 0 || len(s.seen) != len(steps) {
					t.Errorf("%d bodies are open after %d attempts", open, len(s.seen))
				}
			})
		})
	}
}

func TestPanicOfAGuardedTransport(t *testing.T) {
	for name, end := range map[string]func(){"panic": func() { panic("boom") }, "Goexit": runtime.Goexit} {
		t.Run(name, func(t *testing.T) {
			g := newGuarded(t, guard.Config{Breaker: tolerant(), Timeout: time.Minute, Retry: thrice(), Bulkhead: guard.Bulkhead{Max: 1}},
				func(*http.Request) (*http.Response, error) { end(); return nil, nil })
			for range 2 {
				done := make(chan struct{})
				go func() {
					defer close(done)
					defer func() { _ = recover() }()
					_, _, err := g.do(g.request("GET", nil))
					t.Error("it came back with", err)
				}()
				<-done
			}
			wantEnded(t, g.Breaker(), 0, 2, 0)
		})
	}
}

func TestUnguardedRequestsPass(t *testing.T) {
	for name, tr := range map[string]*httpbreaker.GuardedTransport{
		"no guards":          {Base: answers(500)},
		"none for this host": {Base: answers(500), Guard: func(*http.Request) *guard.Guard { return nil }},
	} {
		g := &guarded{T: t, tr: tr}
		if status, _, err := g.do(g.request("GET", nil)); status != 500 || err != nil {
			t.Errorf("%s: got %d, %v", name, status, err)
		}
	}
}
