package bench

import (
	"io"
	"net/http"
	"strings"

	"github.com/sony/gobreaker/v2"

	"github.com/recloser-go/recloser"
	"github.com/recloser-go/recloser/httpbreaker"
)

// Transport is an HTTP client whose answers come at once and have no body.
func Transport() Group { return transports("HTTP, no body", canned{}) }

// TransportBody is the same with a body, which is read to its end.
func TransportBody() Group {
	return transports("HTTP, body of 512 bytes", canned{body: strings.Repeat("x", 512)})
}

func transports(name string, base canned) Group {
	return Group{Name: name, Peers: []Peer{
		{
			Name: "Transport", Rule: rateRule, Refusal: recloser.ErrOpen,
			New: func() Breaker {
				b := must(recloser.New(rateConfig(nil)))
				return newClient(&httpbreaker.Transport{Base: base, Breaker: func(*http.Request) *recloser.Breaker { return b }})
			},
		},
		{
			Name: "no breaker", Rule: "the canned answer alone",
			New: func() Breaker { return newClient(base) },
		},
		{
			Name: "gobreaker by hand", Rule: "50 % of 20 in 10 s, buckets of 1 s; the end of the body is not seen", Refusal: gobreaker.ErrOpenState,
			New: func() Breaker {
				return newClient(wrapped{base, gobreaker.NewCircuitBreaker[*http.Response](gobreakerRate())}) //nolint:bodyclose // there is no response yet
			},
		},
	}}
}

// client sends the same requests again and again.
type client struct {
	transport http.RoundTripper
	good, bad *http.Request
}

const badPath = "/bad"

func newClient(t http.RoundTripper) *client {
	return &client{
		transport: t,
		good:      must(http.NewRequest(http.MethodGet, "http://partner.example/good", nil)),
		bad:       must(http.NewRequest(http.MethodGet, "http://partner.example"+badPath, nil)),
	}
}

func (c *client) Succeed() error { return c.send(c.good) }
func (c *client) Fail() error    { return c.send(c.bad) }

func (c *client) send(req *http.Request) error {
	resp, err := c.transport.RoundTrip(req)
	if err != nil {
		return err
	}
	_, err = io.Copy(io.Discard, resp.Body)
	_ = resp.Body.Close()
	return err
}

// canned answers at once.
type canned struct{ body string }

func (c canned) RoundTrip(req *http.Request) (*http.Response, error) {
	if req.URL.Path == badPath {
		return nil, ErrWork
	}
	resp := &http.Response{
		StatusCode: http.StatusOK, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		ContentLength: int64(len(c.body)), Body: http.NoBody, Request: req,
	}
	if c.body != "" {
		resp.Body = &answer{text: c.body}
	}
	return resp, nil
}

// answer is a body as it comes off a connection: it can be read, and no more.
type answer struct{ text string }

func (a *answer) Read(p []byte) (int, error) {
	if a.text == "" {
		return 0, io.EOF
	}
	n := copy(p, a.text)
	a.text = a.text[n:]
	return n, nil
}

func (a *answer) Close() error { return nil }

// wrapped is what a user of gobreaker writes: it has no transport of its own.
type wrapped struct {
	base http.RoundTripper
	cb   *gobreaker.CircuitBreaker[*http.Response]
}

func (w wrapped) RoundTrip(req *http.Request) (*http.Response, error) {
	return w.cb.Execute(func() (*http.Response, error) { return w.base.RoundTrip(req) })
}
