package httpbreaker_test

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/recloser-go/recloser/guard"
)

// The responses of failed attempts give their connection back, and a body is
// sent whole over it again and again.
func TestDroppedResponsesOverTheWire(t *testing.T) {
	form := strings.Repeat("guest=17&", 1<<14)
	for name, answer := range map[string]string{"short": "busy", "empty": "", "long": strings.Repeat("busy ", 1<<20)} {
		t.Run(name, func(t *testing.T) {
			var connections, requests atomic.Int64
			srv := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				body, err := io.ReadAll(r.Body)
				if err != nil || string(body) != form {
					t.Errorf("%d bytes arrived, %v", len(body), err)
				}
				if requests.Add(1)%3 != 0 {
					w.WriteHeader(http.StatusServiceUnavailable)
					_, _ = io.WriteString(w, answer)
				}
			}))
			srv.Config.ConnState = func(_ net.Conn, s http.ConnState) {
				if s == http.StateNew {
					connections.Add(1)
				}
			}
			srv.Start()
			defer srv.Close()
			wire := &http.Transport{}
			defer wire.CloseIdleConnections()
			g := newGuarded(t, guard.Config{Breaker: tolerant(), Timeout: time.Minute, AttemptTimeout: 30 * time.Second, Retry: thrice()}, wire.RoundTrip)
			const calls = 5
			for range calls {
				req, err := http.NewRequestWithContext(t.Context(), http.MethodPut, srv.URL, strings.NewReader(form))
				if err != nil {
					t.Fatal(err)
				}
				if status, _, err := g.do(req); status != 200 || err != nil {
					t.Fatalf("got %d, %v", status, err)
				}
			}
			if n := requests.Load(); n != 3*calls {
				t.Errorf("%d attempts, want %d", n, 3*calls)
			}
			if n := connections.Load(); len(answer) < 1000 && n != 1 {
				t.Errorf("%d connections for one request after the other, want 1", n)
			}
			wantEnded(t, g.Breaker(), calls, 0, 0)
		})
	}
}

// stuckBody gives nothing until it is closed.
type stuckBody struct{ closed chan struct{} }

func (b *stuckBody) Read([]byte) (int, error) {
	<-b.closed
	return 0, fmt.Errorf("read of a closed body")
}

func (b *stuckBody) Close() error {
	select {
	case <-b.closed:
	default:
		close(b.closed)
	}
	return nil
}

func TestDroppedResponseThatHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		attempts := 0
		g := newGuarded(t, guard.Config{Breaker: tolerant(), Retry: thrice()}, func(req *http.Request) (*http.Response, error) {
			if attempts++; attempts == 1 {
				return response(req, 503, &stuckBody{make(chan struct{})}), nil
			}
			return answers(200)(req)
		})
		began := time.Now()
		if status, _, err := g.do(g.request("GET", nil)); status != 200 || err != nil || time.Since(began) > time.Second {
			t.Errorf("got %d, %v after %s", status, err, time.Since(began))
		}
	})
}
