package probe

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/recloser-go/recloser/gateway/internal/dependency"
	"github.com/recloser-go/recloser/internal/vtime"
)

// Verdict is what a probe says about its dependency.
type Verdict string

// What a probe may say.
const (
	Good      Verdict = "good"
	Bad       Verdict = "bad"
	Neither   Verdict = "neither"    // the dependency had no time for it
	WrongPath Verdict = "wrong path" // there is hardly a health check at that path; counts as neither
)

// Result is what a probe found.
type Result struct {
	Verdict Verdict
	Status  int           // of HTTP; 0: there was no answer
	Why     string        // for people: "status 503", "no answer within 1s"
	Took    time.Duration // to the answer's headers, or until it failed
}

// drainable is how long a body may be that is read to its end, so that the
// connection can be used again. What is longer is left, and the connection closed.
const drainable = 4 << 10

// Get returns a Send: one GET over the dependency's own connections, within the
// probe's timeout. A redirect is an answer and not followed.
func Get(clock vtime.Clock) func(context.Context, *dependency.Dependency) Result {
	return func(ctx context.Context, d *dependency.Dependency) Result {
		began := clock.Now()
		timed, cancel := clock.WithTimeout(ctx, d.Probe.Timeout)
		defer cancel()
		req, err := http.NewRequestWithContext(timed, http.MethodGet, target(d).String(), http.NoBody)
		if err != nil {
			return Result{Verdict: WrongPath, Why: err.Error()}
		}
		req.Header.Set("User-Agent", "recloser-probe")
		resp, err := d.Transport.RoundTrip(req)
		took := clock.Since(began)
		if err == nil {
			if resp.ContentLength <= drainable {
				_, _ = io.CopyN(io.Discard, resp.Body, drainable+1)
			}
			_ = resp.Body.Close()
			return Result{judge(resp.StatusCode), resp.StatusCode, fmt.Sprintf("status %d", resp.StatusCode), took}
		}
		r := Result{Verdict: Bad, Why: inWords(err), Took: took}
		switch {
		case ctx.Err() != nil:
			r.Verdict = Neither // we ended it
		case errors.Is(timed.Err(), context.DeadlineExceeded):
			r.Why = fmt.Sprintf("no answer within %s", d.Probe.Timeout)
		}
		return r
	}
}

// inWords says why there was no answer, and where people can do something, what.
func inWords(err error) string {
	var unknown *net.DNSError
	var certificate *tls.CertificateVerificationError
	var dial *net.OpError
	switch {
	case errors.As(err, &unknown):
		return fmt.Sprintf("the name %s has no address (%s); correct its url, or see that this machine's name server knows it", unknown.Name, unknown.Err)
	case errors.As(err, &certificate):
		return fmt.Sprintf("its certificate is not trusted (%v); renew it, or have this machine trust who issued it", certificate.Err)
	case errors.As(err, &dial) && dial.Op == "dial" && dial.Addr != nil:
		return fmt.Sprintf("%s cannot be connected to (%v); see that it is up, and that a firewall lets this machine through", dial.Addr, dial.Err)
	}
	return err.Error()
}

// judge says what a status means for a request that we made up.
func judge(status int) Verdict {
	switch {
	case status >= 200 && status < 400:
		return Good
	case status == http.StatusUnauthorized || status == http.StatusForbidden:
		return Good // it works, and asks only who we are
	case status == http.StatusTooManyRequests:
		return Neither
	case status >= 400 && status < 500:
		return WrongPath
	}
	return Bad
}

// target returns what is probed.
func target(d *dependency.Dependency) *url.URL {
	path, query, _ := strings.Cut(d.Probe.Path, "?")
	u := d.URL.JoinPath(path)
	if u.RawQuery != "" && query != "" {
		u.RawQuery += "&"
	}
	u.RawQuery += query
	return u
}
