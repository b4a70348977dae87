package httpbreaker_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/recloser-go/recloser"
	"github.com/recloser-go/recloser/guard"
	"github.com/recloser-go/recloser/httpbreaker"
)

// suspicious is a breaker that takes 300 ms for longer than usual, with a ticker.
func suspicious(t *testing.T) (b *recloser.Breaker, stop func()) {
	t.Helper()
	b = newBreaker(t, recloser.Config{SlowCall: 2 * time.Second, CancelOnTrip: true, Jitter: recloser.Off})
	b.SetSuspect(300 * ms)
	tick, ended := time.NewTicker(10*ms), make(chan struct{})
	go func() {
		for {
			select {
			case <-tick.C:
				b.Check()
			case <-ended:
				return
			}
		}
	}()
	return b, func() { tick.Stop(); close(ended); synctest.Wait() }
}

// closing is a body that says when it is closed.
type closing struct {
	io.Reader
	closed *atomic.Int64
}

func (c closing) Close() error { c.closed.Add(1); return nil }

// caller is one request and what became of it.
type caller struct {
	req     *http.Request
	cancel  context.CancelFunc
	went    time.Duration // after the first began
	err     error
	running bool
}

// callers make n requests, 50 ms apart, whose contexts end with them.
func callers(t *testing.T, tr *httpbreaker.Transport, n int, body func() io.Reader) ([]*caller, *sync.WaitGroup) {
	t.Helper()
	began, all, wg := time.Now(), []*caller{}, &sync.WaitGroup{}
	for range n {
		ctx, cancel := context.WithCancel(context.WithValue(t.Context(), valueKey{}, "kept"))
		req, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://hotel-1.example/access", body())
		if err != nil {
			t.Fatal(err)
		}
		c := &caller{req: req, cancel: cancel, running: true}
		all = append(all, c)
		wg.Go(func() {
			defer cancel()
			_, c.err = do(tr, req)
			req.Header.Set("Late", "he may use it again")
			c.went, c.running = time.Since(began), false
		})
		pause(50 * ms)
	}
	return all, wg
}

type valueKey struct{}

func noBody() io.Reader { return nil }

// A dependency takes 900 ms from now on. Who waits is let go after 0.6 s, but two
// requests run on, and the first of them shows that the dependency is alive.
func TestDetachLeavesWitnesses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, stop := suspicious(t)
		defer stop()
		var lifted time.Duration
		b.Subscribe(func(t recloser.Transition) { lifted = max(lifted, t.Lifted) })
		var mu sync.Mutex
		answered, cut, values := 0, 0, 0
		var closed atomic.Int64
		tr := through(b, func(req *http.Request) (*http.Response, error) {
			defer mu.Unlock()
			select {
			case <-req.Context().Done():
				mu.Lock()
				cut++
				return nil, context.Cause(req.Context())
			case <-time.After(900 * ms):
			}
			mu.Lock()
			answered++
			if req.Context().Value(valueKey{}) == "kept" && req.Header.Get("Late") == "" {
				values++
			}
			return response(req, 200, closing{strings.NewReader("body"), &closed}), nil
		})
		tr.Detach = true
		all, wg := callers(t, tr, 12, noBody)
		wg.Wait()
		for i, c := range all {
			var open *recloser.OpenError
			if !errors.As(c.err, &open) || open.Reason != recloser.ReasonReleased || open.Trip != recloser.ReasonSuspected {
				t.Fatalf("caller %d got %v", i, c.err)
			}
			began := time.Duration(i) * 50 * ms
			if waited := c.went - began; waited < 300*ms || c.went < 600*ms || c.went > 700*ms && waited > 400*ms {
				t.Errorf("caller %d waited for %s, until %s", i, waited, c.went)
			}
		}
		pause(time.Second)
		synctest.Wait()
		mu.Lock()
		if answered != 2 || values != 2 || closed.Load() != 2 || cut != 10 {
			t.Errorf("%d answered, %d with values, %d closed, %d cut off", answered, values, closed.Load(), cut)
		}
		mu.Unlock()
		wantTwoWitnesses(t, b, lifted)
	})
}

// wantTwoWitnesses fails unless 12 callers were released, and of their requests two ran
// on and ended well after 900 ms.
func wantTwoWitnesses(t *testing.T, b *recloser.Breaker, lifted time.Duration) {
	t.Helper()
	wantState(t, b, recloser.HalfOpen)
	if lifted != 900*ms {
		t.Errorf("lifted to %s", lifted)
	}
	s := b.Stats()
	if s.InFlight != 0 || s.Refused[recloser.ReasonReleased] != 12 || s.Success != 2 || s.Ignored != 10 {
		t.Errorf("%+v", s)
	}
}

func TestDetachedWitnessIsCutOffWhenSlow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, stop := suspicious(t)
		defer stop()
		began := time.Now()
		ends := make(chan time.Duration, 20)
		tr := through(b, func(req *http.Request) (*http.Response, error) {
			defer func() { ends <- time.Since(began) }()
			return hang(req)
		})
		tr.Detach = true
		_, wg := callers(t, tr, 8, noBody)
		wg.Wait()
		for range 6 {
			if at := <-ends; at > 800*ms {
				t.Errorf("one that is no witness was cut off after %s", at)
			}
		}
		for range 2 {
			if at := <-ends; at < 2*time.Second || at > 2100*ms {
				t.Errorf("a witness was cut off after %s", at)
			}
		}
		synctest.Wait()
		if s := b.Stats(); s.InFlight != 0 || s.Slow != 2 || s.Ignored != 6 || s.State != recloser.Open {
			t.Errorf("%+v", s)
		}
	})
}

// A caller goes at once, also where the base transport does not heed its context;
// and a request that is still being sent is no witness.
func TestDetachLetsTheCallerGo(t *testing.T) {
	for name, body := range map[string]func() io.Reader{
		"deaf":         noBody,
		"being sent":   func() io.Reader { r, _ := io.Pipe(); return r },
		"sent":         func() io.Reader { return strings.NewReader("all") },
		"never begun ": func() io.Reader { return strings.NewReader("unread") },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b, stop := suspicious(t)
				defer stop()
				done := make(chan struct{})
				var mu sync.Mutex
				alive := 0
				tr := through(b, func(req *http.Request) (*http.Response, error) {
					switch name {
					case "sent":
						_, _ = io.Copy(io.Discard, req.Body)
						_ = req.Body.Close()
					case "being sent":
						go func() { _, _ = req.Body.Read(make([]byte, 1)) }()
					}
					<-done
					mu.Lock()
					defer mu.Unlock()
					if req.Context().Err() == nil {
						alive++
					}
					return nil, errors.New("no answer")
				})
				tr.Detach = true
				if name == "being sent" { // its slow clock stands still: others make the suspicion
					others := through(b, hang)
					others.Detach = true
					_, wg := callers(t, others, 6, noBody)
					defer wg.Wait()
				}
				all, wg := callers(t, tr, 8, body)
				wg.Wait()
				for i, c := range all {
					if !errors.Is(c.err, recloser.ErrOpen) {
						t.Errorf("caller %d got %v", i, c.err)
					}
				}
				close(done)
				pause(3 * time.Second) // the others' witnesses are slow
				want := map[string]int{"deaf": 2, "sent": 2}[name]
				if alive != want {
					t.Errorf("%d requests were left running, want %d", alive, want)
				}
				for _, c := range all {
					if p, ok := c.req.Body.(*io.PipeReader); ok {
						_ = p.Close()
					}
				}
			})
		})
	}
}

// As long as nobody is released, all is as without Detach.
func TestDetachOfPlainRequests(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, stop := suspicious(t)
		defer stop()
		tr := through(b, answers(200))
		tr.Detach = true
		if status, err := get(t, tr); status != 200 || err != nil {
			t.Fatalf("%d, %v", status, err)
		}
		tr = through(b, hang)
		tr.Detach = true
		ctx, cancel := context.WithTimeout(t.Context(), 100*ms)
		defer cancel()
		req, _ := http.NewRequestWithContext(ctx, http.MethodGet, "http://hotel-1.example/", nil)
		if _, err := do(tr, req); err == nil {
			t.Error("the caller's deadline passed, and there was no error")
		}
		synctest.Wait()
		wantEnded(t, b, 1, 0, 1)
	})
}

// A panic of the base transport is the caller's, with its value; one that nobody
// waits for is a failure.
func TestDetachPanics(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, stop := suspicious(t)
		defer stop()
		tr := through(b, func(*http.Request) (*http.Response, error) { panic("base") })
		tr.Detach = true
		func() {
			defer func() {
				if v := recover(); v != any("base") {
					t.Errorf("recovered %v", v)
				}
			}()
			_, _ = get(t, tr)
		}()
		exited := make(chan bool)
		tr = through(b, func(*http.Request) (*http.Response, error) { runtime.Goexit(); return nil, nil })
		tr.Detach = true
		go func() {
			returned := false
			defer func() { exited <- !returned }()
			_, _ = get(t, tr)
			returned = true
		}()
		if !<-exited {
			t.Error("runtime.Goexit did not end the caller's goroutine")
		}
		wantEnded(t, b, 0, 2, 0)

		tr = through(b, func(*http.Request) (*http.Response, error) { pause(800 * ms); panic("nobody hears") })
		tr.Detach = true
		_, wg := callers(t, tr, 8, noBody)
		wg.Wait()
		pause(time.Second)
		wantEnded(t, b, 0, 10, 0)
	})
}

func TestDetachClientTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, stop := suspicious(t)
		defer stop()
		tr := through(b, hang)
		tr.Detach = true
		client := &http.Client{Transport: tr, Timeout: 200 * ms}
		req, _ := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://hotel-1.example/", nil)
		_, err := client.Do(req)
		var timeout interface{ Timeout() bool }
		if !errors.As(err, &timeout) || !timeout.Timeout() {
			t.Errorf("got %v, want a timeout", err)
		}
		synctest.Wait()
		wantEnded(t, b, 0, 0, 1)
	})
}

func TestDetachOfGuardedRequests(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, err := guard.New(guard.Config{
			Breaker:  recloser.Config{Name: "hotel-1", SlowCall: 2 * time.Second, CancelOnTrip: true, Jitter: recloser.Off},
			Timeout:  time.Second,
			Retry:    guard.Retry{Attempts: 3},
			Bulkhead: guard.Bulkhead{Max: 100},
		})
		if err != nil {
			t.Fatal(err)
		}
		b := g.Breaker()
		b.SetSuspect(300 * ms)
		var attempts, answered atomic.Int64
		tr := &httpbreaker.GuardedTransport{Detach: true, Guard: func(*http.Request) *guard.Guard { return g }, Base: base(func(req *http.Request) (*http.Response, error) {
			attempts.Add(1)
			select {
			case <-req.Context().Done():
				return nil, context.Cause(req.Context())
			case <-time.After(1200 * ms): // after the guard's timeout
				answered.Add(1)
				return answers(200)(req)
			}
		})}
		var wg sync.WaitGroup
		for i := range 9 {
			wg.Go(func() {
				pause(time.Duration(i) * 50 * ms)
				req, _ := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://hotel-1.example/", nil)
				if resp, err := tr.RoundTrip(req); resp != nil || !errors.Is(err, recloser.ErrOpen) {
					t.Errorf("%v, %v", resp, err)
				}
			})
		}
		for range 80 {
			pause(10 * ms)
			b.Check()
		}
		wg.Wait()
		pause(10 * ms)
		if st := b.Stats(); st.InFlight != 2 || st.State != recloser.Open {
			t.Errorf("%d in flight, %s", st.InFlight, st.State)
		}
		pause(time.Second)
		if st := b.Stats(); attempts.Load() != 9 || answered.Load() != 2 || st.InFlight != 0 || st.State != recloser.HalfOpen {
			t.Errorf("%d attempts, %d answered, %d in flight, %s", attempts.Load(), answered.Load(), st.InFlight, st.State)
		}
	})
}
