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
	if isEmpty(resp.Body) {
		x.succeed()
		x.release()
		return
	}
	x.permit.Answered()
	x.body = resp.Body
	body := (*responseBody)(x)
	if w, ok := x.body.(io.Writer); ok {
		resp.Body = &upgradedBody{responseBody: body, w: w}
		return
	}
	resp.Body = body
}

func isEmpty(body io.ReadCloser) bool { return body == nil || body == http.NoBody }

// responseBody is an exchange as the body of its response: it tells how that
// ended. It is the same object, so that a request costs one.
type responseBody exchange

func (b *responseBody) Read(p []byte) (int, error) {
	n, err := b.body.Read(p)
	if err != nil {
		b.end(err)
	}
	return n, err
}

func (b *responseBody) end(err error) {
	x := (*exchange)(b)
	if err != io.EOF { //nolint:errorlint // readers return it bare, and a wrapped one is another
		_ = x.fail(err) // the body's own error is what its reader should see
		return
	}
	x.succeed()
	x.release()
}

// Close before the end is the reader's choice, so it is a good end. It comes
// first: a read that the closing disturbs must not count.
func (b *responseBody) Close() error {
	x := (*exchange)(b)
	x.succeed()
	defer x.release()
	return b.body.Close()
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
		b.end(err)
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
