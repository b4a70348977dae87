package gateway

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
)

// In HTTP/2 a path is a field like any other, and may have a space in it. In the
// first line of HTTP/1 that would end the path.
func TestSpaceInAQueryOfHTTP2(t *testing.T) {
	w := newWiretap(t)
	g := startOn(t, w.url, "")
	conn := dial(t, g, http2.ClientPreface)
	f := http2.NewFramer(conn, conn)
	_ = f.WriteSettings()
	var block bytes.Buffer
	enc := hpack.NewEncoder(&block)
	for _, h := range [][2]string{{":method", "GET"}, {":scheme", "http"}, {":authority", "g"}, {":path", "/hotels/a/x?q=a HTTP/1.1 b"}} {
		_ = enc.WriteField(hpack.HeaderField{Name: h[0], Value: h[1]})
	}
	_ = f.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: block.Bytes(), EndStream: true, EndHeaders: true})
	_ = conn.SetReadDeadline(time.Now().Add(3 * time.Second))
	for {
		fr, err := f.ReadFrame()
		if err != nil {
			break
		}
		fmt.Println(fr)
		if fr.Header().StreamID == 1 && fr.Header().Flags.Has(http2.FlagHeadersEndStream) {
			break
		}
	}
	_, raw := w.seen()
	fmt.Printf("%q\n", raw)
}

func TestTrailersForge(t *testing.T) {
	w := newWiretap(t)
	g := startOn(t, w.url, "")
	fmt.Println(exchange(t, g, "POST /hotels/a/x HTTP/1.1\r\nHost: g\r\nTransfer-Encoding: chunked\r\nTrailer: X-Sum, X-Forwarded-For\r\n\r\n2\r\nhi\r\n0\r\nX-Sum: 1\r\nX-Forwarded-For: 6.6.6.6\r\nRecloser-State: x\r\nX-Other: 5\r\nContent-Length: 7\r\nHost: evil\r\n\r\n"))
	_, raw := w.seen()
	fmt.Printf("%q\n", raw)
}

func TestResponseForge(t *testing.T) {
	l, _ := net.Listen("tcp", "127.0.0.1:0")
	defer l.Close()
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				_, _ = http.ReadRequest(bufio.NewReader(c))
				_, _ = io.WriteString(c, "HTTP/1.1 103 Early Hints\r\nRecloser-Reason: open\r\nLink: x\r\n\r\nHTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTrailer: Recloser-State\r\n\r\n2\r\nhi\r\n0\r\nRecloser-State: open\r\nRecloser-B: y\r\n\r\n")
			}()
		}
	}()
	g := startOn(t, "http://"+l.Addr().String(), "")
	c := dial(t, g, "GET /hotels/a/x HTTP/1.1\r\nHost: g\r\nTE: trailers\r\nConnection: close\r\n\r\n")
	all, _ := io.ReadAll(c)
	fmt.Println(strings.ReplaceAll(string(all), "\r", ""))
}
