package proxy

import (
	"io"
	"net/http"
	"sync/atomic"
)

// upload tells whether a request's body was read to its end.
type upload struct {
	io.ReadCloser
	end atomic.Bool
}

// watchUpload returns nil for a request without a body.
func watchUpload(r *http.Request) *upload {
	if r.ContentLength == 0 {
		return nil
	}
	u := &upload{ReadCloser: r.Body}
	r.Body = u
	return u
}

func (u *upload) Read(p []byte) (int, error) {
	n, err := u.ReadCloser.Read(p)
	if err == io.EOF {
		u.end.Store(true)
	}
	return n, err
}

func (u *upload) ended() bool { return u == nil || u.end.Load() }
