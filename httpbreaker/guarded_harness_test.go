package httpbreaker_test

import (
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/recloser-go/recloser"
	"github.com/recloser-go/recloser/guard"
	"github.com/recloser-go/recloser/httpbreaker"
)

// tolerant is a breaker that does not trip by itself.
func tolerant() recloser.Config {
	return recloser.Config{Consecutive: recloser.Off, FailureRate: recloser.Off, RetryAfterMax: recloser.Off}
}

// thrice makes three attempts, without a budget.
func thrice() guard.Retry {
	return guard.Retry{Attempts: 3, Budget: recloser.Off, Backoff: time.Millisecond}
}

// guarded is a dependency behind a guard.
type guarded struct {
	*testing.T
	*guard.Guard
	tr *httpbreaker.GuardedTransport
}

func newGuarded(t *testing.T, cfg guard.Config, rt base) *guarded {
	t.Helper()
	g, err := guard.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return &guarded{t, g, &httpbreaker.GuardedTransport{Base: rt, Guard: httpbreaker.Fixed(g)}}
}

func (g *guarded) request(method string, body io.Reader) *http.Request {
	g.Helper()
	req, err := http.NewRequestWithContext(g.Context(), method, "http://hotel-1.example/access", body)
	if err != nil {
		g.Fatal(err)
	}
	return req
}

// do makes a request and reads what it gets to the end.
func (g *guarded) do(req *http.Request) (status int, body string, err error) {
	resp, err := g.tr.RoundTrip(req)
	if err != nil {
		return 0, "", err
	}
	all, err := io.ReadAll(resp.Body)
	return resp.StatusCode, string(all), errors.Join(err, resp.Body.Close())
}

// script answers one request after the other.
type script struct {
	*testing.T
	steps []base
	seen  []string // the bodies
	open  int      // responses whose bodies are not closed
}

func (s *script) RoundTrip(req *http.Request) (*http.Response, error) {
	body := ""
	if req.Body != nil {
		all, err := io.ReadAll(req.Body)
		if err != nil {
			return nil, errors.Join(err, req.Body.Close())
		}
		_ = req.Body.Close()
		body = string(all)
	}
	s.seen = append(s.seen, body)
	if len(s.seen) > len(s.steps) {
		s.Fatalf("attempt %d was not expected", len(s.seen))
	}
	resp, err := s.steps[len(s.seen)-1](req)
	if resp != nil {
		s.open++
		resp.Body = &counted{ReadCloser: resp.Body, closed: func() { s.open-- }}
	}
	return resp, err
}

type counted struct {
	io.ReadCloser
	closed func()
}

func (c *counted) Close() error {
	c.closed()
	return c.ReadCloser.Close()
}

var errReset = &net.OpError{Op: "read", Err: errors.New("connection reset by peer")}

func reset(*http.Request) (*http.Response, error) { return nil, errReset }

// onlyOnce is a body that cannot be had anew.
func onlyOnce(s string) io.Reader { return struct{ io.Reader }{strings.NewReader(s)} }
