package httpbreaker

import (
	"errors"
	"io"
	"net/http"
)

// watchUpload puts the bodies of a request that goes out under watch.
func (x *exchange) watchUpload(out *http.Request) {
	out.Body = &requestBody{ReadCloser: out.Body, x: x}
	if again := out.GetBody; again != nil {
		out.GetBody = func() (io.ReadCloser, error) {
			body, err := again()
			if err != nil {
				return nil, err
			}
			return &requestBody{ReadCloser: body, x: x}, nil
		}
	}
}

// requestBody keeps the time that a request's body takes from being charged to
// the dependency. The slow clock stands still from the first read, when there is
// a connection, to the last; the timeout begins anew with each part, and does not
// run while the caller has nothing to send.
type requestBody struct {
	io.ReadCloser
	x *exchange
}

func (b *requestBody) Read(p []byte) (int, error) {
	b.x.reading()
	n, err := b.ReadCloser.Read(p)
	b.x.read(err)
	return n, err
}

func (b *requestBody) Close() error {
	b.x.read(io.EOF)
	return b.ReadCloser.Close()
}

func (x *exchange) reading() {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.over {
		return
	}
	if x.timer != nil {
		x.timer.Stop()
	}
	if !x.sending {
		x.sending = true
		x.permit.Sending()
	}
}

func (x *exchange) read(err error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if err != nil && !errors.Is(err, io.EOF) {
		x.bodyErr = err
	}
	if x.over {
		return
	}
	if x.timer != nil {
		x.timer.Reset(x.timeout)
	}
	if err != nil && x.sending {
		x.sending = false
		x.permit.Sent()
	}
}

// bodyFailed reports whether err comes from reading the request's body.
func (x *exchange) bodyFailed(err error) bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.bodyErr != nil && errors.Is(err, x.bodyErr)
}
