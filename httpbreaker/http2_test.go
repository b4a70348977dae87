package httpbreaker_test

import (
	"bufio"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/recloser-go/recloser"
	"github.com/recloser-go/recloser/httpbreaker"
)

// overHTTP2 returns a server and a Transport that calls it over HTTP/2, where
// bodies go both ways at once.
func overHTTP2(t *testing.T, b *recloser.Breaker, h http.HandlerFunc) (*httptest.Server, *httpbreaker.Transport) {
	t.Helper()
	srv := httptest.NewUnstartedServer(h)
	srv.EnableHTTP2 = true
	srv.StartTLS()
	t.Cleanup(srv.Close)
	return srv, &httpbreaker.Transport{Base: srv.Client().Transport, Breaker: httpbreaker.Fixed(b), Timeout: time.Minute}
}

func TestBodiesThatGoBothWaysAtOnce(t *testing.T) {
	b := newBreaker(t, recloser.Config{CancelOnTrip: true, SlowCall: time.Minute})
	srv, tr := overHTTP2(t, b, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Trailer", "Sum")
		lines := bufio.NewScanner(r.Body)
		_ = http.NewResponseController(w).Flush()
		for lines.Scan() {
			_, _ = io.WriteString(w, lines.Text()+"\n")
			_ = http.NewResponseController(w).Flush()
		}
		w.Header().Set("Sum", "42")
	})
	body, up := io.Pipe()
	req, _ := http.NewRequestWithContext(t.Context(), http.MethodPost, srv.URL, body)
	resp, err := tr.RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	if err := b.TripFor(time.Minute, "test", "test"); err != nil { // must not touch it
		t.Fatal(err)
	}
	lines := bufio.NewScanner(resp.Body)
	for range 3 {
		_, _ = io.WriteString(up, "face\n")
		if !lines.Scan() || lines.Text() != "face" {
			t.Fatalf("read %q, %v", lines.Text(), lines.Err())
		}
	}
	_ = up.Close()
	if lines.Scan() || lines.Err() != nil || resp.ProtoMajor != 2 || resp.Trailer.Get("Sum") != "42" {
		t.Errorf("ended with %v over %s, trailer %v", lines.Err(), resp.Proto, resp.Trailer)
	}
	wantEnded(t, b, 1, 0, 0)
}

// An answer that comes before the request's body is sent, and breaks off.
func TestStreamsThatAreReset(t *testing.T) {
	for _, tt := range []struct {
		name            string
		handler         http.HandlerFunc
		success, failed uint64
	}{
		{"before the answer", func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, 0, 1},
		{"in the answer", func(w http.ResponseWriter, _ *http.Request) {
			_, _ = io.WriteString(w, "half of")
			_ = http.NewResponseController(w).Flush()
			panic(http.ErrAbortHandler)
		}, 0, 1},
		{"with all of the answer there", func(w http.ResponseWriter, _ *http.Request) {
			_, _ = io.WriteString(w, "enough said")
		}, 1, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			b := newBreaker(t, recloser.Config{})
			srv, tr := overHTTP2(t, b, tt.handler)
			body, up := io.Pipe() // never ends
			defer up.Close()
			req, _ := http.NewRequestWithContext(t.Context(), http.MethodPost, srv.URL, body)
			if _, err := do(tr, req); (err == nil) != (tt.success == 1) {
				t.Errorf("got %v", err)
			}
			wantEnded(t, b, tt.success, tt.failed, 0)
		})
	}
}
