//go:build !race

package main

import (
	"bufio"
	"crypto/rand"
	"crypto/sha1" // RFC 6455 asks for it
	"crypto/tls"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/recloser-go/recloser/gateway/gatewaytest"
	"github.com/recloser-go/recloser/internal/eventually"
)

// echoHotel answers with what it got, in pieces, and a trailer.
func echoHotel(t *testing.T) string {
	t.Helper()
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		w.Header().Set("X-Asked", r.Method+" "+r.URL.RequestURI())
		w.Header().Set("X-Scheme", r.Header.Get("X-Forwarded-Proto"))
		w.Header().Set("Trailer", "X-Length")
		_, _ = w.Write(body)
		w.(http.Flusher).Flush()
		w.Header().Set("X-Length", fmt.Sprint(len(body)))
	}))
	t.Cleanup(srv.Close)
	return srv.URL
}

// echoNodes is a gateway without TLS and one with.
func echoNodes(t *testing.T) (plain, secure *node, c certificate) {
	t.Helper()
	c = newCertificate(t, t.TempDir(), 1)
	config := head + fmt.Sprintf("dependencies: { echo: { url: \"%s/v1\" } }\n", echoHotel(t)) + proxyRoute
	plain = startNode(t, config)
	secure = startNode(t, config+fmt.Sprintf("tls: { cert: %q, key: %q }\n", c.cert(), c.key()))
	secure.calls = strings.Replace(secure.calls, "http:", "https:", 1)
	return plain, secure, c
}

// curl gets through whatever it speaks, with a body of any kind.
func TestCurl(t *testing.T) {
	plain, secure, c := echoNodes(t)
	file := filepath.Join(t.TempDir(), "face.jpg")
	face := strings.Repeat("face", 100_000)
	if err := os.WriteFile(file, []byte(face), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name, base, version string
		args                []string
	}{
		{"HTTP/1.0", plain.calls, "1", []string{"--http1.0"}},
		{"HTTP/1.1", plain.calls, "1.1", []string{"--http1.1"}},
		{"h2c", plain.calls, "2", []string{"--http2-prior-knowledge"}},
		{"TLS, HTTP/1.1", secure.calls, "1.1", []string{"--http1.1", "--cacert", c.cert()}},
		{"TLS, HTTP/2", secure.calls, "2", []string{"--http2", "--cacert", c.cert()}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			for name, how := range map[string][]string{
				"a length":          {"--data-binary", "@" + file},
				"chunks":            {"-T", file, "-X", "POST", "-H", "Transfer-Encoding: chunked"},
				"waiting for a 100": {"-H", "Expect: 100-continue", "--data-binary", "@" + file},
			} {
				if name == "chunks" && tt.name == "HTTP/1.0" {
					continue // it has none
				}
				args := append([]string{"-w", "\n%{http_version} %{http_code} %header{x-asked} %header{x-scheme}"}, tt.args...)
				out := curl(t, append(append(args, how...), tt.base+"/hotels/echo/a%2Fb?c=d")...)
				body, rest, _ := strings.Cut(out, "\n")
				scheme, _, _ := strings.Cut(tt.base, ":")
				if want := tt.version + " 200 POST /v1/a%2Fb?c=d " + scheme; rest != want || body != face {
					t.Errorf("%s: got %q and %d bytes, want %q and %d", name, rest, len(body), want, len(face))
				}
			}
		})
	}
}

// A refusal is what the guide says, and curl can act on it. G26: its Retry-After is
// the time that the breaker has left, rounded up.
func TestCurlSeesARefusal(t *testing.T) {
	h := newHotels(t, 1, ", breaker: { consecutive: 1, open_for: 5s, jitter: off }")
	h.all[0].Now(gatewaytest.Answer(http.StatusInternalServerError, "sorry"))
	n := startNode(t, head+h.lines+proxyRoute)
	if out := curl(t, "-w", " %{http_code}", n.calls+"/hotels/hotel-1/x"); out != "sorry 500" {
		t.Errorf("the bad call: %q", out)
	}
	until := n.await("hotel-1", "open").Until
	before := time.Now()
	out := curl(t, "-w", "\n%{http_code} %header{recloser-dependency} %header{recloser-state} %header{recloser-reason} %header{content-type} %header{retry-after}", n.calls+"/hotels/hotel-1/x")
	var problem struct {
		Detail     string
		RetryAfter int `json:"retry_after_s"`
	}
	body, words, _ := strings.Cut(out, "\n\n")
	if err := json.Unmarshal([]byte(body), &problem); err != nil {
		t.Fatalf("%v in %s", err, out)
	}
	left := func(until, at time.Time) int { return int((until.Sub(at) + time.Second - 1) / time.Second) }
	least, most := left(until, time.Now()), left(n.state("hotel-1").Until, before) // a standstill of the gateway's does not count
	want := fmt.Sprintf("503 hotel-1 open open application/problem+json %d", problem.RetryAfter)
	if words != want || problem.RetryAfter > most || problem.RetryAfter < least || !strings.HasPrefix(problem.Detail, "hotel-1 is open") {
		t.Errorf("got %s\nwant %s, with %d to %d s left", out, want, least, most)
	}
	if h.all[0].Calls() != 1 {
		t.Errorf("%d calls reached it", h.all[0].Calls())
	}
}

// A program in Go speaks HTTP/2 through it with and without TLS, many calls on one
// connection, and gets trailers.
func TestGoClientOnHTTP2(t *testing.T) {
	plain, secure, c := echoNodes(t)
	h2c := new(http.Protocols)
	h2c.SetUnencryptedHTTP2(true)
	for _, tt := range []struct {
		name, base string
		transport  *http.Transport
	}{
		{"with TLS", secure.calls, &http.Transport{TLSClientConfig: &tls.Config{RootCAs: c.pool}, ForceAttemptHTTP2: true}},
		{"without", plain.calls, &http.Transport{Protocols: h2c}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			client := &http.Client{Transport: tt.transport, Timeout: patience}
			t.Cleanup(client.CloseIdleConnections)
			answers := make(chan error, 50)
			for i := range cap(answers) {
				go func() {
					word := strings.Repeat(fmt.Sprint(i), 10_000)
					resp, err := client.Post(tt.base+"/hotels/echo/x", "text/plain", struct{ io.Reader }{strings.NewReader(word)})
					if err != nil {
						answers <- err
						return
					}
					defer resp.Body.Close()
					body, err := io.ReadAll(resp.Body)
					if err == nil && (resp.ProtoMajor != 2 || string(body) != word || resp.Trailer.Get("X-Length") != fmt.Sprint(len(word))) {
						err = fmt.Errorf("got %s, %d of %d bytes, trailer %v", resp.Proto, len(body), len(word), resp.Trailer)
					}
					answers <- err
				}()
			}
			for range cap(answers) {
				if err := <-answers; err != nil {
					t.Error(err)
				}
			}
		})
	}
}

// accept is what RFC 6455 makes of a client's key.
func accept(key string) string {
	sum := sha1.Sum([]byte(key + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"))
	return base64.StdEncoding.EncodeToString(sum[:])
}

// readFrame returns the text of a WebSocket's frame of less than 126 bytes.
func readFrame(r io.Reader) (opcode byte, text string, err error) {
	var begin [2]byte
	if _, err := io.ReadFull(r, begin[:]); err != nil {
		return 0, "", err
	}
	masked, n := begin[1]&0x80 != 0, int(begin[1]&0x7f)
	var mask [4]byte
	if masked {
		if _, err := io.ReadFull(r, mask[:]); err != nil {
			return 0, "", err
		}
	}
	data := make([]byte, n)
	_, err = io.ReadFull(r, data)
	for i := range data {
		data[i] ^= mask[i%4]
	}
	return begin[0] & 0xf, string(data), err
}

// writeFrame writes one; a client masks its own.
func writeFrame(w io.Writer, opcode byte, text string, masks bool) error {
	frame := []byte{0x80 | opcode, byte(len(text))}
	var mask [4]byte
	if masks {
		_, _ = rand.Read(mask[:])
		frame[1] |= 0x80
		frame = append(frame, mask[:]...)
	}
	for i := range len(text) {
		frame = append(frame, text[i]^mask[i%4])
	}
	_, err := w.Write(frame)
	return err
}

const opText, opClose = 1, 8

// webSocketHotel echoes texts until one says bye; then it breaks off.
func webSocketHotel(t *testing.T) string {
	t.Helper()
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		conn, rw, err := http.NewResponseController(w).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		defer conn.Close()
		_, _ = fmt.Fprintf(rw, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Accept: %s\r\n\r\n", accept(r.Header.Get("Sec-WebSocket-Key")))
		_ = rw.Flush()
		for {
			opcode, text, err := readFrame(rw)
			if err != nil {
				return
			}
			if text == "break" {
				_ = conn.(*net.TCPConn).SetLinger(0)
				return
			}
			if writeFrame(conn, opcode, text, false) != nil || opcode == opClose {
				return
			}
		}
	}))
	t.Cleanup(srv.Close)
	return srv.URL
}

// webSocket opens one through a gateway.
func webSocket(t *testing.T, base string, c *certificate) (net.Conn, *bufio.Reader) {
	t.Helper()
	addr := base[strings.Index(base, "//")+2:]
	conn, err := net.DialTimeout("tcp", addr, patience)
	if err != nil {
		t.Fatal(err)
	}
	if c != nil {
		conn = tls.Client(conn, &tls.Config{RootCAs: c.pool, ServerName: "127.0.0.1", NextProtos: []string{"http/1.1"}})
	}
	t.Cleanup(func() { _ = conn.Close() })
	_ = conn.SetDeadline(time.Now().Add(patience))
	const key = "dGhlIHNhbXBsZSBub25jZQ=="
	_, _ = fmt.Fprintf(conn, "GET /hotels/socket/x HTTP/1.1\r\nHost: %s\r\nConnection: keep-alive, Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: %s\r\n\r\n", addr, key)
	in := bufio.NewReader(conn)
	resp, err := http.ReadResponse(in, nil)
	if err != nil || resp.StatusCode != http.StatusSwitchingProtocols || resp.Header.Get("Sec-WebSocket-Accept") != accept(key) {
		t.Fatalf("got %+v, %v", resp, err)
	}
	return conn, in
}

// G06: a WebSocket works through a closed breaker, and its end is the outcome: good
// if the sides say good-bye, bad if the dependency breaks off.
func TestWebSocket(t *testing.T) {
	c := newCertificate(t, t.TempDir(), 1)
	config := head + fmt.Sprintf("dependencies: { socket: { url: %q, breaker: { consecutive: 2, spread: off } } }\n", webSocketHotel(t)) + proxyRoute
	for name, with := range map[string]*certificate{"plain": nil, "with TLS": &c} {
		t.Run(name, func(t *testing.T) {
			n := startNode(t, config+map[bool]string{true: fmt.Sprintf("tls: { cert: %q, key: %q }\n", c.cert(), c.key())}[with != nil])
			conn, in := webSocket(t, n.calls, with)
			for _, word := range []string{"hello", "there", ""} {
				if err := writeFrame(conn, opText, word, true); err != nil {
					t.Fatal(err)
				}
				if opcode, got, err := readFrame(in); opcode != opText || got != word || err != nil {
					t.Fatalf("got %d %q, %v", opcode, got, err)
				}
			}
			if s := n.state("socket"); s.Totals.Success != 0 {
				t.Errorf("judged while it lives: %+v", s.Totals)
			}
			_ = writeFrame(conn, opClose, "", true)
			if opcode, _, err := readFrame(in); opcode != opClose || err != nil {
				t.Errorf("the good-bye: %d, %v", opcode, err)
			}
			_ = conn.Close()
			eventually.True(t, patience, func() bool { return n.state("socket").Totals.Success == 1 }, "the good end to count")
			for i := range 2 {
				conn, in = webSocket(t, n.calls, with)
				_ = writeFrame(conn, opText, "break", true)
				if _, got, err := readFrame(in); err == nil {
					t.Errorf("got %q", got)
				}
				eventually.True(t, patience, func() bool { return n.state("socket").Totals.Failed == uint64(i)+1 }, "the bad end to count")
			}
			n.await("socket", "open")
		})
	}
}

// events reads server-sent events from a stream until stop says so, and returns
// those that have an id.
func events(t *testing.T, admin string, after int64, stop func(kind string, id int64) bool) (ids []int64) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, admin+"/api/v1/stream", nil)
	if err != nil {
		t.Fatal(err)
	}
	if after > 0 {
		req.Header.Set("Last-Event-ID", fmt.Sprint(after))
	}
	resp, err := (&http.Client{Timeout: patience}).Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	var id int64
	kind := ""
	for lines := bufio.NewScanner(resp.Body); lines.Scan(); {
		name, value, _ := strings.Cut(lines.Text(), ": ")
		switch name {
		case "id":
			_, _ = fmt.Sscan(value, &id)
		case "event":
			kind = value
		case "":
			if id > 0 {
				ids = append(ids, id)
			}
			if kind != "" && stop(kind, id) {
				return ids
			}
			id, kind = 0, ""
		}
	}
	t.Fatalf("the stream ended after %v", ids)
	return nil
}

// A client of the event stream goes on where it was, over a restart of the gateway:
// it gets what it has missed, once and in order.
func TestStreamGoesOnAfterARestart(t *testing.T) {
	for name, signal := range map[string]syscall.Signal{"stopped": syscall.SIGTERM, "killed": syscall.SIGKILL} {
		t.Run(name, func(t *testing.T) {
			h := newHotels(t, 1, "")
			n := startNode(t, head+h.lines+proxyRoute)
			isolate := func() {
				n.must(http.MethodPut, "/dependencies/hotel-1/override", `{"mode": "isolated", "for": "1h", "reason": "x"}`)
			}
			isolate()
			seen := events(t, n.admin, 1, func(kind string, _ int64) bool { return kind == "transition" })
			last := seen[len(seen)-1]
			n.must(http.MethodDelete, "/dependencies/hotel-1/override?reason=y", "") // while nobody reads
			var page struct{ Events []struct{ ID int64 } }
			eventually.True(t, patience, func() bool {
				n.api(http.MethodGet, fmt.Sprint("/events?after=", last), "", &page)
				return len(page.Events) > 0
			}, "the events of the release")
			before := page.Events
			n.end(signal)
			n.start()
			n.await("hotel-1", "half-open")
			isolate()
			most := int64(0)
			for _, e := range before {
				most = max(most, e.ID)
			}
			missed := events(t, n.admin, last, func(kind string, id int64) bool { return kind == "transition" && id > most })
			n.api(http.MethodGet, fmt.Sprintf("/events?after=%d&before=%d&limit=1000", last, missed[len(missed)-1]+1), "", &page)
			want := map[int64]bool{}
			for _, e := range page.Events {
				want[e.ID] = true
			}
			for i, id := range missed {
				if !want[id] || i > 0 && id <= missed[i-1] {
					t.Errorf("got %v after %d, and the list has %v", missed, last, want)
					break
				}
			}
			for _, e := range before {
				if !want[e.ID] {
					t.Errorf("event %d of before is gone", e.ID)
				}
			}
			if len(missed) != len(want) {
				t.Errorf("got %v after %d, and the list has %v", missed, last, want)
			}
		})
	}
}
