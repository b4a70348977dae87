package proxy

import (
	"bytes"
	"io"
	"net"
	"net/http"
	"net/http/httputil"
	"sync"
	"time"
)

// caller is who waits for an answer on a connection of HTTP/1. He can go while his
// request runs on as a witness, at the price of his connection: the goroutine that
// serves it is held up. Other requests are sent on a goroutine of their own (see
// httpbreaker.Transport.Detach), which is a good part of what a gateway costs.
//
// He is the ResponseWriter of the request, and what it is sent through.
type caller struct {
	http.ResponseWriter
	way     *way
	request *http.Request         // as it came
	proxy   httputil.ReverseProxy // that of way, but for Transport

	mu   sync.Mutex
	conn net.Conn // his own, once he has gone; nil before
}

// serve sends the request.
func (c *caller) serve() {
	defer c.hangUp()
	c.proxy = c.way.proxy
	c.proxy.Transport = c
	c.proxy.ServeHTTP(c, c.request)
}

// RoundTrip implements http.RoundTripper.
func (c *caller) RoundTrip(req *http.Request) (*http.Response, error) {
	return c.way.together.RoundTripFor(c, req)
}

// Unwrap is for http.ResponseController.
func (c *caller) Unwrap() http.ResponseWriter { return c.ResponseWriter }

// WriteHeader implements http.ResponseWriter. A 1xx may come at the moment at which he
// goes.
func (c *caller) WriteHeader(status int) {
	if status < 200 {
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.conn != nil {
			return
		}
	}
	c.ResponseWriter.WriteHeader(status)
}

// Leave implements httpbreaker.Caller.
func (c *caller) Leave(err error) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	conn, _, failed := http.NewResponseController(c.ResponseWriter).Hijack()
	if failed != nil {
		return false
	}
	c.conn = conn
	a := &aside{header: http.Header{"Date": {time.Now().UTC().Format(http.TimeFormat)}}}
	c.way.fail(a, c.request, err)
	resp := http.Response{
		StatusCode: a.status, ProtoMajor: c.request.ProtoMajor, ProtoMinor: c.request.ProtoMinor, Close: true,
		Header: a.header, Body: io.NopCloser(&a.body), ContentLength: int64(a.body.Len()), Request: c.request,
	}
	var wire bytes.Buffer
	_ = resp.Write(&wire) // memory takes it all
	_, _ = conn.Write(wire.Bytes())
	if half, ok := conn.(interface{ CloseWrite() error }); ok {
		_ = half.CloseWrite() // and wait: what he may still send must not cost him the answer
	}
	return true
}

// gone reports whether he has his answer.
func (c *caller) gone() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.conn != nil
}

// hangUp closes the connection of one who has gone.
func (c *caller) hangUp() {
	if c.gone() {
		_ = c.conn.Close()
	}
}

// aside is an answer that is written down first.
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
