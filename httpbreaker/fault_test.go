package httpbreaker_test

import (
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/recloser-go/recloser"
	"github.com/recloser-go/recloser/httpbreaker"
)

// A program that has run out of sockets must not cut off all that it calls.
func TestOurOwnShortageIsIgnored(t *testing.T) {
	for _, tt := range []struct {
		no      syscall.Errno
		ignored uint64
	}{
		{syscall.EMFILE, 1},
		{syscall.ENFILE, 1},
		{syscall.EADDRNOTAVAIL, 1},
		{syscall.ENOBUFS, 1},
		{syscall.ECONNREFUSED, 0},
	} {
		t.Run(tt.no.Error(), func(t *testing.T) {
			b := newBreaker(t, recloser.Config{})
			_, err := get(t, through(b, func(*http.Request) (*http.Response, error) {
				return nil, &net.OpError{Op: "dial", Net: "tcp", Err: os.NewSyscallError("socket", tt.no)}
			}))
			if own := new(httpbreaker.ShortageError); errors.As(err, &own) != (tt.ignored == 1) || !errors.Is(err, tt.no) {
				t.Errorf("got %v", err)
			}
			wantEnded(t, b, 0, 1-tt.ignored, tt.ignored)
		})
	}
}

// To ask for a host's address takes a socket too. The Go resolver, out of file
// descriptors, gave the first of these texts, and wraps no error.
func TestShortageInTheResolverIsIgnored(t *testing.T) {
	for text, ignored := range map[string]uint64{
		"dial udp [::1]:53: socket: " + syscall.EMFILE.Error(): 1,
		"dial udp [::1]:53: socket: " + syscall.ENFILE.Error(): 1,
		"no such host": 0,
		"read udp [::1]:4->[::1]:53: i/o timeout": 0,
		"": 0,
	} {
		b := newBreaker(t, recloser.Config{})
		_, err := get(t, through(b, func(*http.Request) (*http.Response, error) {
			return nil, &net.OpError{Op: "dial", Net: "tcp", Err: &net.DNSError{Err: text, Name: "hotel-1.example"}}
		}))
		if own := new(httpbreaker.ShortageError); errors.As(err, &own) != (ignored == 1) {
			t.Errorf("%q: got %v", text, err)
		}
		wantEnded(t, b, 0, 1-ignored, ignored)
	}
}

func TestSwitchedProtocols(t *testing.T) {
	for _, tt := range []struct {
		name, offered, switched string
		failed                  uint64
	}{
		{"as asked", "echo", "Echo", 0},
		{"one of several", "h2c, echo", "echo", 0},
		{"unasked", "", "echo", 1},
		{"another one", "chat", "echo", 1},
		{"to nothing", "", "", 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			closed := make(chan struct{})
			srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				conn, rw, err := http.NewResponseController(w).Hijack()
				if err != nil {
					panic(err)
				}
				defer close(closed)
				defer conn.Close()
				head := "HTTP/1.1 101 Switching Protocols\r\n"
				if tt.switched != "" {
					head += "Connection: Upgrade\r\nUpgrade: " + tt.switched + "\r\n"
				}
				_, _ = rw.WriteString(head + "\r\n")
				_ = rw.Flush()
				_, _ = io.Copy(io.Discard, conn) // until the other side closes
			}))
			defer srv.Close()
			b := newBreaker(t, recloser.Config{})
			req, _ := http.NewRequestWithContext(t.Context(), http.MethodGet, srv.URL, nil)
			if tt.offered != "" {
				req.Header = http.Header{"Connection": {"Upgrade"}, "Upgrade": {tt.offered}}
			}
			tr := overTheWire(t, b)
			resp, err := tr.RoundTrip(req)
			if tt.failed == 0 {
				if err != nil {
					t.Fatal(err)
				}
				_ = resp.Body.Close()
			} else if err == nil || !strings.Contains(err.Error(), "switched protocols unasked") {
				t.Errorf("got %v, %v", resp, err)
			}
			tr.Base.(*http.Transport).CloseIdleConnections()
			select {
			case <-closed:
			case <-time.After(20 * time.Second):
				t.Error("the connection is still open")
			}
			wantEnded(t, b, 1-tt.failed, tt.failed, 0)
		})
	}
}
