package proxy

import (
	"bytes"
	"io"
	"net"
	"net/http"
	"net/http/httputil"
	"strconv"
	"sync"
	"time"
)

// caller is who waits for an answer on a connection of HTTP/1. If a trip releases him,
// he can have his answer while his request runs on as a witness. That costs his
// connection, as the goroutine that serves it stays with the request. Other requests
// are sent on a goroutine of their own (see httpbreaker.Transport.Detach), which is a
// good part of what a gateway costs.
//
// He is his request's ResponseWriter, and the transport of its ReverseProxy.
type caller struct {
	http.ResponseWriter
	way     *way
	request *http.Request         // as it came
	proxy   httputil.ReverseProxy // that of way, but for Transport

	mu    sync.Mutex
	ended chan struct{} // closed once his request has; nil: he has not gone
}

// serve sends the request.
func (c *caller) serve() {
	defer c.end()
	c.proxy = c.way.proxy
	c.proxy.Transport = c
	c.proxy.ServeHTTP(c, c.request)
}

// RoundTrip implements http.RoundTripper.
func (c *caller) RoundTrip(req *http.Request) (*http.Response, error) {
	return c.way.plain.RoundTripFor(c, req)
}

// Unwrap is for http.ResponseController.
func (c *caller) Unwrap() http.ResponseWriter { return c.ResponseWriter }

// WriteHeader implements http.ResponseWriter. A 1xx may come while he goes.
func (c *caller) WriteHeader(status int) {
	if status < 200 {
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.ended != nil {
			return
		}
	}
	c.ResponseWriter.WriteHeader(status)
}

// Leave implements httpbreaker.Caller: it takes his connection and has him answered there.
// How fast he takes that must be no matter of his request's, as what comes of it waits.
func (c *caller) Leave(err error) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	conn, _, failed := http.NewResponseController(c.ResponseWriter).Hijack()
	if failed != nil {
		return false
	}
	c.ended = make(chan struct{})
	a := &aside{header: http.Header{"Date": {time.Now().UTC().Format(http.TimeFormat)}}}
	c.way.fail(a, c.request, err)
	go hangUp(conn, a.wire(c.request), c.ended)
	return true
}

// hangUp writes the last answer on a connection, and closes it once the request has
// ended; till then half, as a client who is still sending would lose the answer.
func hangUp(conn net.Conn, answer []byte, ended <-chan struct{}) {
	defer conn.Close()
	_, _ = conn.Write(answer) // one who has hung up needs no answer
	if half, ok := conn.(interface{ CloseWrite() error }); ok {
		_ = half.CloseWrite()
	}
	<-ended
}

// gone reports whether he has gone.
func (c *caller) gone() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.ended != nil
}

// end says that the request has ended.
func (c *caller) end() {
	if c.gone() {
		close(c.ended)
	}
}

// aside is an answer that net/http does not write.
type aside struct {
	header http.Header
	status int
	body   bytes.Buffer
}

// Header implements http.ResponseWriter.
func (a *aside) Header() http.Header { return a.header }

// WriteHeader implements http.ResponseWriter.
func (a *aside) WriteHeader(status int) { a.status = status }

// Write implements http.ResponseWriter.
func (a *aside) Write(p []byte) (int, error) { return a.body.Write(p) }

// wire returns the last answer on a connection, as it goes out.
func (a *aside) wire(r *http.Request) []byte {
	length := int64(a.body.Len())
	if length == 0 && r.Method == http.MethodHead { // that of what a GET would have got
		var err error
		if length, err = strconv.ParseInt(a.header.Get("Content-Length"), 10, 64); err != nil {
			length = -1 // unknown
		}
	}
	resp := http.Response{
		StatusCode: a.status, ProtoMajor: r.ProtoMajor, ProtoMinor: r.ProtoMinor, Close: true,
		Header: a.header, Body: io.NopCloser(&a.body), ContentLength: length, Request: r,
	}
	var wire bytes.Buffer
	_ = resp.Write(&wire) // memory takes it all
	return wire.Bytes()
}
