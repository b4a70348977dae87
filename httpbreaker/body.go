package httpbreaker

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
)

// follow makes the end of the response's body the end of the exchange.
func (x *exchange) follow(resp *http.Response) {
	if resp.Body == nil || resp.Body == http.NoBody {
		x.succeed()
		x.release()
		return
	}
	x.permit.Answered()
	body := &responseBody{ReadCloser: resp.Body, x: x}
	resp.Body = body
	if w, ok := body.ReadCloser.(io.Writer); ok {
		resp.Body = &upgradedBody{responseBody: body, w: w}
	}
}

// responseBody tells how a response's body ended.
type responseBody struct {
	io.ReadCloser
	x *exchange
}

func (b *responseBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	switch err {
	case nil:
	case io.EOF:
		b.x.succeed()
		b.x.release()
	default:
		_ = b.x.fail(err) // the body's own error is what its reader should see
	}
	return n, err
}

// Close before the end is the reader's choice, so it is a good end. It comes
// first: a read that the closing disturbs must not count.
func (b *responseBody) Close() error {
	b.x.succeed()
	defer b.x.release()
	return b.ReadCloser.Close()
}

var errUnasked = errors.New("httpbreaker: switched protocols unasked")

// asked reports whether a request offered the protocol that the connection was
// switched to. If not, nobody would read or close it.
func asked(req *http.Request, resp *http.Response) bool {
	to := strings.TrimSpace(resp.Header.Get("Upgrade"))
	for _, offered := range req.Header["Upgrade"] {
		for protocol := range strings.SplitSeq(offered, ",") {
			if to != "" && strings.EqualFold(strings.TrimSpace(protocol), to) {
				return true
			}
		}
	}
	return false
}

// upgradedBody is the connection that is left after an answer 101 Switching
// Protocols.
type upgradedBody struct {
	*responseBody
	w io.Writer
}

func (b *upgradedBody) Write(p []byte) (int, error) {
	n, err := b.w.Write(p)
	if err != nil {
		_ = b.x.fail(err)
	}
	return n, err
}

// CloseWrite says that nothing more will be written, where the connection can
// say so.
func (b *upgradedBody) CloseWrite() error {
	if c, ok := b.w.(interface{ CloseWrite() error }); ok {
		return c.CloseWrite()
	}
	return fmt.Errorf("httpbreaker: CloseWrite: %w", http.ErrNotSupported)
}
