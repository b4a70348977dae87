package httpbreaker_test

import (
	"context"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/recloser-go/recloser/guard"
)

func TestC84BodyIsSentWhole(t *testing.T) {
	const form = "guest=17"
	for name, c := range map[string]struct {
		method   string
		key      string
		body     io.Reader
		unmarked bool
		steps    []base
		sent     int
	}{
		"a POST with a key":               {"POST", "8e03978e", strings.NewReader(form), false, []base{reset, answers(503), answers(200)}, 3},
		"a POST, and all are retried":     {"POST", "", strings.NewReader(form), true, []base{reset, answers(200)}, 2},
		"a PUT":                           {"PUT", "", strings.NewReader(form), false, []base{answers(502), answers(200)}, 2},
		"a POST":                          {"POST", "", strings.NewReader(form), false, []base{reset}, 1},
		"a body that is there only once":  {"POST", "8e03978e", onlyOnce(form), false, []base{reset}, 1},
		"only once, and all are retried":  {"POST", "", onlyOnce(form), true, []base{answers(503)}, 1},
		"a PUT with a body of one reader": {"PUT", "", onlyOnce(form), false, []base{answers(503)}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &script{T: t, steps: c.steps}
				cfg := guard.Config{Breaker: tolerant(), Retry: thrice()}
				cfg.Retry.Unmarked = c.unmarked
				g := newGuarded(t, cfg, s.RoundTrip)
				req := g.request(c.method, c.body)
				if c.key != "" {
					req.Header.Set("Idempotency-Key", c.key)
				}
				_, _, err := g.do(req)
				if good := c.sent == len(c.steps) && c.sent > 1; good && err != nil {
					t.Error(err)
				}
				if len(s.seen) != c.sent {
					t.Errorf("sent %d times, want %d", len(s.seen), c.sent)
				}
				for i, body := range s.seen {
					if body != form {
						t.Errorf("attempt %d sent %q", i+1, body)
					}
				}
				if s.open != 0 {
					t.Errorf("%d responses were not closed", s.open)
				}
			})
		})
	}
}

// slowBody gives its bytes bit by bit, unless its request's context is done.
type slowBody struct {
	ctx   context.Context
	left  int
	every time.Duration
}

func (b *slowBody) Read(p []byte) (int, error) {
	pause(b.every)
	if b.ctx.Err() != nil {
		return 0, context.Cause(b.ctx)
	}
	if b.left == 0 {
		return 0, io.EOF
	}
	n := min(len(p), b.left, 16<<10)
	b.left -= n
	return n, nil
}

func (b *slowBody) Close() error { return nil }

func TestC85TimeoutsAreNotTheBodys(t *testing.T) {
	const size = 1 << 20
	for name, cfg := range map[string]guard.Config{
		"of an attempt": {AttemptTimeout: time.Second},
		"of the call":   {Timeout: time.Second},
		"both":          {Timeout: time.Second, AttemptTimeout: 500 * time.Millisecond},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				cfg.Breaker = tolerant()
				cfg.Breaker.SlowCall, cfg.Breaker.CancelOnTrip = time.Second, true
				var ctx context.Context
				g := newGuarded(t, cfg, func(req *http.Request) (*http.Response, error) {
					ctx = req.Context()
					pause(400 * time.Millisecond)
					return response(req, 200, &slowBody{req.Context(), size, time.Second}), nil
				})
				began := time.Now()
				_, body, err := g.do(g.request("GET", nil))
				if err != nil || len(body) != size || time.Since(began) < time.Minute {
					t.Errorf("%d bytes after %s, %v", len(body), time.Since(began), err)
				}
				wantEnded(t, g.Breaker(), 1, 0, 0)
				if ctx.Err() == nil {
					t.Error("the request's context lives on after its body")
				}
			})
		})
	}
}
