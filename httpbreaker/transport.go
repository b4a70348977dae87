package httpbreaker

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/recloser-go/recloser"
	"github.com/recloser-go/recloser/internal/expiry"
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
	// pass unjudged. Default: one for each host, with the default settings, in a
	// recloser.Set. Those have no recloser.Config.SlowCall, so a host that hangs is
	// cut off only with Timeout, or by a Breaker that has a SlowCall. See PerHost and
	// Fixed.
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
	// trips, even if recloser.Config.CancelOnTrip is set. Else a trip ends a wait at
	// once, or once it has lasted for 20 ms.
	KeepOnTrip bool

	// Detach sends each request on a goroutine of its own, if its breaker has
	// recloser.Config.CancelOnTrip. Then a caller whom a trip releases goes at once,
	// and his request may run on without him as a witness, if it has no body or the
	// body is sent: see recloser.Permit.Witness. It gets a copy of the request, whose
	// context has the values of the caller's, but does not end with it then. Nobody
	// sees the answer of a witness; its body is closed. For requests that
	// come with a permit, see Send.
	Detach bool

	young    expiry.Queue // waits that are not watched for a trip yet
	timeouts expiry.Queue // the others

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

// Caller is who waits for a response, and may go before his request has ended.
type Caller interface {
	// Leave gives him err in place of a response, as a trip has released him, and reports
	// true: his request runs on as a witness. If it reports false, he has to stay, and
	// his request is cut short like all others that the trip releases. It is called once
	// for a request at most, while RoundTripFor runs. What the request comes to waits for
	// it, so it must not wait until a client has taken an answer.
	Leave(err error) bool
}

// RoundTrip implements http.RoundTripper.
func (t *Transport) RoundTrip(req *http.Request) (*http.Response, error) {
	return t.RoundTripFor(nil, req)
}

// RoundTripFor is RoundTrip for a caller whose request may run on without him as a
// witness, see recloser.Permit.Witness. Other than with Detach, which does not matter
// here, that takes no goroutine for each request: who has gone is told by Leave, and
// RoundTripFor itself returns when the witness has ended, with the error that he got. So
// it is for a server that can answer its client meanwhile. The request's context must
// not end with the client who has gone. Without a caller (nil) it is RoundTrip.
func (t *Transport) RoundTripFor(caller Caller, req *http.Request) (*http.Response, error) {
	b := t.breaker(req)
	if b == nil {
		return t.Send(req, &recloser.Permit{})
	}
	permit, err := b.Allow(req.Context())
	if err != nil {
		closeBody(req.Body) // a RoundTripper must, whatever comes of it
		return nil, err
	}
	if t.needsWait(req, &permit, t.Timeout) {
		x := newExchange(req, &permit)
		x.waiting.caller, x.waiting.timeout = caller, t.Timeout
		return t.send(x, &x.own)
	}
	// From here on as in send, but nothing is allocated for a good response
	// without a body: that is worth half of the time, see BenchmarkTransport.
	returned := false
	defer func() {
		if !returned { // a panic, or runtime.Goexit
			permit.End(recloser.Failure)
		}
	}()
	resp, err := t.base().RoundTrip(req)
	returned = true
	if err == nil && resp != nil && t.isPlain(resp) {
		permit.Done(nil)
		return resp, nil
	}
	return t.settle(newExchange(req, &permit), req, resp, err)
}

func (t *Transport) breaker(req *http.Request) *recloser.Breaker {
	if t.Breaker != nil {
		return t.Breaker(req)
	}
	t.once.Do(func() { t.perHost = PerHost(defaultSet()) })
	return t.perHost(req)
}

func defaultSet() *recloser.Set {
	set, err := recloser.NewSet(recloser.Config{}, nil)
	if err != nil {
		panic(err) // the default settings are good
	}
	return set
}

// Send sends a request for which the caller has a permit already, and ends the
// permit by the same rules as RoundTrip. The caller may still ask it whether it
// is a trial, but must not end it while Send runs or before the response body
// has ended; with Detach he must not end it at all if the error is a release
// (recloser.ReasonReleased), as the request may still run.
func (t *Transport) Send(req *http.Request, permit *recloser.Permit) (*http.Response, error) {
	return t.send(&exchange{permit: permit, req: req, waiting: wait{timeout: t.Timeout}}, permit)
}

// send sends the request of an exchange, whose waiting knows the timeout and, if he may
// go, the caller.
func (t *Transport) send(x *exchange, permit *recloser.Permit) (*http.Response, error) {
	if !t.needsWait(x.req, permit, x.waiting.timeout) {
		return t.sendOut(x, x.req)
	}
	detach := t.Detach && x.waiting.caller == nil && t.releases(permit)
	x.wait = &x.waiting
	out := t.startWait(x.wait, x.req, permit, detach)
	if detach {
		return t.sendDetached(x, out)
	}
	return t.sendOut(x, out)
}

// sendOut sends the request out and settles what comes of it.
func (t *Transport) sendOut(x *exchange, out *http.Request) (*http.Response, error) {
	returned := false
	defer func() {
		if !returned { // a panic, or runtime.Goexit
			x.broken()
		}
	}()
	resp, err := t.base().RoundTrip(out)
	returned = true
	resp, err = t.settle(x, out, resp, err)
	if why := x.left(); why != nil {
		if resp != nil {
			closeBody(resp.Body)
		}
		return nil, why
	}
	return resp, err
}

var errNoResponse = errors.New("httpbreaker: the base transport returned neither a response nor an error")

// settle ends the wait for the response to the request out, and the call if
// there is no more to come.
func (t *Transport) settle(x *exchange, out *http.Request, resp *http.Response, err error) (*http.Response, error) {
	inTime, followed := x.stopWaiting(), false
	defer func() {
		if !followed { // it has failed and ended; or something panics, which must not cost the permit
			x.release()
			x.permit.End(recloser.Failure)
		}
	}()
	switch {
	case err != nil:
		return nil, x.fail(err)
	case resp == nil:
		return nil, x.fail(errNoResponse)
	case !inTime: // the context is cancelled, so the body is lost already
		closeBody(resp.Body)
		return nil, x.fail(context.Cause(x.ctx()))
	case resp.StatusCode == http.StatusSwitchingProtocols && !asked(x.req, resp):
		closeBody(resp.Body)
		return nil, x.fail(errUnasked)
	}
	if resp.Request == out {
		resp.Request = x.req
	}
	judge(x.permit, ask(resp, t.Classify), resp.StatusCode, resp.Header)
	x.follow(resp)
	followed = true
	return resp, nil
}

// isPlain reports whether the headers of a response say that it is a good one,
// and all of it.
func (t *Transport) isPlain(resp *http.Response) bool {
	return t.Classify == nil && isEmpty(resp.Body) && resp.StatusCode >= 200 && resp.StatusCode < 400
}

func (t *Transport) base() http.RoundTripper {
	if t.Base == nil {
		return http.DefaultTransport
	}
	return t.Base
}

func closeBody(body io.Closer) {
	if body != nil {
		_ = body.Close()
	}
}
