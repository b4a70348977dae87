package httpbreaker

import (
	"io"
	"net/http"

	"github.com/recloser-go/recloser/internal/safely"
)

// watchUpload puts the bodies of a request that goes out under watch.
func (w *wait) watchUpload(out *http.Request) {
	out.Body = &requestBody{ReadCloser: out.Body, w: w}
	if again := out.GetBody; again != nil {
		out.GetBody = func() (io.ReadCloser, error) {
			body, err := again()
			if err != nil {
				return nil, err
			}
			return &requestBody{ReadCloser: body, w: w}, nil
		}
	}
}

// requestBody keeps the time that a request's body takes from being charged to
// the dependency. The slow clock stands still from the first read, when there is
// a connection, to the last; the timeout begins anew with each part, and does not
// run while the caller has nothing to send.
type requestBody struct {
	io.ReadCloser
	w *wait
}

func (b *requestBody) Read(p []byte) (int, error) {
	b.w.reading()
	n, err := b.ReadCloser.Read(p)
	b.w.read(err)
	return n, err
}

func (b *requestBody) Close() error {
	b.w.read(io.EOF)
	return b.ReadCloser.Close()
}

func (w *wait) reading() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.over {
		return
	}
	w.asked = true
	w.stopTimer()
	if !w.sending {
		w.sending = true
		w.permit.Sending()
	}
}

func (w *wait) read(err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if err != nil && !safely.Is(err, io.EOF) {
		w.bodyErr = err
	}
	w.sent = w.sent || err != nil
	w.asked = false
	if w.over {
		return
	}
	w.startTimer(w.timeout)
	w.from = w.permit.Age()
	if err != nil && w.sending {
		w.sending = false
		w.permit.Sent()
	}
}

// bodyFailed reports whether err comes from reading the request's body.
func (w *wait) bodyFailed(err error) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.bodyErr != nil && safely.Is(err, w.bodyErr)
}
