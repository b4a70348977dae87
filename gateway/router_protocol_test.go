package gateway

import (
	"bufio"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httptrace"
	"net/textproto"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/recloser-go/recloser"
	"github.com/recloser-go/recloser/internal/eventually"
)

// certificate writes a certificate for 127.0.0.1, and returns its files and what
// trusts it.
func certificate(t *testing.T) (cert, key string, pool *x509.CertPool) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true, BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &private.PublicKey, private)
	if err != nil {
		t.Fatal(err)
	}
	secret, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	cert, key, pool = filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem"), x509.NewCertPool()
	public := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	pool.AppendCertsFromPEM(public)
	if err := os.WriteFile(cert, public, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(key, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: secret}), 0o600); err != nil {
		t.Fatal(err)
	}
	return cert, key, pool
}

// protocol is a way to talk to a running gateway.
type protocol struct {
	gateway *Gateway
	client  func() (client *http.Client, base string)
}

// protocols returns all of them. more is added to the config.
func protocols(t *testing.T, hotel http.HandlerFunc, more string) map[string]protocol {
	t.Helper()
	srv := httptest.NewServer(hotel)
	t.Cleanup(srv.Close)
	plain := startOn(t, srv.URL, more)
	cert, key, pool := certificate(t)
	secure := startOn(t, srv.URL, fmt.Sprintf("tls: { cert: %q, key: %q }\n", cert, key)+more)
	client := func(http2 bool) *http.Client {
		tr := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool}, ForceAttemptHTTP2: http2}
		if !http2 {
			tr.Protocols = new(http.Protocols)
			tr.Protocols.SetHTTP1(true)
		}
		t.Cleanup(tr.CloseIdleConnections)
		return &http.Client{Transport: tr, Timeout: patience}
	}
	return map[string]protocol{
		"HTTP/1.1":          {plain, func() (*http.Client, string) { return client(false), "http://" + plain.Addr() }},
		"HTTP/1.1 with TLS": {secure, func() (*http.Client, string) { return client(false), "https://" + secure.Addr() }},
		"HTTP/2 with TLS":   {secure, func() (*http.Client, string) { return client(true), "https://" + secure.Addr() }},
		"HTTP/2":            {plain, func() (*http.Client, string) { return h2c(t), "http://" + plain.Addr() }},
	}
}

// A request with everything: a body with a trailer there, hints on the way, and a
// streamed body with a trailer back. Over HTTP/2 there are no hints: net/http may read
// their headers while those of the answer are written.
func TestEveryProtocolPassesEverything(t *testing.T) {
	for name, way := range protocols(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Link", "</style.css>; rel=preload")
		w.WriteHeader(http.StatusEarlyHints)
		body, _ := io.ReadAll(r.Body)
		w.Header().Set("Trailer", "X-Sum")
		w.Header().Set("X-Proto", r.Header.Get("X-Forwarded-Proto"))
		for _, word := range []string{string(body), r.Trailer.Get("X-Sum")} {
			_, _ = io.WriteString(w, word)
			_ = http.NewResponseController(w).Flush()
		}
		w.Header().Set("X-Sum", "42")
	}, "") {
		t.Run(name, func(t *testing.T) {
			client, base := way.client()
			hints := 0
			ctx := httptrace.WithClientTrace(t.Context(), &httptrace.ClientTrace{
				Got1xxResponse: func(code int, h textproto.MIMEHeader) error {
					if code == http.StatusEarlyHints && h.Get("Link") != "" {
						hints++
					}
					return nil
				},
			})
			req, _ := http.NewRequestWithContext(ctx, http.MethodPost, base+"/hotels/a/x", struct{ io.Reader }{strings.NewReader("face")})
			req.Trailer = http.Header{"X-Sum": {"17"}}
			resp, err := client.Do(req)
			if err != nil {
				t.Fatal(err)
			}
			defer resp.Body.Close()
			body, err := io.ReadAll(resp.Body)
			if err != nil || string(body) != "face17" || resp.Trailer.Get("X-Sum") != "42" || hints != 2-resp.ProtoMajor {
				t.Errorf("got %q, trailer %v, %d hints, %v", body, resp.Trailer, hints, err)
			}
			if proto := base[:strings.Index(base, ":")]; resp.Header.Get("X-Proto") != proto || resp.ProtoMajor != 1+strings.Count(name, "/2") {
				t.Errorf("%s came as %s and was said to be %q", name, resp.Proto, resp.Header.Get("X-Proto"))
			}
		})
	}
}

func TestHeadHasNoBody(t *testing.T) {
	for name, way := range protocols(t, func(w http.ResponseWriter, _ *http.Request) { w.Header().Set("Content-Length", "1000") }, "") {
		t.Run(name, func(t *testing.T) {
			client, base := way.client()
			for range 2 { // on one connection
				resp, err := client.Head(base + "/hotels/a/x")
				if err != nil || resp.ContentLength != 1000 || resp.Body.Close() != nil {
					t.Fatalf("got %v, %v", resp, err)
				}
			}
		})
	}
}

// A client that waits for 100 Continue sends nothing to a dependency that does
// not want it, and is told once, however often and whenever the dependency says it.
func TestExpectContinue(t *testing.T) {
	hotel := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/v1/no" {
			w.WriteHeader(http.StatusForbidden)
			return
		}
		body, _ := io.ReadAll(r.Body)
		if r.URL.Path == "/v1/again" {
			w.WriteHeader(http.StatusContinue)
			w.WriteHeader(http.StatusEarlyHints)
		}
		_, _ = w.Write(body)
	}))
	defer hotel.Close()
	g := startOn(t, hotel.URL, "")
	for path, want := range map[string][]int{"yes": {100, 200}, "again": {100, 200}, "no": {403}} {
		conn := dial(t, g, "POST /hotels/a/"+path+" HTTP/1.1\r\nHost: gateway\r\nContent-Length: 4\r\nExpect: 100-continue\r\n\r\n")
		in := bufio.NewReader(conn)
		for _, status := range want {
			resp, err := http.ReadResponse(in, nil)
			if err != nil || resp.StatusCode != status {
				t.Fatalf("%s: got %v, %v; want %d", path, resp, err, status)
			}
			if status == 100 {
				_, _ = io.WriteString(conn, "face")
				continue
			}
			if body, err := io.ReadAll(resp.Body); status == 200 && (err != nil || string(body) != "face") {
				t.Errorf("got %q, %v", body, err)
			}
		}
	}
}

// G06: events flow one by one, and a stream that always dies is no healthy
// dependency.
func TestG06_EventStreams(t *testing.T) {
	const events = 3
	next := make(chan struct{})
	hotel := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		for i := range events {
			_, _ = fmt.Fprintf(w, "data: %d\n\n", i)
			_ = http.NewResponseController(w).Flush()
			<-next
		}
		panic(http.ErrAbortHandler)
	}))
	defer hotel.Close()
	g := startOn(t, hotel.URL, "")
	d, _ := g.Dependencies().Get("a")
	for range 30 {
		resp, err := http.Get("http://" + g.Addr() + "/hotels/a/events")
		if err != nil {
			t.Fatal(err)
		}
		if resp.StatusCode == http.StatusServiceUnavailable {
			_ = resp.Body.Close()
			break
		}
		lines := bufio.NewScanner(resp.Body)
		for i := range events {
			if !lines.Scan() || lines.Text() != fmt.Sprint("data: ", i) || !lines.Scan() {
				t.Fatalf("event %d: %q, %v", i, lines.Text(), lines.Err())
			}
			if i == events-1 {
				<-time.After(30 * time.Millisecond) // more than one burst
			}
			next <- struct{}{} // it came before the next was sent
		}
		if lines.Scan() || lines.Err() == nil {
			t.Error("the stream's end is not said to be a fault")
		}
		_ = resp.Body.Close()
	}
	if d.Breaker.State() != recloser.Open {
		t.Errorf("not cut off: %s", d.Breaker.Explain())
	}
}

// G20: what passes is not held in memory.
func TestG20_LargeBodiesAreNotHeld(t *testing.T) {
	const size = 256 << 20
	hotel := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		n, _ := io.Copy(io.Discard, r.Body)
		_, _ = fmt.Fprint(w, n)
	}))
	defer hotel.Close()
	g := startOn(t, hotel.URL, "")
	for name, client := range map[string]*http.Client{"HTTP/1.1": {Timeout: 2 * patience}, "HTTP/2": h2c(t)} {
		before := heap()
		most := before
		body := &zeros{left: size, each: func(left int64) {
			if left%(32<<20) == 0 {
				most = max(most, heap())
			}
		}}
		resp, err := client.Post("http://"+g.Addr()+"/hotels/a/x", "image/png", body)
		if err != nil {
			t.Fatal(err)
		}
		got, err := io.ReadAll(resp.Body)
		if err != nil || string(got) != fmt.Sprint(size) || resp.Body.Close() != nil {
			t.Errorf("%s: %q bytes arrived, %v", name, got, err)
		}
		if grew := int64(most) - int64(before); grew > 16<<20 {
			t.Errorf("%s: the heap grew by %d MiB", name, grew>>20)
		}
	}
}

func TestUpgradedConnectionEndsWithTheGateway(t *testing.T) {
	hotel := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		conn, rw, err := http.NewResponseController(w).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		defer conn.Close()
		_, _ = rw.WriteString("HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n")
		_ = rw.Flush()
		_, _ = io.Copy(conn, rw)
	}))
	defer hotel.Close()
	g := startOn(t, hotel.URL, "")
	conn := dial(t, g, "GET /hotels/a/x HTTP/1.1\r\nHost: gateway\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n")
	in := bufio.NewReader(conn)
	resp, err := http.ReadResponse(in, nil)
	if err != nil || resp.StatusCode != http.StatusSwitchingProtocols {
		t.Fatalf("got %v, %v", resp, err)
	}
	for _, word := range []string{"hello\n", "there\n"} {
		_, _ = io.WriteString(conn, word)
		if got, err := in.ReadString('\n'); got != word {
			t.Fatalf("got %q, %v", got, err)
		}
	}
	d, _ := g.Dependencies().Get("a")
	if n := d.Bulkhead.InFlight(); n != 1 {
		t.Errorf("%d in the bulkhead while the connection lives", n)
	}
	_ = conn.Close()
	eventually.True(t, patience, func() bool { return d.Bulkhead.InFlight() == 0 && d.Breaker.Stats().Success == 1 }, "the call to have ended well")
}
