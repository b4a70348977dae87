package gateway

import (
	"bufio"
	"net"
	"net/http"
	"time"
)

// heldBack is how much of an answer net/http keeps to itself: to write that much waits
// for no client.
const heldBack = 2048

// piece is how much is written at once. A client that takes one of them in a while has
// not stopped.
const piece = 32 << 10

// answering has an answer end whose client takes nothing of it for so long: it holds up
// a connection of the dependency and a place among those calls that may run. A pause of
// the handler's own may last as long as it likes. 0: no limit.
func answering(pause time.Duration, next http.Handler) http.Handler {
	if pause <= 0 {
		return next
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		a := &answer{ResponseWriter: w, pause: pause, multiplexed: r.ProtoMajor > 1}
		defer a.begin() // what net/http still holds
		next.ServeHTTP(a, r)
	})
}

// answer is a ResponseWriter that does not wait for a client for ever.
type answer struct {
	http.ResponseWriter
	pause       time.Duration
	multiplexed bool // HTTP/2: a deadline ends the answer even while nothing is written
	written     int  // up to heldBack
	left        bool // the handler sees to it, or has taken the connection
}

// Unwrap is for http.ResponseController.
func (a *answer) Unwrap() http.ResponseWriter { return a.ResponseWriter }

// WriteHeader implements http.ResponseWriter.
func (a *answer) WriteHeader(status int) {
	if status < 200 { // goes out at once
		a.begin()
		defer a.done()
	}
	a.ResponseWriter.WriteHeader(status)
}

// Write implements http.ResponseWriter.
func (a *answer) Write(p []byte) (n int, err error) {
	if a.written += min(len(p), heldBack); a.written <= heldBack {
		return a.ResponseWriter.Write(p)
	}
	a.written = heldBack
	return inPieces(p, func(part []byte) (int, error) {
		a.begin()
		defer a.done()
		return a.ResponseWriter.Write(part)
	})
}

// inPieces writes all of p, a piece at a time.
func inPieces(p []byte, write func([]byte) (int, error)) (n int, err error) {
	for {
		m, err := write(p[n:min(len(p), n+piece)])
		if n += m; err != nil || n >= len(p) {
			return n, err
		}
	}
}

// FlushError is for http.ResponseController.
func (a *answer) FlushError() error {
	a.begin()
	defer a.done()
	return a.control().Flush()
}

// SetWriteDeadline is for http.ResponseController: who sets one knows better.
func (a *answer) SetWriteDeadline(t time.Time) error {
	a.left = true
	return a.control().SetWriteDeadline(t)
}

// Hijack is for http.ResponseController.
func (a *answer) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	conn, buffered, err := a.control().Hijack()
	if err != nil {
		return nil, nil, err
	}
	a.left = true
	return &takenOver{conn, a.pause}, buffered, conn.SetWriteDeadline(time.Now().Add(a.pause)) // of what the caller writes into the buffer
}

func (a *answer) control() *http.ResponseController {
	return http.NewResponseController(a.ResponseWriter)
}

func (a *answer) begin() {
	if !a.left {
		_ = a.control().SetWriteDeadline(time.Now().Add(a.pause))
	}
}

func (a *answer) done() {
	if a.multiplexed && !a.left {
		_ = a.control().SetWriteDeadline(time.Time{})
	}
}

// takenOver is a connection on which something else than HTTP is spoken.
type takenOver struct {
	net.Conn
	pause time.Duration
}

// Write implements net.Conn.
func (c *takenOver) Write(p []byte) (n int, err error) {
	return inPieces(p, func(part []byte) (int, error) {
		_ = c.SetWriteDeadline(time.Now().Add(c.pause))
		return c.Conn.Write(part)
	})
}

// CloseWrite says that nothing more will come, as both kinds of connections that
// net/http has can do.
func (c *takenOver) CloseWrite() error {
	if half, ok := c.Conn.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return http.ErrNotSupported
}
