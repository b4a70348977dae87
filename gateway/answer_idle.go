package gateway

import (
	"crypto/tls"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"
)

// piece is how much is written at once. A client that takes one in time has not stopped.
const piece = 32 << 10

// inPieces writes all of p, a piece at a time.
func inPieces(p []byte, write func([]byte) (int, error)) (n int, err error) {
	for {
		m, err := write(p[n:min(len(p), n+piece)])
		if n += m; err != nil || n >= len(p) {
			return n, err
		}
	}
}

// impatientListener accepts connections that do not wait for a client for ever.
type impatientListener struct {
	net.Listener
	pause time.Duration // at most 0: they do
}

// Accept implements net.Listener.
func (l impatientListener) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	limitUnsent(conn)
	return &impatient{Conn: conn, pause: l.pause}, nil
}

// impatient is a connection that cuts its client off if that takes nothing of what is
// written for pause, or up to a quarter longer: such a client holds a connection of the
// dependency and a place among the calls that may run. While nothing is written, the
// client may be idle as long as it likes.
type impatient struct {
	net.Conn
	pause time.Duration // at most 0: for ever
	heard atomic.Bool   // a request was complete, see listener

	mu    sync.Mutex
	until time.Time // the deadline of writes; zero: none
	ours  bool      // until is. That of another, who knows better, holds until it is over
}

// impatientOf returns what a server's connection was when it was accepted.
func impatientOf(conn net.Conn) *impatient {
	if secure, ok := conn.(*tls.Conn); ok {
		conn = secure.NetConn()
	}
	return conn.(*impatient)
}

// Write implements net.Conn.
func (c *impatient) Write(p []byte) (n int, err error) {
	return inPieces(p, func(part []byte) (int, error) {
		if err := c.limit(); err != nil {
			return 0, err
		}
		return c.Conn.Write(part)
	})
}

// limit sees to it that there is a deadline, at least pause from now. To set one is no
// small part of what an answer costs, so one serves many answers.
func (c *impatient) limit() error {
	if c.pause <= 0 {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	left := time.Until(c.until)
	if left >= c.pause || left > 0 && !c.ours {
		return nil
	}
	c.until, c.ours = time.Now().Add(c.pause+c.pause/4), true
	return c.Conn.SetWriteDeadline(c.until)
}

// SetWriteDeadline implements net.Conn.
func (c *impatient) SetWriteDeadline(t time.Time) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if t.IsZero() && c.ours { // net/http does so after each answer
		return nil
	}
	c.until, c.ours = t, false
	return c.Conn.SetWriteDeadline(t)
}

// SetDeadline implements net.Conn.
func (c *impatient) SetDeadline(t time.Time) error {
	if err := c.SetReadDeadline(t); err != nil {
		return err
	}
	return c.SetWriteDeadline(t)
}

// CloseWrite says that nothing more will come. It is what net/http does first if the
// client may still be sending.
func (c *impatient) CloseWrite() error {
	if half, ok := c.Conn.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return http.ErrNotSupported
}

// heldBack is how much of an answer net/http keeps to itself: to write that much waits
// for no client.
const heldBack = 2048

// impatientStreams does for the streams of HTTP/2 what impatient does for connections:
// a client may take what others have for it, and stop one of them.
func impatientStreams(pause time.Duration, next http.Handler) http.Handler {
	if pause <= 0 {
		return next
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.ProtoMajor < 2 {
			next.ServeHTTP(w, r)
			return
		}
		s := &stream{ResponseWriter: w, control: http.NewResponseController(w), pause: pause}
		defer s.begin() // what net/http still holds
		next.ServeHTTP(s, r)
	})
}

// stream is an answer that does not wait for its client for ever. Its deadline ends it
// even while nothing is written, so it holds only while something is.
type stream struct {
	http.ResponseWriter
	control *http.ResponseController
	pause   time.Duration
	written int  // up to heldBack
	left    bool // the handler sees to it
}

// Unwrap is for http.ResponseController.
func (s *stream) Unwrap() http.ResponseWriter { return s.ResponseWriter }

// WriteHeader implements http.ResponseWriter.
func (s *stream) WriteHeader(status int) {
	if status < 200 { // goes out at once
		s.begin()
		defer s.done()
	}
	s.ResponseWriter.WriteHeader(status)
}

// Write implements http.ResponseWriter.
func (s *stream) Write(p []byte) (n int, err error) {
	if s.written += min(len(p), heldBack); s.written <= heldBack {
		return s.ResponseWriter.Write(p)
	}
	s.written = heldBack
	return inPieces(p, func(part []byte) (int, error) {
		s.begin()
		defer s.done()
		return s.ResponseWriter.Write(part)
	})
}

// FlushError is for http.ResponseController.
func (s *stream) FlushError() error {
	s.begin()
	defer s.done()
	return s.control.Flush()
}

// SetWriteDeadline is for http.ResponseController: who sets one knows better.
func (s *stream) SetWriteDeadline(t time.Time) error {
	s.left = true
	return s.control.SetWriteDeadline(t)
}

func (s *stream) begin() { s.limit(time.Now().Add(s.pause)) }
func (s *stream) done()  { s.limit(time.Time{}) }

func (s *stream) limit(t time.Time) {
	if !s.left {
		_ = s.control.SetWriteDeadline(t)
	}
}
