package proxy

import (
	"errors"
	"log/slog"
	"net/http"
	"net/http/httputil"
	"net/url"
	"strings"

	"github.com/recloser-go/recloser"
	"github.com/recloser-go/recloser/gateway/internal/bulkhead"
	"github.com/recloser-go/recloser/gateway/internal/dependency"
	"github.com/recloser-go/recloser/gateway/internal/forwarded"
	"github.com/recloser-go/recloser/gateway/internal/problem"
	"github.com/recloser-go/recloser/guard"
	"github.com/recloser-go/recloser/httpbreaker"
)

// whole is up to which length a body goes on in one piece, if it is known before:
// net/http sends it with the headers, and nobody else is asked about it. Of all
// longer ones, and of those whose length nobody knows, each part goes on at once.
const whole = 4 << 10

// way is how requests of one route get to one dependency. All requests share it.
type way struct {
	*Handler
	dep   *dependency.Dependency
	path  string // of the dependency's URL, as it was written
	proxy httputil.ReverseProxy
	plain *httpbreaker.Transport // that of proxy, if a caller may go before his request ends; else nil
}

func (h *Handler) newWay(dep *dependency.Dependency) *way {
	w := &way{Handler: h, dep: dep, path: forwarded.Path(dep.URL)}
	w.proxy = httputil.ReverseProxy{
		Rewrite:        w.rewrite,
		Transport:      w.transport(),
		ModifyResponse: w.received,
		ErrorHandler:   w.failed,
		BufferPool:     h.buffers,
		ErrorLog:       slog.NewLogLogger(h.Log.Handler(), slog.LevelDebug),
	}
	return w
}

// transport is where the breaker is, and whatever else of the dependency's is
// between it and a request.
func (w *way) transport() http.RoundTripper {
	dep := w.dep
	base := w.Trace.Transport(dep, &sender{dep: dep})
	if dep.Retry.Attempts > 1 || dep.RateLimit.Rate > 0 {
		return &httpbreaker.GuardedTransport{Base: base, Guard: dep.GuardOf, Detach: true, KeepOnTrip: !w.route.ReleaseOnTrip}
	}
	t := &httpbreaker.Transport{
		Base:       base,
		Breaker:    dep.BreakerOf,
		Timeout:    min(dep.AttemptTimeout, dep.Timeout), // there is one attempt
		KeepOnTrip: !w.route.ReleaseOnTrip,
		Detach:     true, // a released caller may leave a witness running
	}
	if w.Trace == nil { // else the span of a call has to end when its caller goes
		w.plain = t
	}
	return t
}

func (w *way) serve(rw http.ResponseWriter, r *http.Request, rest string) {
	if err := bulkhead.Admit(r.Context(), w.dep.BreakerOf(r), w.dep.Bulkhead, w.Bulkhead); err != nil {
		w.fail(rw, r, err)
		return
	}
	defer w.leave()
	r.URL = w.target(rest, forwarded.Query(r.URL))
	if r.ProtoMajor > 1 || r.Header["Expect"] != nil {
		rw = uninformed{rw}
	}
	if r.ProtoMajor == 1 && w.plain != nil {
		(&caller{ResponseWriter: rw, way: w, request: r}).serve()
		return
	}
	w.proxy.ServeHTTP(rw, r)
}

// uninformed passes on no 1xx. The server of HTTP/2 may still be reading its headers
// when the client has gone and we write those of the answer: it would crash. That of
// HTTP/1 says 100 by itself once a body is asked for, which is while we write.
type uninformed struct{ http.ResponseWriter }

func (u uninformed) WriteHeader(status int) {
	if status >= 200 {
		u.ResponseWriter.WriteHeader(status)
	}
}

// Unwrap is for http.ResponseController.
func (u uninformed) Unwrap() http.ResponseWriter { return u.ResponseWriter }

func (w *way) leave() {
	w.Bulkhead.Leave()
	w.dep.Bulkhead.Leave()
}

func (w *way) rewrite(pr *httputil.ProxyRequest) {
	pr.Out.URL.RawQuery = pr.In.URL.RawQuery // as it was written
	pr.Out.Host = ""
	pr.Out.Trailer = forwarded.Trailer(pr.In)
	dropHTTP2Upgrade(pr.Out.Header)
	forwarded.From(pr)
	if u, ok := pr.In.Body.(*forwarded.Upload); ok {
		pr.Out.Body = &sending{ReadCloser: pr.Out.Body, of: u, in: pr.In.Trailer, out: pr.Out.Trailer}
	}
}

// target joins the dependency's URL and the rest of a request's path, which is
// escaped. It keeps both as they are written: a dependency may tell "a//b" from
// "a/b", and "a%2Fb" too.
func (w *way) target(rest, query string) *url.URL {
	u, path := *w.dep.URL, w.path
	if rest != "" {
		path = strings.TrimSuffix(path, "/") + "/" + rest
	}
	u.Path, u.RawPath = path, ""
	if strings.IndexByte(path, '%') >= 0 {
		if plain, err := url.PathUnescape(path); err == nil { // it is: the server has read it so
			u.Path, u.RawPath = plain, path
		}
	}
	if u.RawQuery != "" && query != "" {
		u.RawQuery += "&"
	}
	u.RawQuery += query
	return &u
}

// dropHTTP2Upgrade drops an offer to go on in HTTP/2. A connection that carries
// many calls would be one call to the breaker. Other offers beside it are dropped
// too: a server may always go on as it was.
func dropHTTP2Upgrade(h http.Header) {
	delete(h, "Http2-Settings")
	if len(h["Upgrade"]) == 0 {
		return
	}
	for offered := range strings.SplitSeq(h.Get("Upgrade"), ",") {
		if strings.EqualFold(strings.TrimSpace(offered), "h2c") {
			h.Del("Connection")
			h.Del("Upgrade")
			return
		}
	}
}

// received looks at a response before it is passed on.
func (w *way) received(resp *http.Response) error {
	forwarded.DropOurs(resp.Header)
	if w.store != nil {
		if err := follow(resp); err != nil {
			return err
		}
	}
	if resp.ContentLength > whole {
		resp.ContentLength = -1 // what ReverseProxy goes by; the client is told by the header
	}
	return nil
}

// clientGone is nginx's status for a request whose client did not wait for the
// answer. Only a log ever sees it.
const clientGone = 499

// failed answers a request that has got no response, unless its caller has gone with
// his answer.
func (w *way) failed(rw http.ResponseWriter, r *http.Request, err error) {
	if c, ok := rw.(*caller); !ok || !c.gone() {
		w.fail(rw, r, err)
	}
}

// fail answers a request that has got no response. r may be the one that came or
// the one that went on.
func (w *way) fail(rw http.ResponseWriter, r *http.Request, err error) {
	if u := uploadOf(r); r.ProtoMajor == 1 && u != nil && !u.Ended() {
		// The server cannot use the connection again. Unsaid, the client would send
		// its next request there.
		rw.Header().Set("Connection", "close")
	}
	p, gone := w.problem(r, err)
	w.Trace.Fail(r.Context(), err, gone)
	switch {
	case gone:
		rw.WriteHeader(clientGone)
	case !recall(rw, r, p):
		problem.Write(rw, p)
	}
}

// isolatedBy returns who did, if an isolation refused a call and still holds.
func (w *way) isolatedBy(e *recloser.OpenError) string {
	if e.Reason == recloser.ReasonIsolated {
		if o := w.dep.Breaker.Brief().Override; o != nil {
			return o.By
		}
	}
	return ""
}

// problem says what err means, and counts what the dependency's rate limit refused; gone
// if the client does not want to know.
func (w *way) problem(r *http.Request, err error) (p problem.Problem, gone bool) {
	var (
		open    *recloser.OpenError
		full    *bulkhead.FullError
		limited *guard.LimitError
		body    *httpbreaker.RequestBodyError
		tooLong *http.MaxBytesError
		short   *httpbreaker.ShortageError
	)
	ctx, id, upload := r.Context(), w.dep.ID, uploadOf(r)
	switch {
	case errors.As(err, &open):
		p = problem.Refusal(id, w.dep.KeyHeader(r), w.isolatedBy(open), open)
	case upload != nil && upload.Stalled():
		p = problem.Stalled(w.limits.BodyIdle)
	case ctx.Err() != nil:
		return p, true
	case errors.As(err, &full):
		p = problem.Full(id, full.RetryAfter())
	case errors.As(err, &limited):
		w.dep.Limited.Add(1)
		p = problem.OverLimit(id, limited.RetryAfter())
	case errors.As(err, &tooLong):
		p = problem.TooLong(tooLong.Limit)
	case errors.As(err, &body):
		p = problem.Problem{Status: http.StatusBadRequest, Detail: "the request's body could not be read to its end"}
	case errors.As(err, &short):
		p = problem.Shortage(id)
		w.Log.WarnContext(ctx, "call could not be made: raise the limit of open files, or send fewer calls", "dependency", id, "error", err)
	default:
		p = problem.Failure(id, err)
		w.Log.DebugContext(ctx, "call failed", "dependency", id, "status", p.Status, "error", err)
	}
	return p, false
}
