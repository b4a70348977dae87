package proxy

import (
	"errors"
	"io"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/recloser-go/recloser/gateway/internal/dependency"
	"github.com/recloser-go/recloser/internal/expiry"
)

// sender sends requests to a dependency. It notes how long good answers take, and
// does not wait for a body that has stopped in the middle.
type sender struct {
	dep   *dependency.Dependency
	idles expiry.Queue // of bodies that are waited for
}

// RoundTrip implements http.RoundTripper.
func (s *sender) RoundTrip(req *http.Request) (*http.Response, error) {
	start := time.Now()
	out, body := req, (*sent)(nil)
	if req.Body != nil && req.Body != http.NoBody {
		body = &sent{ReadCloser: req.Body, base: start}
		with := *req
		with.Body = body
		out = &with
	}
	resp, err := s.dep.Transport.RoundTrip(out)
	if err != nil {
		return nil, err
	}
	resp.Request = req
	took := time.Since(start)
	if body != nil { // an upload may take as long as it likes
		took -= time.Duration(body.end.Load())
	}
	s.dep.Learn(resp.StatusCode, took)
	if s.dep.BodyIdle > 0 && resp.Body != nil && resp.Body != http.NoBody && resp.StatusCode != http.StatusSwitchingProtocols {
		resp.Body = &received{ReadCloser: resp.Body, of: s}
	}
	return resp, nil
}

// sent is the body of a request. It knows when the last of it was read.
type sent struct {
	io.ReadCloser
	base time.Time
	end  atomic.Int64 // from base
}

func (s *sent) Read(p []byte) (int, error) {
	n, err := s.ReadCloser.Read(p)
	s.end.Store(int64(time.Since(s.base)))
	return n, err
}

var errBodyIdle = errors.New("the response's body stopped in the middle")

// received is the body of a response. Only the time in which it is waited for
// counts as a pause: a client may read as slowly as it likes.
type received struct {
	io.ReadCloser
	of   *sender
	wait expiry.Entry
	late atomic.Bool
}

func (b *received) Read(p []byte) (int, error) {
	b.of.idles.Add(&b.wait, b, b.of.dep.BodyIdle)
	n, err := b.ReadCloser.Read(p)
	b.of.idles.Remove(&b.wait)
	if err != nil && err != io.EOF && b.late.Load() {
		err = errBodyIdle
	}
	return n, err
}

// Expire ends the wait.
func (b *received) Expire() {
	b.late.Store(true)
	_ = b.Close()
}
