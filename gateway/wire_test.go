package gateway

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/recloser-go/recloser/gateway/internal/config"
	"github.com/recloser-go/recloser/internal/eventually"
)

// dial opens a connection to the gateway and writes what a well-behaved client
// might not.
func dial(t *testing.T, g *Gateway, written string) net.Conn {
	t.Helper()
	conn, err := net.Dial("tcp", g.Addr())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	_ = conn.SetDeadline(time.Now().Add(patience))
	if _, err := io.WriteString(conn, written); err != nil {
		t.Fatal(err)
	}
	return conn
}

// What the dependency sees of a request, byte for byte.
func TestGatewayPassesRequestsAsTheyAreWritten(t *testing.T) {
	type seen struct{ uri, upgrade, settings, trailer, body string }
	got := make(chan seen, 1)
	upstream := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		got <- seen{r.RequestURI, r.Header.Get("Upgrade"), r.Header.Get("Http2-Settings"), r.Trailer.Get("X-Sum"), string(body)}
	}))
	defer upstream.Close()
	g, _ := startGateway(t, fmt.Sprintf(`
listen: "127.0.0.1:0"
admin: { listen: "127.0.0.1:0" }
dependencies: { a: { url: "%s/v1" } }
routes: [ { path: "/hotels/{dependency}/*" } ]
`, upstream.URL))
	for _, tt := range []struct {
		name, path, rest string
		want             seen
	}{
		{"odd bytes", "/hotels/a/a%2Fb\"c", "\r\n", seen{uri: "/v1/a%2Fb%22c"}},
		{"plain UTF-8", "/hotels/a/h\u00f6he/a%2fb<c>", "\r\n", seen{uri: "/v1/h%C3%B6he/a%2fb%3Cc%3E"}},
		{"h2c", "/hotels/a/x", "Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABk\r\n\r\n", seen{uri: "/v1/x"}},
		{"h2c, settings kept", "/hotels/a/x", "Connection: Upgrade\r\nUpgrade: websocket, H2C\r\nHTTP2-Settings: AAMAAABk\r\n\r\n", seen{uri: "/v1/x"}},
		{"websocket", "/hotels/a/x", "Connection: Upgrade\r\nUpgrade: websocket\r\n\r\n", seen{uri: "/v1/x", upgrade: "websocket"}},
		{
			"trailer", "/hotels/a/x", "Transfer-Encoding: chunked\r\nTrailer: X-Sum\r\n\r\n5\r\nguest\r\n0\r\nX-Sum: 42\r\n\r\n",
			seen{uri: "/v1/x", body: "guest", trailer: "42"},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			conn := dial(t, g, "POST "+tt.path+" HTTP/1.1\r\nHost: gateway\r\n"+tt.rest)
			resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
			if err != nil {
				t.Fatal(err)
			}
			_ = resp.Body.Close()
			if resp.StatusCode != http.StatusOK {
				t.Fatalf("got %d", resp.StatusCode)
			}
			if s := <-got; s != tt.want {
				t.Errorf("reached as %+v\nwant %+v", s, tt.want)
			}
		})
	}
}

// Connections on which nothing runs keep nobody waiting and are no calls.
func TestGatewayStopsWithConnectionsOpen(t *testing.T) {
	g, _ := newGateway(t, `
listen: "127.0.0.1:0"
admin: { listen: "127.0.0.1:0" }
dependencies: { a: { url: "http://127.0.0.1:1" } }
routes: [ { path: "/hotels/{dependency}/*" } ]
`)
	if err := g.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	bare := dial(t, g, "")
	half := dial(t, g, "GET /hotels/a/x HTTP/1.1\r\nHo")
	kept := dial(t, g, "GET /nowhere HTTP/1.1\r\nHost: x\r\n\r\n")
	if resp, err := http.ReadResponse(bufio.NewReader(kept), nil); err != nil || resp.StatusCode != http.StatusNotFound {
		t.Fatalf("%v, %v", resp, err)
	}
	eventually.True(t, patience, func() bool { return incomplete(g.calls) == 2 }, "both connections to be accepted")
	ctx, cancel := context.WithTimeout(t.Context(), 4*time.Second) // the server alone would wait longer
	defer cancel()
	if err := g.Stop(ctx); err != nil || ctx.Err() != nil {
		t.Errorf("stopping used up its time: %v, %v", err, ctx.Err())
	}
	for name, conn := range map[string]net.Conn{"bare": bare, "half": half, "kept": kept} {
		if n, err := conn.Read(make([]byte, 1)); n > 0 || err == nil || strings.Contains(err.Error(), "timeout") {
			t.Errorf("%s: %d bytes, %v", name, n, err)
		}
	}
}

// incomplete returns how many connections have sent no complete request.
func incomplete(l *listener) (n int) {
	for range l.fresh.Range {
		n++
	}
	return n
}

// A connection that outlasts its call, here as the server waits for the rest of
// the body, is not a call that was cut off.
func TestListenerSaysCutOffOnlyOfCalls(t *testing.T) {
	for _, runs := range []bool{true, false} {
		t.Run(fmt.Sprintf("a call runs: %t", runs), func(t *testing.T) {
			begun, end := make(chan struct{}), make(chan struct{})
			l := newListener("listen", "127.0.0.1:0", nil, config.Limits{}, http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
				close(begun)
				<-end
			}), slog.New(slog.DiscardHandler))
			if err := l.open(t.Context(), "test.yaml"); err != nil {
				t.Fatal(err)
			}
			served := make(chan error, 1)
			go func() { served <- l.serve() }()
			conn, err := net.Dial("tcp", l.addr())
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			_, _ = io.WriteString(conn, "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\nabc")
			<-begun
			if runs {
				defer close(end)
			} else {
				close(end)
				eventually.True(t, patience, func() bool { return l.running.Load() == 0 }, "the call to end")
			}
			ctx, cancel := context.WithCancel(t.Context())
			cancel()
			if err := l.stop(ctx); (err != nil) != runs {
				t.Errorf("stop: %v", err)
			}
			if err := <-served; err != nil {
				t.Error(err)
			}
		})
	}
}
