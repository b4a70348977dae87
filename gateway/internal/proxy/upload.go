package proxy

import (
	"io"
	"net/http"

	"github.com/recloser-go/recloser/gateway/internal/forwarded"
)

// sending is an upload on its way out: ReverseProxy has put something of its own
// between.
type sending struct {
	io.ReadCloser
	of      *forwarded.Upload
	in, out http.Header // trailers
}

// Read has the trailers go on that were announced. The server fills in all there
// are when the body has ended.
func (s *sending) Read(p []byte) (int, error) {
	n, err := s.ReadCloser.Read(p)
	if err == io.EOF {
		for name := range s.out {
			s.out[name] = s.in[name]
		}
	}
	return n, err
}

// uploadOf returns the body of a request that came or goes out, nil if it has none.
func uploadOf(r *http.Request) *forwarded.Upload {
	switch b := r.Body.(type) {
	case *forwarded.Upload:
		return b
	case *sending:
		return b.of
	}
	return nil
}
