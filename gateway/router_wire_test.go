package gateway

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"
)

// In HTTP/2 a path is a field like any other, and net/http lets a space in its query
// pass. In the first line of HTTP/1 that would end the path.
func TestSpaceInAQueryOfHTTP2(t *testing.T) {
	w := newWiretap(t)
	g := startOn(t, w.url, "")
	req, _ := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+g.Addr()+"/hotels/a/x", http.NoBody)
	req.URL.RawQuery = "q=a HTTP/1.1"
	resp, err := h2c(t).Do(req)
	if err != nil {
		t.Fatal(err)
	}
	_ = resp.Body.Close()
	if _, raw := w.seen(); !strings.HasPrefix(raw, "GET /v1/x?q=a%20HTTP/1.1 HTTP/1.1\r\n") {
		t.Errorf("the dependency got %q", raw)
	}
}

// What may not be claimed before the body may not be claimed after it, and what was
// not announced does not go on at all.
func TestTrailersClaimNothing(t *testing.T) {
	w := newWiretap(t)
	g := startOn(t, w.url, "")
	exchange(t, g, "POST /hotels/a/x HTTP/1.1\r\nHost: g\r\nTransfer-Encoding: chunked\r\nTrailer: X-Sum, X-Forwarded-For, X_Real_IP\r\n\r\n"+
		"2\r\nhi\r\n0\r\nX-Sum: 17\r\nX-Forwarded-For: 192.0.2.6\r\nX_Real_IP: 192.0.2.6\r\nRecloser-State: closed\r\nContent-Length: 7\r\nHost: evil\r\n\r\n")
	_, raw := w.seen()
	head, body, _ := strings.Cut(raw, "\r\n\r\n")
	if body != "2\r\nhi\r\n0\r\nX-Sum: 17\r\n\r\n" || !strings.Contains(head, "\r\nTrailer: X-Sum\r\n") {
		t.Errorf("the dependency got %q", raw)
	}
}

// A dependency answers before it has the body, while the client of HTTP/2 pauses in
// the middle of it: whoever still reads then must not touch the ResponseWriter, which
// would panic where nobody recovers.
func TestAnswerInTheMiddleOfAnUpload(t *testing.T) {
	socket, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer socket.Close()
	go func() {
		for {
			conn, err := socket.Accept()
			if err != nil {
				return
			}
			go func() {
				defer conn.Close()
				if _, err := http.ReadRequest(bufio.NewReader(conn)); err == nil {
					_, _ = io.WriteString(conn, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
				}
			}()
		}
	}()
	g := startOn(t, "http://"+socket.Addr().String(), "")
	client := h2c(t)
	for range 20 {
		body, pause := io.Pipe()
		go func() { _, _ = pause.Write([]byte("face")) }()
		req, _ := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+g.Addr()+"/hotels/a/x", body)
		resp, err := client.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		_, _ = io.Copy(io.Discard, resp.Body)
		_ = resp.Body.Close()
		<-time.After(5 * time.Millisecond) // for the reader to come back
		_ = pause.Close()
	}
}
