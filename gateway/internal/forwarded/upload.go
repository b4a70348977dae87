package forwarded

import (
	"errors"
	"io"
	"net/http"
	"os"
	"sync"
	"sync/atomic"
	"time"
)

// Upload is the body of a request that came in. It is bounded, does not wait for
// a client that has stopped in the middle, and tells whether it was read to its
// end.
type Upload struct {
	io.ReadCloser
	idle    time.Duration
	end     atomic.Bool
	stalled atomic.Bool

	mu      sync.Mutex
	control *http.ResponseController // nil: the handler has returned
}

// Watch makes an Upload of the body of a request: of at most most bytes and with
// pauses of at most idle, or any if that is not above 0. Beyond them a Read fails
// with an *http.MaxBytesError or os.ErrDeadlineExceeded.
func Watch(w http.ResponseWriter, r *http.Request, most int64, idle time.Duration) *Upload {
	u := &Upload{ReadCloser: r.Body, control: http.NewResponseController(w), idle: idle}
	if most > 0 {
		// Without the ResponseWriter: a transport reads while the answer is written.
		u.ReadCloser = http.MaxBytesReader(nil, r.Body, most)
	}
	r.Body = u
	return u
}

// Read implements io.Reader.
func (u *Upload) Read(p []byte) (int, error) {
	if u.idle > 0 {
		u.readUntil(time.Now().Add(u.idle))
	}
	n, err := u.ReadCloser.Read(p)
	if err != nil {
		if u.idle > 0 {
			u.readUntil(time.Time{}) // the server goes on reading, to see the client hang up
		}
		u.end.Store(err == io.EOF)
		u.stalled.Store(errors.Is(err, os.ErrDeadlineExceeded))
	}
	return n, err
}

func (u *Upload) readUntil(deadline time.Time) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.control != nil {
		_ = u.control.SetReadDeadline(deadline) // a client that cannot be timed is waited for
	}
}

// Leave is to be called when the handler returns. A transport may still be in a
// Read then, and the ResponseWriter of HTTP/2 panics if it is used after that.
func (u *Upload) Leave() {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.control = nil
}

// Duplex lets the body be read while the answer is being written. Else net/http
// closes it as soon as the response begins, which a transport that was about to
// look for the body's end takes for an error and breaks off. HTTP/2 is duplex anyway.
func (u *Upload) Duplex() { _ = u.control.EnableFullDuplex() }

// Stalled reports whether the body paused for too long. To net/http the client is
// gone then, and the request's context is done.
func (u *Upload) Stalled() bool { return u.stalled.Load() }

// Ended reports whether the body was read to its end.
func (u *Upload) Ended() bool { return u.end.Load() }
