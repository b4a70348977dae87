// Package httpbreaker puts breakers in front of an HTTP client: Transport is an
// http.RoundTripper that asks a breaker before each request and tells it how
// the request ended.
//
// A request has answered when its response headers are there, so a download or
// a stream is never slow. It has ended at the end of the response body: a body
// that breaks off is a failure. A transport error and every 5xx status are
// failures, except 501 and 505, which judge the request; all other statuses are
// good. A 503 or 429 whose Retry-After names a time opens the breaker for that
// time (see recloser.WaitError); a 429 is never a failure. Nor is a request that
// could not be sent for want of sockets on this machine: see ShortageError.
package httpbreaker

import (
	"context"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/recloser-go/recloser"
)

// Transport sends requests through breakers. Its zero value is ready to use;
// fields must not be changed after the first request. It is safe for
// concurrent use.
//
// RoundTrip returns an error for which errors.Is(err, recloser.ErrOpen) holds
// if the breaker refuses the request, or releases it on a trip. Responses and
// their bodies reach the caller unchanged, whatever their status. As with every
// RoundTripper the caller must read the body to its end or close it: only then
// has the call ended.
type Transport struct {
	// Base sends the requests. Default: http.DefaultTransport.
	Base http.RoundTripper

	// Breaker returns the breaker that judges a request; nil lets the request
	// pass unjudged. Default: one for each host, with the default settings; they
	// are never removed, so this is for hosts you know.
	// See PerHost.
	Breaker func(*http.Request) *recloser.Breaker

	// Classify says what a response means, looking at its status and headers;
	// it must leave the body alone. Default leaves it to the rules of this
	// package. Errors are not its business: see recloser.Config.Classify, which
	// in turn is never asked about a response, so that neither hook can call a
	// failure good that it did not mean. A panic in it counts as Default.
	Classify func(*http.Response) recloser.Outcome

	// Timeout is how long a request may take to its response headers. Default: no
	// limit. It begins anew with each part of the request's body, and does not
	// run while the caller has none to send. A request that takes longer is a
	// failure, and its error is a net.Error whose Timeout method reports true. It
	// never cuts a response body short.
	Timeout time.Duration

	// KeepOnTrip lets requests wait on for their response when the breaker
	// trips, even if recloser.Config.CancelOnTrip is set.
	KeepOnTrip bool

	once    sync.Once
	perHost func(*http.Request) *recloser.Breaker
}

// PerHost is for Transport.Breaker: each host has the breaker that set holds
// under its name. The name is in lower case, with a port unless it is the
// scheme's own, such as "api.example" or "10.0.0.1:8080".
func PerHost(set *recloser.Set) func(*http.Request) *recloser.Breaker {
	return func(req *http.Request) *recloser.Breaker {
		if req.URL == nil || req.URL.Host == "" {
			return nil // never gets anywhere: the base transport says so
		}
		host := strings.ToLower(req.URL.Host)
		if name, port, err := net.SplitHostPort(host); err == nil && isDefaultPort(req.URL.Scheme, port) {
			host = name
		}
		return set.Get(host)
	}
}

func isDefaultPort(scheme, port string) bool {
	return scheme == "http" && port == "80" || scheme == "https" && port == "443"
}

// RoundTrip implements http.RoundTripper.
func (t *Transport) RoundTrip(req *http.Request) (*http.Response, error) {
	b := t.breaker(req)
	if b == nil {
		return t.Send(req, &recloser.Permit{})
	}
	permit, err := b.Allow(req.Context())
	if err != nil {
		closeBody(req)
		return nil, err
	}
	return t.Send(req, &permit)
}

func (t *Transport) breaker(req *http.Request) *recloser.Breaker {
	if t.Breaker != nil {
		return t.Breaker(req)
	}
	t.once.Do(func() {
		set, err := recloser.NewSet(recloser.Config{}, nil)
		if err != nil {
			panic(err) // the default settings are good
		}
		t.perHost = PerHost(set)
	})
	return t.perHost(req)
}

// Send sends a request for which the caller has a permit already, and ends the
// permit by the same rules as RoundTrip. The caller may still ask it whether it
// is a trial, but must not end it while Send runs or before the response body
// has ended.
func (t *Transport) Send(req *http.Request, permit *recloser.Permit) (*http.Response, error) {
	x := &exchange{permit: permit, ctx: req.Context()}
	out := x.begin(req, t.Timeout, !t.KeepOnTrip)
	returned := false
	defer func() {
		if !returned { // a panic, or runtime.Goexit
			x.stopWaiting()
			x.release()
			permit.End(recloser.Failure)
		}
	}()
	resp, err := t.base().RoundTrip(out)
	inTime := x.stopWaiting()
	returned = true
	if err != nil {
		return nil, x.fail(err)
	}
	if !inTime {
		// The context is cancelled, so the body is lost already.
		_ = resp.Body.Close()
		return nil, x.fail(context.Cause(x.ctx))
	}
	if resp.StatusCode == http.StatusSwitchingProtocols && !asked(req, resp) {
		_ = resp.Body.Close()
		return nil, x.fail(errUnasked)
	}
	if resp.Request == out {
		resp.Request = req
	}
	t.judge(resp, permit)
	x.follow(resp)
	return resp, nil
}

func (t *Transport) base() http.RoundTripper {
	if t.Base == nil {
		return http.DefaultTransport
	}
	return t.Base
}

// closeBody keeps the promise of http.RoundTripper that the request's body is
// always closed.
func closeBody(req *http.Request) {
	if req.Body != nil {
		_ = req.Body.Close()
	}
}
