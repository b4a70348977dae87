package httpbreaker_test

import (
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"testing/iotest"
	"time"

	"github.com/recloser-go/recloser"
	"github.com/recloser-go/recloser/httpbreaker"
)

// The tests of this file run the real http.Transport over the wire: what it
// does with contexts and bodies is what the rest of the package relies on.

func TestConnectionsAreReused(t *testing.T) {
	var connections atomic.Int64
	srv := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(w, r.Body)
		_, _ = io.WriteString(w, strings.Repeat("yes ", 4096))
	}))
	srv.Config.ConnState = func(_ net.Conn, s http.ConnState) {
		if s == http.StateNew {
			connections.Add(1)
		}
	}
	srv.Start()
	defer srv.Close()
	b := newBreaker(t, recloser.Config{CancelOnTrip: true})
	tr := overTheWire(t, b)
	for range 50 {
		req, _ := http.NewRequestWithContext(t.Context(), http.MethodPost, srv.URL, strings.NewReader("guest"))
		if status, err := do(tr, req); status != 200 || err != nil {
			t.Fatalf("got %d, %v", status, err)
		}
	}
	if n := connections.Load(); n != 1 {
		t.Errorf("%d connections for 50 calls in a row, want 1", n)
	}
	wantEnded(t, b, 50, 0, 0)
}

func TestWireFaults(t *testing.T) {
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, err := io.Copy(io.Discard, r.Body); err != nil {
			return
		}
		switch r.URL.Path {
		case "/half":
			w.Header().Set("Content-Length", "2048")
			_, _ = io.WriteString(w, strings.Repeat("x", 1024))
		case "/reset":
			panic(http.ErrAbortHandler)
		}
	}))
	defer srv.Close()
	gone := errors.New("client hung up")
	tests := []struct {
		path                     string
		body                     io.Reader
		success, failed, ignored uint64
		own                      bool
	}{
		{"/", nil, 1, 0, 0, false},
		{"/half", nil, 0, 1, 0, false},
		{"/reset", nil, 0, 1, 0, false},
		{"/reset", strings.NewReader("guest"), 0, 1, 0, false},
		{"/", iotest.ErrReader(gone), 0, 0, 1, true},
		{"/", io.MultiReader(strings.NewReader("gue"), iotest.ErrReader(gone)), 0, 0, 1, true},
	}
	for _, tt := range tests {
		b := newBreaker(t, recloser.Config{})
		req, _ := http.NewRequestWithContext(t.Context(), http.MethodPost, srv.URL+tt.path, tt.body)
		_, err := do(overTheWire(t, b), req)
		if own := new(httpbreaker.RequestBodyError); errors.As(err, &own) != tt.own {
			t.Errorf("%s: got %v", tt.path, err)
		}
		wantEnded(t, b, tt.success, tt.failed, tt.ignored)
	}
}

func overTheWire(t *testing.T, b *recloser.Breaker) *httpbreaker.Transport {
	t.Helper()
	wire := &http.Transport{}
	t.Cleanup(wire.CloseIdleConnections)
	return &httpbreaker.Transport{
		Base:    wire,
		Breaker: func(*http.Request) *recloser.Breaker { return b },
		Timeout: time.Minute,
	}
}
