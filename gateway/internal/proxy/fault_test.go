package proxy_test

import (
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"

	"github.com/recloser-go/recloser"
	"github.com/recloser-go/recloser/gateway/gatewaytest"
	"github.com/recloser-go/recloser/gateway/internal/config"
)

func TestSwitchedUnasked(t *testing.T) {
	for name, header := range map[string]http.Header{
		"no upgrade":      {},
		"another upgrade": {"Connection": {"Upgrade"}, "Upgrade": {"chat"}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBench(t, gatewaytest.Switch("echo"))
				resp := b.open("/hotels/hotel-1/", header)
				if resp.StatusCode != http.StatusBadGateway || resp.Header.Get("Recloser-Reason") != "failed" {
					t.Errorf("got %d, %v", resp.StatusCode, resp.Header)
				}
				synctest.Wait()
				if s := b.breaker.Stats(); s.Failed != 1 || s.InFlight != 0 || b.hotel.Running() != 0 {
					t.Errorf("%d failed, %d in flight, %d connections at the dependency", s.Failed, s.InFlight, b.hotel.Running())
				}
			})
		})
	}
}

// A connection on which a body is left unread dies. A client that is not told
// sends its next request there.
func TestErrorBeforeTheBodyWasReadClosesTheConnection(t *testing.T) {
	tests := []struct {
		name      string
		size      int64
		sends     bool // else the client has not begun to send
		tripped   bool
		behaviour gatewaytest.Behaviour
		status    int
		closes    bool
	}{
		{"refused, body unread", 1 << 20, false, true, nil, http.StatusServiceUnavailable, true},
		{"refused, no body", 0, true, true, nil, http.StatusServiceUnavailable, false},
		{"timeout, body read", 1 << 20, true, false, gatewaytest.Hang(), http.StatusGatewayTimeout, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBench(t, tt.behaviour)
				if tt.tripped {
					b.trip()
				}
				r, w := io.Pipe()
				defer w.Close()
				if tt.sends {
					go func() {
						_, _ = w.Write(make([]byte, tt.size))
						_ = w.Close()
					}()
				}
				req, _ := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://gateway.example/hotels/hotel-1/", r)
				req.ContentLength = tt.size
				if tt.size == 0 {
					req.Body = http.NoBody
				}
				resp, err := b.client.Do(req)
				if err != nil {
					t.Fatal(err)
				}
				defer resp.Body.Close()
				if resp.StatusCode != tt.status || resp.Close != tt.closes {
					t.Errorf("got %d, the connection closes: %t; want %d, %t", resp.StatusCode, resp.Close, tt.status, tt.closes)
				}
			})
		})
	}
}

// noSockets is a transport on a machine that has run out of them.
type noSockets struct{}

func (noSockets) RoundTrip(*http.Request) (*http.Response, error) {
	return nil, &net.OpError{Op: "dial", Net: "tcp", Err: os.NewSyscallError("socket", syscall.EMFILE)}
}

func TestOurOwnShortage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, gatewaytest.Yes(), func(d *config.Dependency, _ *config.Route) { d.Settings.Consecutive = 1 })
		b.dep.Transport = noSockets{}
		for range 10 {
			a := b.get("/hotels/hotel-1/")
			if a.status != http.StatusServiceUnavailable || a.problem.Reason != "no socket" || !strings.Contains(a.problem.Detail, "the gateway is short of sockets") {
				t.Fatalf("got %+v", a)
			}
		}
		b.wantState(recloser.Closed)
		if s := b.breaker.Stats(); s.Ignored != 10 || s.Failed != 0 {
			t.Errorf("%d ignored, %d failed", s.Ignored, s.Failed)
		}
		if !strings.Contains(b.log.String(), "level=WARN") || !strings.Contains(b.log.String(), "too many open files") {
			t.Errorf("logged %q", b.log)
		}
	})
}
