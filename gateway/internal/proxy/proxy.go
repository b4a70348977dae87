// Package proxy passes a request on to the dependency that its route names,
// through that dependency's breaker.
package proxy

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httputil"
	"net/url"
	"strings"

	"github.com/recloser-go/recloser"
	"github.com/recloser-go/recloser/gateway/internal/config"
	"github.com/recloser-go/recloser/gateway/internal/dependency"
	"github.com/recloser-go/recloser/gateway/internal/forwarded"
	"github.com/recloser-go/recloser/gateway/internal/problem"
	"github.com/recloser-go/recloser/httpbreaker"
)

// Proxy makes the handlers of proxy routes. It is safe for concurrent use.
type Proxy struct {
	deps     *dependency.List
	log      *slog.Logger
	template httputil.ReverseProxy // what all requests have in common
}

// New returns a Proxy to these dependencies.
func New(deps *dependency.List, log *slog.Logger) *Proxy {
	return &Proxy{deps: deps, log: log, template: httputil.ReverseProxy{
		BufferPool:    newBuffers(),
		FlushInterval: -1, // what a dependency has said, its caller hears at once
		ErrorLog:      slog.NewLogLogger(log.Handler(), slog.LevelDebug),
	}}
}

// Handler passes requests on as route says. It takes the dependency's ID from
// the route or from the path value "dependency", and from the path value "rest",
// as it was escaped, the path below the dependency's own URL.
func (p *Proxy) Handler(route config.Route) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		id := cmp.Or(route.Dependency, r.PathValue("dependency"))
		dep, ok := p.deps.Get(id)
		if !ok {
			problem.Write(w, problem.Problem{Status: http.StatusNotFound, Detail: "there is no such dependency"})
			return
		}
		to, err := target(dep.URL, r.PathValue("rest"), r.URL.RawQuery)
		if err != nil {
			problem.Write(w, problem.Problem{Status: http.StatusBadRequest, Detail: "the path is not escaped as it must be"})
			return
		}
		if r.ContentLength != 0 {
			// Else net/http closes the request's body as soon as the response begins,
			// which the transport, if it was about to look for the body's end, takes for
			// an error and breaks off. HTTP/2 is duplex anyway.
			_ = http.NewResponseController(w).EnableFullDuplex()
		}
		p.to(dep, to, route.ReleaseOnTrip, watchUpload(r)).ServeHTTP(w, r)
	})
}

// to returns the handler for one request.
func (p *Proxy) to(dep *dependency.Dependency, to *url.URL, release bool, body *upload) http.Handler {
	rp := p.template
	rp.Transport = &httpbreaker.Transport{
		Base:       dep.Transport,
		Breaker:    func(*http.Request) *recloser.Breaker { return dep.Breaker },
		Timeout:    min(dep.AttemptTimeout, dep.Timeout), // there is one attempt
		KeepOnTrip: !release,
	}
	rp.Rewrite = func(pr *httputil.ProxyRequest) {
		pr.Out.URL = to
		pr.Out.Host = ""
		pr.Out.Trailer = pr.In.Trailer // the same map: the server fills it in when the body has ended
		dropHTTP2Upgrade(pr.Out.Header)
		forwarded.From(pr)
	}
	rp.ErrorHandler = func(w http.ResponseWriter, r *http.Request, err error) {
		if r.ProtoMajor == 1 && !body.ended() {
			// The server cannot use the connection again. Unsaid, the client would send
			// its next request there.
			w.Header().Set("Connection", "close")
		}
		p.fail(r.Context(), w, dep, err)
	}
	return &rp
}

// target joins the dependency's URL and the rest of a request's path, which is
// escaped. It keeps both as they are written: a dependency may tell "a//b" from
// "a/b", and "a%2Fb" too.
func target(base *url.URL, rest, query string) (*url.URL, error) {
	u := *base
	u.RawPath = forwarded.Path(base)
	if rest != "" {
		u.RawPath = strings.TrimSuffix(u.RawPath, "/") + "/" + rest
	}
	var err error
	if u.Path, err = url.PathUnescape(u.RawPath); err != nil {
		return nil, err
	}
	if u.RawQuery != "" && query != "" {
		u.RawQuery += "&"
	}
	u.RawQuery += query
	return &u, nil
}

// dropHTTP2Upgrade drops an offer to go on in HTTP/2. A connection that carries
// many calls would be one call to the breaker. Other offers beside it are dropped
// too: a server may always go on as it was.
func dropHTTP2Upgrade(h http.Header) {
	h.Del("Http2-Settings")
	for offered := range strings.SplitSeq(h.Get("Upgrade"), ",") {
		if strings.EqualFold(strings.TrimSpace(offered), "h2c") {
			h.Del("Connection")
			h.Del("Upgrade")
			return
		}
	}
}

// clientGone is nginx's status for a request whose client did not wait for the
// answer. Only a log ever sees it.
const clientGone = 499

// fail answers a request that has got no response.
func (p *Proxy) fail(ctx context.Context, w http.ResponseWriter, dep *dependency.Dependency, err error) {
	var (
		open    *recloser.OpenError
		body    *httpbreaker.RequestBodyError
		tooLong *http.MaxBytesError
		short   *httpbreaker.ShortageError
		answer  problem.Problem
	)
	switch {
	case errors.As(err, &open):
		answer = problem.Refusal(open)
	case ctx.Err() != nil:
		w.WriteHeader(clientGone)
		return
	case errors.As(err, &tooLong):
		answer = problem.Problem{Status: http.StatusRequestEntityTooLarge, Detail: "the request's body is too long"}
	case errors.As(err, &body):
		answer = problem.Problem{Status: http.StatusBadRequest, Detail: "the request's body could not be read to its end"}
	case errors.As(err, &short):
		answer = problem.Shortage(dep.ID)
		p.log.WarnContext(ctx, "call could not be made: raise the limit of open files, or send fewer calls", "dependency", dep.ID, "error", err)
	default:
		answer = problem.Failure(dep.ID, err)
		p.log.DebugContext(ctx, "call failed", "dependency", dep.ID, "status", answer.Status, "error", err)
	}
	problem.Write(w, answer)
}
