package httpbreaker_test

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/recloser-go/recloser"
	"github.com/recloser-go/recloser/guard"
	"github.com/recloser-go/recloser/httpbreaker"
)

// The methods of a nil *net.OpError panic. It is a failure like any other, for
// the caller too.
func TestErrorsWhoseMethodsPanic(t *testing.T) {
	var odd error = (*net.OpError)(nil)
	fails := func(req *http.Request) (*http.Response, error) {
		if req.Body != nil {
			_, _ = io.Copy(io.Discard, req.Body)
		}
		return nil, odd
	}
	plain := newBreaker(t, recloser.Config{})
	watched := through(plain, fails)
	watched.Timeout = time.Minute
	g := newGuarded(t, guard.Config{Breaker: tolerant(), Retry: thrice(), Bulkhead: guard.Bulkhead{Min: 1, Max: 4}}, fails)
	for name, tt := range map[string]struct {
		rt http.RoundTripper
		b  *recloser.Breaker
	}{
		"Transport":          {through(plain, fails), plain},
		"Transport, watched": {watched, plain},
		"GuardedTransport":   {g.tr, g.Breaker()},
	} {
		for body, from := range map[string]io.Reader{
			"no body": nil, "a body": strings.NewReader("guest"), "a body that breaks off": io.NopCloser(&brokenBody{err: errReset, left: 3}),
		} {
			failed := tt.b.Stats().Failed
			if _, err := tt.rt.RoundTrip(g.request("PUT", from)); err != odd { //nolint:errorlint // errors.Is panics
				t.Errorf("%s, %s: got %T", name, body, err)
			}
			wantEnded(t, tt.b, 0, failed+1, 0)
		}
	}
}

// panicky is a body that cannot be closed.
type panicky struct{ io.Reader }

func (panicky) Close() error { panic("boom") }

func TestPanicOfABodyEndsTheCall(t *testing.T) {
	for name, timeout := range map[string]time.Duration{"plain": 0, "watched": time.Minute} {
		t.Run(name, func(t *testing.T) {
			b := newBreaker(t, recloser.Config{})
			tr := through(b, func(req *http.Request) (*http.Response, error) { // switched protocols unasked, so it is closed
				return response(req, 101, panicky{strings.NewReader("x")}), nil
			})
			tr.Timeout = timeout
			func() {
				defer func() { _ = recover() }()
				_, err := get(t, tr)
				t.Errorf("it came back with %v", err)
			}()
			wantEnded(t, b, 0, 1, 0)
		})
	}
}

// A caller may be gone without having closed the body. The call ends as if he
// had gone on reading.
func TestBodyThatIsLeftOpenKeepsNoSlot(t *testing.T) {
	ignored := func(*http.Response) recloser.Outcome { return recloser.Ignored }
	for name, c := range map[string]struct {
		status          int
		classify        func(*http.Response) recloser.Outcome
		cause           error
		failed, ignored uint64
	}{
		"good":                 {200, nil, nil, 0, 1},
		"failed":               {500, nil, nil, 1, 0},
		"ignored by the hook":  {200, ignored, nil, 0, 1},
		"cut short":            {200, nil, &httpbreaker.Cut{Outcome: recloser.Failure}, 1, 0},
		"cut short as no good": {200, nil, &httpbreaker.Cut{Outcome: recloser.Ignored}, 0, 1},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				g := newGuarded(t, guard.Config{Breaker: tolerant(), Bulkhead: guard.Bulkhead{Max: 1}}, answers(c.status))
				g.tr.Classify = c.classify
				ctx, cancel := context.WithCancelCause(t.Context())
				before := runtime.NumGoroutine()
				if _, err := g.tr.RoundTrip(g.request("GET", nil).WithContext(ctx)); err != nil {
					t.Fatal(err)
				}
				if n := runtime.NumGoroutine(); n > before {
					t.Errorf("%d goroutines, %d before", n, before)
				}
				if _, err := g.Allow(t.Context()); !errors.Is(err, guard.ErrFull) {
					t.Fatalf("with an open body: got %v, want a refusal", err)
				}
				cancel(c.cause)
				synctest.Wait()
				wantEnded(t, g.Breaker(), 0, c.failed, c.ignored)
				if _, err := g.Allow(t.Context()); err != nil {
					t.Errorf("when the caller is gone: %v", err)
				}
			})
		})
	}
}

// A panic in guard.Retry.If or in a later attempt goes on, and leaves nothing open.
func TestPanicBetweenAttempts(t *testing.T) {
	panics := func(*http.Request) (*http.Response, error) { panic("boom") }
	for name, second := range map[string]base{"If, of a response": answers(503), "If, of an error": reset, "the attempt": panics} {
		t.Run(name, func(t *testing.T) {
			open := 0
			body := func() (io.ReadCloser, error) {
				open++
				return &counted{io.NopCloser(strings.NewReader("guest=17")), func() { open-- }}, nil
			}
			s := &script{T: t, steps: []base{answers(503), second}}
			retry, asked := thrice(), 0
			retry.If = func(error) bool {
				if asked++; asked == 2 {
					panic("boom")
				}
				return true
			}
			g := newGuarded(t, guard.Config{Breaker: tolerant(), Retry: retry, Bulkhead: guard.Bulkhead{Max: 1}}, s.RoundTrip)
			req := g.request("PUT", nil)
			req.Body, _ = body()
			req.GetBody = body
			func() {
				defer func() { _ = recover() }()
				_, _, err := g.do(req)
				t.Errorf("it came back with %v", err)
			}()
			if open != 0 || s.open != 0 {
				t.Errorf("%d bodies of requests and %d of responses are open", open, s.open)
			}
			wantEnded(t, g.Breaker(), 0, 1, 0)
		})
	}
}

// Each timeout is told in the words of whose it is.
func TestTimeoutsOfSeveralTransports(t *testing.T) {
	limited := func(rt http.RoundTripper, timeout time.Duration) http.RoundTripper {
		return &httpbreaker.Transport{Base: rt, Timeout: timeout, Breaker: httpbreaker.Fixed[recloser.Breaker](nil)}
	}
	for name, c := range map[string]struct {
		attempt, inside, outside time.Duration
		want                     string
	}{
		"inside":               {recloser.Off, time.Second, time.Hour, "httpbreaker: no answer within 1s"},
		"inside, both limited": {time.Minute, time.Second, time.Hour, "httpbreaker: no answer within 1s"},
		"the attempt's":        {time.Second, time.Minute, time.Hour, `guard: "": the attempt timed out after 1s`},
		"outside":              {recloser.Off, time.Minute, time.Second, "httpbreaker: no answer within 1s"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				g := newGuarded(t, guard.Config{Breaker: tolerant(), AttemptTimeout: c.attempt}, nil)
				g.tr.Base = limited(base(hang), c.inside)
				_, err := limited(g.tr, c.outside).RoundTrip(g.request("GET", nil))
				if err == nil || err.Error() != c.want {
					t.Errorf("got %v, want %s", err, c.want)
				}
			})
		})
	}
}
