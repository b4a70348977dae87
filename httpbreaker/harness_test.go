package httpbreaker_test

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/recloser-go/recloser"
	"github.com/recloser-go/recloser/httpbreaker"
)

const ms = time.Millisecond

// base is a dependency that a test scripts.
type base func(*http.Request) (*http.Response, error)

func (f base) RoundTrip(req *http.Request) (*http.Response, error) { return f(req) }

// hang waits for the caller to give up, as a transport does.
func hang(req *http.Request) (*http.Response, error) {
	<-req.Context().Done()
	return nil, req.Context().Err()
}

// answers gives every request the same status and, in pairs, headers.
func answers(status int, header ...string) base {
	return func(req *http.Request) (*http.Response, error) {
		return response(req, status, io.NopCloser(strings.NewReader("body")), header...), nil
	}
}

func response(req *http.Request, status int, body io.ReadCloser, header ...string) *http.Response {
	h := make(http.Header)
	for i := 0; i < len(header); i += 2 {
		h.Set(header[i], header[i+1])
	}
	return &http.Response{StatusCode: status, Header: h, Body: body, ContentLength: -1, Request: req}
}

func newBreaker(t *testing.T, cfg recloser.Config) *recloser.Breaker {
	t.Helper()
	cfg.Name = "hotel-1"
	b, err := recloser.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func through(b *recloser.Breaker, rt base) *httpbreaker.Transport {
	return &httpbreaker.Transport{Base: rt, Breaker: func(*http.Request) *recloser.Breaker { return b }}
}

// get makes one request and reads what it gets to the end.
func get(t *testing.T, tr *httpbreaker.Transport) (status int, err error) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://hotel-1.example/access", nil)
	if err != nil {
		t.Fatal(err)
	}
	return do(tr, req)
}

func do(tr *httpbreaker.Transport, req *http.Request) (status int, err error) {
	resp, err := tr.RoundTrip(req)
	if err != nil {
		return 0, err
	}
	_, err = io.Copy(io.Discard, resp.Body)
	return resp.StatusCode, errors.Join(err, resp.Body.Close())
}

func wantState(t *testing.T, b *recloser.Breaker, want recloser.State) {
	t.Helper()
	if got := b.State(); got != want {
		t.Fatalf("state %s, want %s (%+v)", got, want, b.Stats())
	}
}

// wantEnded fails unless exactly these calls have ended, and none runs.
func wantEnded(t *testing.T, b *recloser.Breaker, success, failed, ignored uint64) {
	t.Helper()
	s := b.Stats()
	if s.Success != success || s.Failed != failed || s.Ignored != ignored || s.InFlight != 0 {
		t.Fatalf("ended: %d well, %d failed, %d ignored, %d running; want %d, %d, %d, 0",
			s.Success, s.Failed, s.Ignored, s.InFlight, success, failed, ignored)
	}
}

// pause lets virtual time pass; for use in a synctest bubble.
func pause(d time.Duration) { <-time.After(d) }

// brokenBody gives some bytes and then an error.
type brokenBody struct {
	err  error
	left int
}

func (b *brokenBody) Read(p []byte) (int, error) {
	if b.left == 0 {
		return 0, b.err
	}
	n := min(len(p), b.left)
	b.left -= n
	return n, nil
}

func (b *brokenBody) Close() error { return nil }
