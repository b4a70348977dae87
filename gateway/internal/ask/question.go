package ask

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"net/http/httputil"
	"net/url"
	"strings"

	"github.com/recloser-go/recloser/gateway/internal/config"
	"github.com/recloser-go/recloser/gateway/internal/forwarded"
)

// question is what every member is asked.
type question struct {
	request *http.Request // as it came; its body has been read
	rule    *config.Ask
	method  string
	path    string
	query   string
	header  http.Header // shared by all requests: transports do not change it
	body    []byte
}

func newQuestion(w http.ResponseWriter, r *http.Request, route config.Route, limits config.Limits) (*question, error) {
	body, err := readAll(w, r, limits)
	if err != nil {
		return nil, err
	}
	return &question{
		request: r,
		rule:    route.Ask,
		method:  r.Method,
		path:    route.Path,
		query:   forwarded.Query(r.URL),
		header:  header(r),
		body:    body,
	}, nil
}

// header returns the client's headers without those that concern its connection
// only, or that would not be true of ours.
func header(in *http.Request) http.Header {
	out := &http.Request{Header: in.Header.Clone()}
	for _, list := range in.Header["Connection"] {
		for name := range strings.SplitSeq(list, ",") {
			out.Header.Del(strings.TrimSpace(name))
		}
	}
	for name := range out.Header {
		if strings.HasPrefix(name, "If-") { // about an answer of ours, which is no member's
			out.Header.Del(name)
		}
	}
	for _, name := range []string{
		"Connection", "Proxy-Connection", "Keep-Alive", "Proxy-Authenticate", "Proxy-Authorization",
		"Te", "Trailer", "Transfer-Encoding", "Upgrade", "Http2-Settings",
		"Accept-Encoding", "Expect", "Content-Length", // we read the bodies, all at once
		"Range", // half an answer cannot be judged
	} {
		out.Header.Del(name)
	}
	forwarded.From(&httputil.ProxyRequest{In: in, Out: out})
	if _, ok := out.Header["User-Agent"]; !ok {
		out.Header.Set("User-Agent", "") // else net/http adds its own
	}
	return out.Header
}

// to returns the request for one member: the route's path below its URL.
func (q *question) to(ctx context.Context, base *url.URL) (*http.Request, error) {
	u := base.JoinPath(q.path)
	if u.RawQuery != "" && q.query != "" {
		u.RawQuery += "&"
	}
	u.RawQuery += q.query
	var body io.Reader
	if len(q.body) > 0 {
		body = bytes.NewReader(q.body)
	}
	req, err := http.NewRequestWithContext(ctx, q.method, u.String(), body) //nolint:gosec // the host is the config's, only the query is the client's
	if err != nil {
		return nil, err
	}
	req.Header = q.header
	return req, nil
}
