package gateway

import (
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

	"github.com/recloser-go/recloser"
	"github.com/recloser-go/recloser/gateway/gatewaytest"
	"github.com/recloser-go/recloser/gateway/internal/config"
	"github.com/recloser-go/recloser/internal/eventually"
)

const patience = 20 * time.Second // for what takes milliseconds on an idle machine

func newGateway(t *testing.T, yaml string) (*Gateway, *gatewaytest.Log) {
	t.Helper()
	log := &gatewaytest.Log{}
	g, err := New(Options{Config: parse(t, yaml), Log: slog.New(slog.NewTextHandler(log, nil))})
	if err != nil {
		t.Fatal(err)
	}
	return g, log
}

// parse reads a config, which has no storage unless it says so.
func parse(t *testing.T, yaml string) *config.Config {
	t.Helper()
	c, err := config.Parse("test.yaml", []byte(yaml))
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(yaml, "storage:") {
		c.Storage.Path = ""
	}
	return c
}

func startGateway(t *testing.T, yaml string) (*Gateway, *gatewaytest.Log) {
	t.Helper()
	g, log := newGateway(t, yaml)
	if err := g.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { stop(t, g) })
	return g, log
}

func stop(t *testing.T, g *Gateway) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), patience) // it is done in a cleanup
	defer cancel()
	if err := g.Stop(ctx); err != nil {
		t.Error(err)
	}
}

// While no call comes, the ticker alone judges one that hangs, and ends an open
// time; people are told in the log and by message.
func TestGatewayNoticesWithoutCalls(t *testing.T) {
	hook := make(chan string, 10)
	teams := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		hook <- string(body)
		w.WriteHeader(http.StatusAccepted)
	}))
	defer teams.Close()
	hangs := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }))
	defer hangs.Close()

	g, log := startGateway(t, fmt.Sprintf(`
listen: "127.0.0.1:0"
admin: { listen: "127.0.0.1:0", url: "https://panel.example" }
dependencies:
  hotel-1:
    url: %q
    name: Aurora
    breaker: { slow_call: 60ms, consecutive: 1, open_for: 100ms, jitter: off }
routes: [ { path: "/hotels/{dependency}/*" } ]
alerts: { teams: [ { url: "%s/secret-path" } ] }
`, hangs.URL, teams.URL))

	resp, err := http.Get("http://" + g.Addr() + "/hotels/hotel-1/x")
	if err != nil {
		t.Fatal(err)
	}
	_ = resp.Body.Close()
	if resp.StatusCode != http.StatusServiceUnavailable || resp.Header.Get("Recloser-Reason") != "released" {
		t.Errorf("the caller got %d, %v", resp.StatusCode, resp.Header)
	}
	d, _ := g.Dependencies().Get("hotel-1")
	eventually.True(t, patience, func() bool { return d.Breaker.State() == recloser.HalfOpen }, "the open time to end by itself")
	for _, want := range []string{
		`level=WARN msg="dependency changed state" dependency=hotel-1 from=closed to=open effect="cut off" reason=run bad=1 judged=1 open_for=100ms`,
		`level=INFO msg="dependency changed state" dependency=hotel-1 from=open to=half-open effect="on trial" reason="open time over"`,
	} {
		eventually.True(t, patience, func() bool { return strings.Contains(log.String(), want) }, want)
	}
	select {
	case card := <-hook:
		if !strings.Contains(card, "Aurora") || !strings.Contains(card, "https://panel.example") {
			t.Errorf("card %s", card)
		}
	case <-time.After(patience):
		t.Error("no message")
	}
	if strings.Contains(log.String(), "secret-path") {
		t.Error("the log shows the webhook's url")
	}
}

func TestGatewayLogsOperators(t *testing.T) {
	g, log := startGateway(t, `
listen: "127.0.0.1:0"
admin: { listen: "127.0.0.1:0" }
dependencies: { a: { url: "http://127.0.0.1:1" } }
routes: [ { path: "/{dependency}/*" } ]
`)
	d, _ := g.Dependencies().Get("a")
	if err := d.Breaker.Isolate("mira", "new lift", time.Time{}); err != nil {
		t.Fatal(err)
	}
	want := `level=INFO msg="dependency changed state" dependency=a from=closed to=isolated effect="cut off by hand" reason=isolated bad=0 judged=0 by=mira note="new lift"`
	eventually.True(t, patience, func() bool { return strings.Contains(log.String(), want) }, want)
}

// Both addresses are taken before anything runs, or none is.
func TestGatewayStartsWholeOrNotAtAll(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr := free.Addr().String()
	_ = free.Close()

	g, log := newGateway(t, fmt.Sprintf(`
listen: %q
admin: { listen: %q }
dependencies: { a: { url: "http://127.0.0.1:1" } }
routes: [ { path: "/{dependency}/*" } ]
`, addr, taken.Addr()))
	err = g.Run(t.Context())
	want := fmt.Sprintf("cannot listen on %s: another program listens there; stop it or set another address with admin.listen in test.yaml", taken.Addr())
	if err == nil || err.Error() != want {
		t.Errorf("got %v\nwant %s", err, want)
	}
	if conn, err := net.Dial("tcp", addr); err == nil {
		_ = conn.Close()
		t.Error("the listener for calls is still open")
	}
	if log.String() != "" {
		t.Errorf("it ran: %s", log)
	}
}

func TestGatewayCannotListen(t *testing.T) {
	g, _ := newGateway(t, `
listen: "192.0.2.1:0"
dependencies: { a: { url: "http://127.0.0.1:1" } }
routes: [ { path: "/{dependency}/*" } ]
`)
	want := "cannot listen on 192.0.2.1:0: this machine has no such address; set another address with listen in test.yaml"
	if err := g.Start(t.Context()); err == nil || err.Error() != want {
		t.Errorf("got %v\nwant %s", err, want)
	}
}

// A connection that was upgraded does not keep the gateway from stopping, and
// does not outlive it.
func TestGatewayStopEndsUpgraded(t *testing.T) {
	upstreamClosed := make(chan struct{})
	upstream := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		conn, rw, err := http.NewResponseController(w).Hijack()
		if err != nil {
			return
		}
		defer close(upstreamClosed)
		defer conn.Close()
		_, _ = rw.WriteString("HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\n")
		_ = rw.Flush()
		_, _ = io.Copy(conn, rw)
	}))
	defer upstream.Close()
	g, _ := newGateway(t, fmt.Sprintf(`
listen: "127.0.0.1:0"
admin: { listen: "127.0.0.1:0" }
dependencies: { a: { url: %q } }
routes: [ { path: "/*", dependency: a } ]
`, upstream.URL))
	if err := g.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	conn, err := net.Dial("tcp", g.Addr())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	fmt.Fprintf(conn, "GET / HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\n")
	buf := make([]byte, 4096)
	head, err := conn.Read(buf)
	if err != nil || !strings.HasPrefix(string(buf[:head]), "HTTP/1.1 101") {
		t.Fatalf("%q %v", buf[:head], err)
	}
	_, _ = io.WriteString(conn, "ping")
	if n, err := conn.Read(buf); err != nil || string(buf[:n]) != "ping" {
		t.Fatalf("%q %v", buf[:n], err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if err := g.Stop(ctx); err != nil {
		t.Error(err)
	}
	select {
	case <-upstreamClosed:
	case <-time.After(patience):
		t.Error("the upgraded connection is still open")
	}
}

// A client may speak HTTP/2 without TLS, as gRPC does inside a data centre, and
// its running call may end too.
func TestGatewayHTTP2(t *testing.T) {
	arrived, proceed := make(chan struct{}), make(chan struct{})
	upstream := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		close(arrived)
		<-proceed
		_, _ = io.WriteString(w, "done")
	}))
	defer upstream.Close()
	g, _ := newGateway(t, fmt.Sprintf(`
listen: "127.0.0.1:0"
admin: { listen: "127.0.0.1:0" }
dependencies: { a: { url: %q } }
routes: [ { path: "/*", dependency: a } ]
`, upstream.URL))
	if err := g.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	protocols := new(http.Protocols)
	protocols.SetUnencryptedHTTP2(true)
	client := http.Client{Transport: &http.Transport{Protocols: protocols}, Timeout: patience}
	answer := make(chan string, 1)
	go func() {
		resp, err := client.Get("http://" + g.Addr())
		if err != nil {
			answer <- err.Error()
			return
		}
		defer resp.Body.Close()
		body, err := io.ReadAll(resp.Body)
		answer <- fmt.Sprint(resp.Proto, resp.StatusCode, string(body), err)
	}()
	<-arrived
	stopped := make(chan error, 1)
	go func() {
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		defer cancel()
		stopped <- g.Stop(ctx)
	}()
	eventually.True(t, patience, func() bool { return !g.ready.Load() }, "the gateway to stop")
	close(proceed)
	if got, want := <-answer, "HTTP/2.0200done<nil>"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if err := <-stopped; err != nil {
		t.Error(err)
	}
}

// Whoever starts one, as the demo does, need not say of which version it is.
func TestVersionIsThatOfTheProgram(t *testing.T) {
	g, _ := startGateway(t, before)
	for _, path := range []string{"/version", "/api/v1/nodes"} {
		resp, err := http.Get("http://" + g.AdminAddr() + path)
		if err != nil {
			t.Fatal(err)
		}
		body, _ := io.ReadAll(resp.Body)
		_ = resp.Body.Close()
		if want := fmt.Sprintf(`"version":%q`, Version()); !strings.Contains(string(body), want) || Version() == "" {
			t.Errorf("%s: %s, want %s", path, body, want)
		}
	}
}
