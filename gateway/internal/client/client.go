// Package client speaks the admin API of a gateway.
//
// It never sends a token where others could read it on the way, follows no
// redirect, and makes no act twice: each has an Idempotency-Key of its own, so one
// whose connection broke can be sent again.
package client

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"time"
)

// DefaultServer is where a gateway on this machine is reached.
const DefaultServer = "http://127.0.0.1:8081"

const (
	defaultTimeout = 10 * time.Second
	maxAnswer      = 64 << 20 // bytes; ten thousand dependencies are a fourth of it
)

// Options are how a gateway is reached.
type Options struct {
	Server       string        // base URL; default DefaultServer
	Token        string        // "": none is sent
	CA           []byte        // PEM certificates to trust, in place of the system's; nil: the system's
	InsecureHTTP bool          // a token may go over plain http to another machine
	Timeout      time.Duration // of one request, but for streams; default 10 s
	Agent        string        // User-Agent; "": Go's
}

// Client speaks to one gateway. It is safe for concurrent use.
type Client struct {
	base    *url.URL
	http    *http.Client
	timeout time.Duration
	token   string
	agent   string
}

// New connects to nothing yet. Its errors are of kind Usage.
func New(o Options) (*Client, error) {
	if o.Server == "" {
		o.Server = DefaultServer
	}
	if o.Timeout == 0 {
		o.Timeout = defaultTimeout
	}
	base, err := url.Parse(o.Server)
	switch {
	case err != nil, base.Host == "", base.Scheme != "http" && base.Scheme != "https":
		return nil, usage("the server is a URL such as %s, not %q", DefaultServer, o.Server)
	case base.User != nil, base.RawQuery != "", base.Fragment != "":
		return nil, usage("the server's URL has no user, query or fragment, as in %s", DefaultServer)
	case o.Token != "" && base.Scheme == "http" && !o.InsecureHTTP && !isLoopback(base.Hostname()):
		return nil, usage("the token would go to %s over plain http, where others can read it: use https, or say --insecure-http", base.Host)
	}
	transport := http.DefaultTransport.(*http.Transport).Clone()
	if o.CA != nil {
		pool := x509.NewCertPool()
		if !pool.AppendCertsFromPEM(o.CA) {
			return nil, usage("the file of RECLOSER_CA or --ca has no certificate in PEM form")
		}
		transport.TLSClientConfig = &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12}
	}
	return &Client{
		base: base,
		http: &http.Client{
			Transport: transport,
			// A redirect would take the token, or the act, to somewhere else.
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
		timeout: o.Timeout, token: o.Token, agent: o.Agent,
	}, nil
}

// Server returns the base URL.
func (c *Client) Server() string { return strings.TrimSuffix(c.base.String(), "/") }

// Answer is what the gateway said.
type Answer struct {
	Body json.RawMessage // valid JSON, or empty
	At   time.Time       // the gateway's clock, by the second
}

// Into reads the body into a value.
func (a Answer) Into(value any) error {
	if err := json.Unmarshal(a.Body, value); err != nil {
		return &Error{Kind: Failed, Detail: fmt.Sprintf("the gateway's answer is not as expected (%v): are gateway and recloser of the same version?", err)}
	}
	return nil
}

// Get reads what is at a path of the API, such as "dependencies".
func (c *Client) Get(ctx context.Context, path string, query url.Values) (Answer, error) {
	return c.exchange(ctx, http.MethodGet, path, query, nil, "")
}

// Act changes something. body is sent as JSON; nil: none. If the connection
// breaks it is sent once more, which does nothing if it had arrived.
func (c *Client) Act(ctx context.Context, method, path string, query url.Values, body any) (Answer, error) {
	var content []byte
	if body != nil {
		var err error
		if content, err = json.Marshal(body); err != nil {
			return Answer{}, err
		}
	}
	key := rand.Text()
	answer, err := c.exchange(ctx, method, path, query, content, key)
	if failure, ok := errors.AsType[*Error](err); ok && failure.broken && ctx.Err() == nil {
		answer, err = c.exchange(ctx, method, path, query, content, key)
	}
	if failure, ok := errors.AsType[*Error](err); ok && failure.broken {
		failure.Detail += "; it may have been done all the same: look with recloser status"
	}
	return answer, err
}

// exchange sends one request and reads its answer. With a key it is an act.
func (c *Client) exchange(ctx context.Context, method, path string, query url.Values, body []byte, key string) (Answer, error) {
	ctx, cancel := context.WithTimeout(ctx, c.timeout)
	defer cancel()
	req, err := c.request(ctx, method, path, query, body)
	if err != nil {
		return Answer{}, err
	}
	if key != "" {
		req.Header.Set("Idempotency-Key", key)
	}
	resp, err := c.http.Do(req)
	if err != nil {
		return Answer{}, c.unreachable(ctx, err)
	}
	defer resp.Body.Close()
	content, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer+1))
	if err != nil {
		return Answer{}, c.unreachable(ctx, err)
	}
	return c.judge(resp, content)
}

func (c *Client) request(ctx context.Context, method, path string, query url.Values, body []byte) (*http.Request, error) {
	u := c.base.JoinPath("api/v1", path)
	u.RawQuery = query.Encode()
	req, err := http.NewRequestWithContext(ctx, method, u.String(), bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Accept", "application/json, application/problem+json")
	if len(body) > 0 {
		req.Header.Set("Content-Type", "application/json")
	}
	if c.token != "" {
		req.Header.Set("Authorization", "Bearer "+c.token)
	}
	if c.agent != "" {
		req.Header.Set("User-Agent", c.agent)
	}
	return req, nil
}

// clock returns what time it is there. The header knows whole seconds only, so where
// this machine's clock agrees with it, that one is taken.
func clock(resp *http.Response, here time.Time) time.Time {
	there, err := http.ParseTime(resp.Header.Get("Date"))
	if since := here.Sub(there); err != nil || since >= 0 && since < 2*time.Second {
		return here
	}
	return there
}

// judge tells an answer of the API from a problem and from what is no gateway.
func (c *Client) judge(resp *http.Response, content []byte) (Answer, error) {
	at := clock(resp, time.Now().UTC())
	kind, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	isJSON := (kind == "application/json" || strings.HasSuffix(kind, "+json")) && json.Valid(content)
	switch {
	case resp.StatusCode >= 300 && resp.StatusCode < 400:
		return Answer{}, &Error{Kind: Unreachable, Status: resp.StatusCode, Detail: fmt.Sprintf(
			"%s answers with a redirect to %q: give the address of the gateway itself with --server", c.Server(), resp.Header.Get("Location"))}
	case resp.StatusCode == http.StatusBadRequest && c.base.Scheme == "http" && strings.Contains(string(content), "HTTP request to an HTTPS server"):
		return Answer{}, &Error{Kind: Unreachable, Status: resp.StatusCode, Detail: fmt.Sprintf(
			"%s speaks HTTPS: use --server https://%s", c.Server(), strings.TrimPrefix(c.Server(), "http://"))}
	case len(content) > maxAnswer:
		return Answer{}, &Error{Kind: Failed, Status: resp.StatusCode, Detail: fmt.Sprintf("the answer of %s is longer than %d MiB", c.Server(), maxAnswer>>20)}
	case len(content) > 0 && !isJSON, len(content) == 0 && resp.StatusCode >= 300:
		return Answer{}, &Error{Kind: Unreachable, Status: resp.StatusCode, Detail: fmt.Sprintf(
			"what answers at %s (%s) is no gateway: give its admin address with --server", c.Server(), resp.Status)}
	case resp.StatusCode >= 400:
		return Answer{}, problem(resp, content)
	}
	return Answer{Body: content, At: at}, nil
}

// isLoopback reports whether what is sent to a host stays on this machine.
func isLoopback(host string) bool {
	if strings.EqualFold(strings.TrimSuffix(host, "."), "localhost") {
		return true
	}
	addr, err := netip.ParseAddr(host)
	return err == nil && addr.Unmap().IsLoopback()
}

// untrusted says what to do about a certificate, and why.
func untrusted(err error) string {
	var hostname x509.HostnameError
	var invalid x509.CertificateInvalidError
	var unknown x509.UnknownAuthorityError
	switch {
	case errors.As(err, &unknown):
		return "name the one to trust with --ca or RECLOSER_CA, as nobody known here vouches for it"
	case errors.As(err, &hostname):
		return fmt.Sprintf("use a name that it is for with --server, as it is not for %s", hostname.Host)
	case errors.As(err, &invalid) && invalid.Reason == x509.Expired:
		return "renew it, or set this machine's clock, as it has ended or does not hold yet"
	}
	return fmt.Sprintf("name the one to trust with --ca (%v)", err)
}

// unreachable says why there is no answer.
func (c *Client) unreachable(ctx context.Context, err error) error {
	if inner, ok := errors.AsType[*url.Error](err); ok {
		err = inner.Err
	}
	e := &Error{Kind: Unreachable, Err: err}
	var dial *net.OpError
	var certificate *tls.CertificateVerificationError
	switch {
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		e.Detail = fmt.Sprintf("%s does not answer within %s", c.Server(), c.timeout)
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case errors.As(err, &certificate):
		e.Detail = fmt.Sprintf("the certificate of %s is not trusted: %s", c.Server(), untrusted(certificate.Err))
	case errors.As(err, &dial) && dial.Op == "dial":
		e.Detail = fmt.Sprintf("no gateway answers at %s (%v): start it, or give its admin address with --server or RECLOSER_SERVER", c.Server(), dial.Err)
	default:
		e.Detail = fmt.Sprintf("the connection to %s broke (%v)", c.Server(), err)
		e.broken = true
	}
	return e
}
