package gateway

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/recloser-go/recloser/internal/eventually"
)

// wiretap is a dependency that keeps what reaches it, byte for byte.
type wiretap struct {
	url string

	mu       sync.Mutex
	raw      strings.Builder
	requests []string // their first lines
}

func newWiretap(t *testing.T) *wiretap {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	w := &wiretap{url: "http://" + l.Addr().String()}
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go w.answer(conn)
		}
	}()
	return w
}

// answer takes as a request whatever a lenient server might.
func (w *wiretap) answer(conn net.Conn) {
	defer conn.Close()
	in := bufio.NewReader(io.TeeReader(conn, w))
	for {
		r, err := http.ReadRequest(in)
		if err != nil {
			return
		}
		w.mu.Lock()
		w.requests = append(w.requests, r.Method+" "+r.RequestURI)
		w.mu.Unlock()
		if _, err := io.Copy(io.Discard, r.Body); err != nil {
			return
		}
		_, _ = io.WriteString(conn, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
	}
}

func (w *wiretap) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.raw.Write(p)
}

// seen returns what has reached it since the last time.
func (w *wiretap) seen() (requests []string, raw string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	requests, raw = w.requests, w.raw.String()
	w.requests = nil
	w.raw.Reset()
	return requests, raw
}

// exchange writes bytes to the gateway and returns the statuses of all answers, up
// to the end of the connection.
func exchange(t *testing.T, g *Gateway, written string) (statuses []int) {
	t.Helper()
	const last = "GET /the-last HTTP/1.1\r\nHost: gateway\r\nConnection: close\r\n\r\n" // unless something before was wrong
	in := bufio.NewReader(dial(t, g, written+last))
	for {
		resp, err := http.ReadResponse(in, nil)
		if err != nil {
			return statuses
		}
		body, _ := io.ReadAll(resp.Body)
		if resp.StatusCode == http.StatusNotFound && strings.Contains(string(body), "no route has this path") {
			return statuses
		}
		statuses = append(statuses, resp.StatusCode)
	}
}

func startOn(t *testing.T, url, more string) *Gateway {
	t.Helper()
	g, _ := startGateway(t, fmt.Sprintf(`
listen: "127.0.0.1:0"
admin: { listen: "127.0.0.1:0" }
dependencies: { a: { url: "%s/v1" } }
routes: [ { path: "/hotels/{dependency}/*" } ]
%s`, url, more))
	return g
}

// No request hides in another: what the gateway takes for one, the dependency
// gets as one, framed anew.
func TestRequestSmuggling(t *testing.T) {
	w := newWiretap(t)
	g := startOn(t, w.url, "")
	const post = "POST /hotels/a/x HTTP/1.1\r\nHost: gateway\r\n"
	const hidden = "GET /hotels/a/hidden HTTP/1.1\r\nHost: gateway\r\n\r\n"
	x, both := []string{"POST /v1/x"}, []string{"POST /v1/x", "GET /v1/hidden"}
	refused := []int{400}
	for _, tt := range []struct {
		name, written string
		statuses      []int
		requests      []string
	}{
		{"length and chunks", post + "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n" + hidden, []int{200, 200}, both},
		{"chunks and length", post + "Transfer-Encoding: chunked\r\nContent-Length: 60\r\n\r\n0\r\n\r\n" + hidden, []int{200, 200}, both},
		{"two lengths", post + "Content-Length: 0\r\nContent-Length: 49\r\n\r\n" + hidden, refused, nil},
		{"two lengths in one", post + "Content-Length: 0, 49\r\n\r\n" + hidden, refused, nil},
		{"one length twice", post + "Content-Length: 2\r\nContent-Length: 2\r\n\r\nok", []int{200}, x},
		{"signed length", post + "Content-Length: +2\r\n\r\nok", refused, nil},
		{"negative length", post + "Content-Length: -2\r\n\r\nok", refused, nil},
		{"hexadecimal length", post + "Content-Length: 0x2\r\n\r\nok", refused, nil},
		{"space before the colon", post + "Content-Length : 49\r\n\r\n" + hidden, refused, nil},
		{"another encoding", post + "Transfer-Encoding: xchunked\r\n\r\n" + hidden, []int{501}, nil},
		{"two encodings", post + "Transfer-Encoding: chunked, identity\r\n\r\n0\r\n\r\n" + hidden, []int{501}, nil},
		{"an encoding twice", post + "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n" + hidden, []int{501}, nil},
		{"an encoding behind a tab", post + "Transfer-Encoding:\tchunked\r\n\r\n0\r\n\r\n" + hidden, []int{200, 200}, both},
		{"an encoding behind a vertical tab", post + "Transfer-Encoding: \vchunked\r\n\r\n0\r\n\r\n" + hidden, refused, nil},
		{"a folded length", post + "Content-Length:\r\n 0\r\n\r\n", []int{200}, x},
		{"a folded encoding", post + "Transfer-Encoding:\r\n chunked\r\n\r\n0\r\n\r\n" + hidden, []int{200, 200}, both},
		{"chunk extensions", post + "Transfer-Encoding: chunked\r\n\r\n2;a=\"b\"\r\nok\r\n0;x\r\n\r\n", []int{200}, x},
		{"a line feed in a chunk extension", post + "Transfer-Encoding: chunked\r\n\r\n2;a\nok\r\n0\r\n\r\n" + hidden, nil, nil},
		{"a chunk size too large", post + "Transfer-Encoding: chunked\r\n\r\n10000000000000002\r\nok\r\n0\r\n\r\n", nil, nil},
		{"a chunk that does not end", post + "Transfer-Encoding: chunked\r\n\r\n2\r\nokay\r\n0\r\n\r\n" + hidden, nil, nil},
		{"line feeds alone", strings.ReplaceAll(post+"Content-Length: 2\r\n\r\n", "\r\n", "\n") + "ok", []int{200}, x},
		{"a carriage return in a value", post + "X-Guest: 7\rContent-Length: 49\r\n\r\n" + hidden, refused, nil},
		{"a NUL in a value", post + "X-Guest: 7\x00\r\n\r\n", refused, nil},
		{"no host", "GET /hotels/a/x HTTP/1.1\r\n\r\n", refused, nil},
		{"two hosts", "GET /hotels/a/x HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n", refused, nil},
		{"a host with a space", "GET /hotels/a/x HTTP/1.1\r\nHost: a b\r\n\r\n", refused, nil},
		{"a space in the path", "GET /hotels/a/x y HTTP/1.1\r\nHost: gateway\r\n\r\n", refused, nil},
		{"a body of a GET", "GET /hotels/a/x HTTP/1.1\r\nHost: gateway\r\nContent-Length: " + fmt.Sprint(len(hidden)) + "\r\n\r\n" + hidden, []int{200}, []string{"GET /v1/x"}},
		{"a tunnel", "CONNECT evil.example:443 HTTP/1.1\r\nHost: evil.example:443\r\n\r\n", []int{501}, nil},
		{"about everything", "OPTIONS * HTTP/1.1\r\nHost: gateway\r\n\r\n", []int{200}, nil}, // net/http answers that itself
		{"no version", "GET /hotels/a/x\r\n\r\n", refused, nil},
		{"an expectation", post + "Expect: miracles\r\nContent-Length: 2\r\n\r\nok", []int{417}, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w, g := w, g
			if tt.statuses == nil { // such a request may reach the dependency after the answer
				w = newWiretap(t)
				g = startOn(t, w.url, "")
			}
			got := exchange(t, g, tt.written)
			requests, raw := w.seen()
			if tt.statuses == nil { // the body breaks off: 400 if it can still be said
				if len(got) > 1 || len(got) == 1 && got[0] != 400 {
					t.Errorf("got %v, want 400 or nothing", got)
				}
				if len(requests) > 1 || slices.Contains(requests, "GET /v1/hidden") {
					t.Errorf("the dependency was sent %q", requests)
				}
				return
			}
			if !slices.Equal(got, tt.statuses) || !slices.Equal(requests, tt.requests) {
				t.Errorf("got %v, the dependency %q\nwant %v, %q", got, requests, tt.statuses, tt.requests)
			}
			for _, request := range strings.SplitAfter(raw, "\r\n\r\n") {
				if strings.Contains(request, "Content-Length:") && strings.Contains(request, "Transfer-Encoding:") {
					t.Errorf("framed twice: %q", request)
				}
			}
			if strings.Contains(strings.ReplaceAll(raw, "\r\n", ""), "\n") || strings.Contains(raw, "\r\n ") {
				t.Errorf("line feeds alone, or a fold: %q", raw)
			}
		})
	}
}

// Escaped line ends stay escaped, and no path leads out of the dependency's own.
func TestPathsStayPaths(t *testing.T) {
	w := newWiretap(t)
	g := startOn(t, w.url, "")
	for path, want := range map[string]string{
		"/hotels/a/x%0d%0aX-Evil:%201":      "/v1/x%0d%0aX-Evil:%201",
		"/hotels/a/x?y=%0d%0aX-Evil:%201":   "/v1/x?y=%0d%0aX-Evil:%201",
		"/hotels/a/%00":                     "/v1/%00",
		"/hotels/a/%c0%ae%c0%ae/x":          "/v1/%c0%ae%c0%ae/x", // an overlong escape of ".." is no ".." to anybody who reads UTF-8 right
		"http://evil.example/hotels/a/x":    "/v1/x",
		"/hotels/a/http://evil.example/x":   "/v1/http://evil.example/x",
		"/hotels/a/@evil.example/x":         "/v1/@evil.example/x",
		"/hotels/a//evil.example/x":         "/v1//evil.example/x",
		"/hotels/a/../b":                    "",
		"/hotels/a/..%2f..%2fadmin":         "",
		"/hotels/a/%2e%2e/admin":            "",
		"/hotels/a/%252e%252e/admin":        "",
		"/hotels/a/%25252e%25252e/admin":    "",
		"/hotels/a/..%5cadmin":              "",
		"/hotels/a/..\\admin":               "",
		"/hotels/a/..;/admin":               "",
		"/hotels/a/..%3b/admin":             "",
		"/hotels/a/..%00/admin":             "",
		"/hotels/%2e%2e/a/x":                "",
		"/hotels/a%2f..%2f..%2fx/y":         "",
		"/hotels/a%00/x":                    "",
		"/hotels/..;a/x":                    "",
		"/hotels/a%0d%0aX-Evil:%201/x":      "",
		"/hotels/127.0.0.1:1/x":             "",
		"/hotels/http:%2f%2fevil.example/x": "",
		"/hotels/a@evil.example/x":          "",
	} {
		got := exchange(t, g, "GET "+path+" HTTP/1.1\r\nHost: gateway\r\n\r\n")
		requests, raw := w.seen()
		switch {
		case want == "" && (len(requests) != 0 || len(got) != 1 || got[0] != 400 && got[0] != 404):
			t.Errorf("%s: got %v, the dependency %q; want to be refused", path, got, requests)
		case want != "" && !slices.Equal(requests, []string{"GET " + want}):
			t.Errorf("%s: got %v, the dependency %q; want %s", path, got, requests, want)
		case want != "" && (!strings.Contains(raw, "\r\nHost: "+strings.TrimPrefix(w.url, "http://")+"\r\n") || strings.Contains(raw, "\r\nX-Evil")):
			t.Errorf("%s: %q", path, raw)
		}
	}
}

// G21: whatever a client says about where it comes from is dropped, and what we
// say cannot be dropped.
func TestG21_ForwardedHeadersOnTheWire(t *testing.T) {
	w := newWiretap(t)
	g := startOn(t, w.url, "")
	for _, more := range []string{
		"",
		"Connection: X-Forwarded-For, X-Forwarded-Host, X-Forwarded-Proto, close\r\n",
		"X-Forwarded-For: 1.2.3.4\r\nX-Forwarded-For: 5.6.7.8\r\nX-Forwarded-Host: evil\r\nX-Forwarded-Proto: gopher\r\nX-Forwarded-Port: 1\r\n",
		"x-forwarded-for: 1.2.3.4\r\nX_Forwarded_For: 1.2.3.4\r\nForwarded: for=1.2.3.4\r\nX-Real-IP: 1.2.3.4\r\nVia: 1.1 evil\r\n",
		"Recloser-Reason: open\r\nRecloser-Last-Known: 1\r\nRecloser_State: open\r\n",
		"X-Forwarded-For:\r\n 1.2.3.4\r\n",
	} {
		if got := exchange(t, g, "GET /hotels/a/x HTTP/1.1\r\nHost: gateway\r\n"+more+"\r\n"); !slices.Equal(got, []int{200}) {
			t.Fatalf("%q: got %v", more, got)
		}
		_, raw := w.seen()
		for _, want := range []string{"\r\nX-Forwarded-For: 127.0.0.1\r\n", "\r\nX-Forwarded-Host: gateway\r\n", "\r\nX-Forwarded-Proto: http\r\n"} {
			if strings.Count(raw, want) != 1 {
				t.Errorf("%q: %q is not there once: %q", more, want, raw)
			}
		}
		for _, forged := range []string{"1.2.3.4", "5.6.7.8", "evil", "gopher", "Port", "Recloser"} {
			if strings.Contains(raw, forged) {
				t.Errorf("%q: %q reached the dependency: %q", more, forged, raw)
			}
		}
	}
}

func TestClientsThatTakeTheirTime(t *testing.T) {
	w := newWiretap(t)
	g := startOn(t, w.url, "limits: { header_timeout: 100ms, headers: 8KiB }\n")
	var slow []net.Conn
	for range 50 {
		slow = append(slow, dial(t, g, "GET /hotels/a/x HTTP/1.1\r\nHost: gateway\r\nX-"))
	}
	if got := exchange(t, g, "GET /hotels/a/x HTTP/1.1\r\nHost: gateway\r\n\r\n"); !slices.Equal(got, []int{200}) {
		t.Errorf("who is in time got %v", got)
	}
	for _, conn := range slow { // they have a deadline of their own, which is long
		if n, err := io.Copy(io.Discard, conn); err != nil {
			t.Errorf("%d bytes and %v, want the connection to be closed", n, err)
		}
	}
	if requests, _ := w.seen(); len(requests) != 1 {
		t.Errorf("the dependency got %q", requests)
	}
}

func TestGiantHeaders(t *testing.T) {
	w := newWiretap(t)
	g := startOn(t, w.url, "limits: { headers: 8KiB }\n")
	for name, headers := range map[string]string{
		"one":      "X-Guest: " + strings.Repeat("x", 20<<10) + "\r\n",
		"many":     strings.Repeat("X-Guest: 1234567890\r\n", 1000),
		"no end":   strings.Repeat("X", 20<<10),
		"the path": "",
		"many names": func() string {
			var all strings.Builder
			for i := range 2000 {
				fmt.Fprintf(&all, "X-%d: 1\r\n", i)
			}
			return all.String()
		}(),
	} {
		path := "/hotels/a/x"
		if name == "the path" {
			path += strings.Repeat("x", 20<<10)
		}
		got := exchange(t, g, "GET "+path+" HTTP/1.1\r\nHost: gateway\r\n"+headers+"\r\n")
		if !slices.Equal(got, []int{431}) && !slices.Equal(got, []int{400}) && len(got) > 0 { // a connection that is reset loses the answer
			t.Errorf("%s: got %v, want 431", name, got)
		}
		if requests, _ := w.seen(); len(requests) != 0 {
			t.Errorf("%s: the dependency got %q", name, requests)
		}
	}
}

// What the gateway tells a client of HTTP/2, net/http enforces.
func TestManyStreams(t *testing.T) {
	g := startOn(t, "http://127.0.0.1:1", "limits: { streams: 3 }\n")
	in := dial(t, g, "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\x00\x00\x00\x04\x00\x00\x00\x00\x00") // with an empty frame of settings
	head := make([]byte, 9)
	if _, err := io.ReadFull(in, head); err != nil || head[3] != 4 {
		t.Fatalf("got %x, %v; want a frame of settings", head, err)
	}
	settings := make([]byte, int(head[1])<<8|int(head[2]))
	if _, err := io.ReadFull(in, settings); err != nil {
		t.Fatal(err)
	}
	for setting := range slices.Chunk(settings, 6) {
		if string(setting[:2]) == "\x00\x03" { // how many streams at once
			if string(setting[2:]) != "\x00\x00\x00\x03" {
				t.Errorf("%x streams, want 3", setting[2:])
			}
			return
		}
	}
	t.Errorf("no limit on streams: %x", settings)
}

// h2c returns a client that speaks HTTP/2 without TLS.
func h2c(t *testing.T) *http.Client {
	t.Helper()
	tr := &http.Transport{Protocols: new(http.Protocols)}
	tr.Protocols.SetUnencryptedHTTP2(true)
	t.Cleanup(tr.CloseIdleConnections)
	return &http.Client{Transport: tr, Timeout: patience}
}

// What clients write never begins a line of the log, nor moves a terminal's cursor.
func TestLogInjection(t *testing.T) {
	w := newWiretap(t)
	g, log := startGateway(t, fmt.Sprintf(`
listen: "127.0.0.1:0"
admin: { listen: "127.0.0.1:0" }
dependencies:
  a: { url: "%s/v1", key: { header: X-Property }, breaker: { consecutive: 1, spread: off } }
  dead: { url: "http://127.0.0.1:1", key: { header: X-Property }, breaker: { consecutive: 1, spread: off } }
routes: [ { path: "/hotels/{dependency}/*" } ]
`, w.url))
	for _, request := range []string{
		"GET /hotels/x%0alevel=ERROR%20msg=forged/%1b[2J HTTP/1.1\r\nHost: gateway\r\n\r\n",
		"GET /hotels/dead/%0alevel=ERROR%20msg=forged%1b[2J HTTP/1.1\r\nHost: gateway\r\nX-Property: a\tlevel=ERROR \"msg\"=forged \u009b2J\u2028\r\n\r\n",
		"GET /hotels/dead/x HTTP/1.1\r\nHost: gateway\r\nX-Property: \xff\xfe\\n\r\n\r\n",
		"GET /hotels/a/x HTTP/1.1\r\nHost: \x1b[2J\r\n\r\n",
		"GET /hotels/a/\x1b[2J HTTP/1.1\r\nHost: gateway\r\n\r\n",
		"\x1b[2J\x00\r\n\r\n",
	} {
		exchange(t, g, request)
	}
	eventually.True(t, patience, func() bool { return strings.Count(log.String(), "to=open") == 2 }, "both keys of the dead one to be cut off and logged")
	for line := range strings.Lines(log.String()) {
		if !strings.HasPrefix(line, "time=") || strings.Contains(line, " level=ERROR") {
			t.Errorf("a line that is not ours: %q", line)
		}
		if i := strings.IndexFunc(strings.TrimSuffix(line, "\n"), func(c rune) bool { return c < ' ' || c >= 0x7f && c < 0xa0 || c == '\u2028' || c == '\ufffd' }); i >= 0 {
			t.Errorf("a control character at %d: %q", i, line)
		}
	}
}
