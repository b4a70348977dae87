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
	of *forwarded.Upload
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
