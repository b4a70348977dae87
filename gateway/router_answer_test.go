package gateway

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/recloser-go/recloser/internal/eventually"
)

// endless answers without end, until nobody takes it, and counts those that run.
func endless(w http.ResponseWriter, r *http.Request) {
	if r.Header.Get("Upgrade") == "" {
		for {
			if _, err := w.Write(make([]byte, 64<<10)); err != nil {
				return
			}
		}
	}
	conn, rw, err := http.NewResponseController(w).Hijack()
	if err != nil {
		return
	}
	defer conn.Close()
	_, _ = rw.WriteString("HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n")
	_ = rw.Flush()
	for {
		if _, err := conn.Write(make([]byte, 64<<10)); err != nil {
			return
		}
	}
}

// A client that has stopped taking its answer holds neither a connection of the
// dependency nor a place among its calls.
func TestClientThatTakesNothingHoldsNothing(t *testing.T) {
	began, over := make(chan struct{}, 1), make(chan struct{}, 1)
	hotel := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		began <- struct{}{}
		endless(w, r)
		over <- struct{}{}
	})
	const limits = "limits: { answer_idle: 300ms }\n"
	free := func(name string, g *Gateway) {
		t.Helper()
		for what, c := range map[string]chan struct{}{"begins": began, "ends": over} {
			select {
			case <-c:
			case <-time.After(patience):
				t.Fatalf("%s: the call of the dependency never %s", name, what)
			}
		}
		d, _ := g.deps.Get("a")
		eventually.True(t, patience, func() bool { return d.Bulkhead.InFlight() == 0 && g.process.InFlight() == 0 }, name+": the place to be free")
		if s := d.Breaker.Stats(); s.Failed+s.Slow > 0 {
			t.Errorf("%s: it is held against the dependency: %+v", name, s)
		}
	}
	for name, way := range protocols(t, hotel, limits) {
		client, base := way.client()
		resp, err := client.Get(base + "/hotels/a/x")
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		free(name, way.gateway)
		_ = resp.Body.Close()
	}
	srv := httptest.NewServer(hotel)
	defer srv.Close()
	g := startOn(t, srv.URL, limits)
	dial(t, g, "GET /hotels/a/x HTTP/1.1\r\nHost: gateway\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n")
	free("WebSocket", g)
}

// A pause of the dependency's own is none of the client's: events may come as seldom as
// they like. Nor does one answer's limit reach into the next one.
func TestEventsMayBeRare(t *testing.T) {
	const pause = 200 * time.Millisecond
	hotel := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		for range 2 {
			_, _ = w.Write(append(make([]byte, 3000), "data\n\n"...))
			_ = http.NewResponseController(w).Flush()
			<-time.After(3 * pause)
		}
	})
	for name, way := range protocols(t, hotel, fmt.Sprintf("limits: { answer_idle: %s }\n", pause)) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			client, base := way.client()
			for range 2 {
				resp, err := client.Get(base + "/hotels/a/x")
				if err != nil {
					t.Fatal(err)
				}
				body, err := io.ReadAll(resp.Body)
				_ = resp.Body.Close()
				if err != nil || len(body) != 2*3006 {
					t.Errorf("%d bytes, %v", len(body), err)
				}
				<-time.After(2 * pause)
			}
		})
	}
}

// That holds for what follows an upgrade as well.
func TestWordsMayBeRare(t *testing.T) {
	const pause = 200 * time.Millisecond
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		conn, rw, err := http.NewResponseController(w).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		defer conn.Close()
		_, _ = rw.WriteString("HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n")
		_ = rw.Flush()
		for range 3 {
			<-time.After(3 * pause)
			_, _ = io.WriteString(conn, "word\n")
		}
	}))
	defer srv.Close()
	g := startOn(t, srv.URL, fmt.Sprintf("limits: { answer_idle: %s }\n", pause))
	in := bufio.NewReader(dial(t, g, "GET /hotels/a/x HTTP/1.1\r\nHost: gateway\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n"))
	if resp, err := http.ReadResponse(in, nil); err != nil || resp.StatusCode != http.StatusSwitchingProtocols {
		t.Fatalf("got %v, %v", resp, err)
	}
	if words, err := io.ReadAll(in); string(words) != "word\nword\nword\n" || err != nil {
		t.Errorf("WebSocket: %q, %v", words, err)
	}
}

// G20: whoever reads slowly has not stopped: bytes move, though the kernel would wake who
// writes only once megabytes of them have.
func TestReaderMayBeSlow(t *testing.T) {
	srv := httptest.NewServer(http.HandlerFunc(endless))
	defer srv.Close()
	g := startOn(t, srv.URL, "limits: { answer_idle: 1500ms }\n")
	conn := dial(t, g, "GET /hotels/a/x HTTP/1.1\r\nHost: gateway\r\n\r\n")
	if err := conn.(*net.TCPConn).SetReadBuffer(128 << 10); err != nil { // else its own kernel takes megabytes, too
		t.Fatal(err)
	}
	fast := func() {
		t.Helper()
		if _, err := io.CopyN(io.Discard, conn, 64<<20); err != nil { // more than is on its way
			t.Fatalf("cut off: %v", err)
		}
	}
	piece, every := make([]byte, 8<<10), time.NewTicker(25*time.Millisecond) // 320 kB/s
	defer every.Stop()
	for range 160 {
		<-every.C
		if _, err := io.ReadFull(conn, piece); err != nil {
			t.Fatalf("cut off while it reads: %v", err)
		}
	}
	fast()
}
