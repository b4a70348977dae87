package httpbreaker

import (
	"net/http"
	"sync"

	"github.com/recloser-go/recloser"
	"github.com/recloser-go/recloser/guard"
)

// Middleware puts breakers in front of a server's own handlers. Its zero value
// is ready to use; fields must not be changed after the first request. It is
// safe for concurrent use.
//
// A handler has answered with WriteHeader, the first Write or Flush, or when it
// takes over the connection (Hijack): there the slow clock stops. While it reads
// the request's body the clock stands still, and it starts anew with each part
// that has come. The call ends when the handler returns:
//
//   - 5xx is a failure, except 501 and 505. 429 is ignored, and so is a refusal
//     that the handler itself got and answered with Refuse. Any other status is
//     good. A Retry-After is between the handler and its client.
//   - A panic is a failure, also http.ErrAbortHandler, by which a handler breaks
//     off its answer. The panic goes on.
//   - A client that leaves before the answer has given up, which the breaker's
//     rules judge, unless the handler gives it a good answer all the same: that
//     is good. One that leaves later is none of the handler's business, even if
//     it panics.
//
// With recloser.Config.CancelOnTrip a trip cancels the contexts of handlers that
// have not answered yet, the cause being the *recloser.OpenError. Whoever then
// returns without an answer, or answers 5xx, is refused in its place.
//
// The ResponseWriter that handlers get can do what the server's own can, by
// itself or through http.ResponseController, except for http.Pusher and
// http.CloseNotifier, which are out of use. Limit bodies outside, with
// http.MaxBytesHandler: further inside it cannot have the connection closed.
type Middleware struct {
	// Breaker returns the breaker that judges a request; nil lets it pass
	// unjudged. Default: one for each pattern, with the default settings. See
	// PerPattern and Fixed.
	Breaker func(*http.Request) *recloser.Breaker

	// Classify says what an answer means: see Transport.Classify. The response has
	// nothing but the Request, StatusCode and Header.
	Classify func(*http.Response) recloser.Outcome

	// Refuse answers a request that was not let through, or released on a trip.
	// The error is an *recloser.OpenError, or the request context's own if that
	// was done before. Default: the function Refuse.
	Refuse func(http.ResponseWriter, *http.Request, error)

	once       sync.Once
	perPattern func(*http.Request) *recloser.Breaker
}

// PerPattern is for Middleware.Breaker: each pattern of an http.ServeMux, such
// as "GET /rooms/{id}", has the breaker that set holds under its name. That asks
// for a middleware inside of the mux: around it no pattern is known yet, and all
// requests share the breaker named "/".
func PerPattern(set *recloser.Set) func(*http.Request) *recloser.Breaker {
	return func(r *http.Request) *recloser.Breaker {
		if r.Pattern == "" {
			return set.Get("/")
		}
		return set.Get(r.Pattern)
	}
}

// Fixed is for Transport.Breaker, GuardedTransport.Guard and Middleware.Breaker:
// all requests have the same one.
func Fixed[T recloser.Breaker | guard.Guard](one *T) func(*http.Request) *T {
	return func(*http.Request) *T { return one }
}

// Handler returns next with a breaker in front of it. A nil next finds nothing: 404.
func (m *Middleware) Handler(next http.Handler) http.Handler {
	if next == nil {
		next = http.NotFoundHandler()
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { m.serve(next, w, r) })
}

func (m *Middleware) serve(next http.Handler, w http.ResponseWriter, r *http.Request) {
	b := m.breaker(r)
	if b == nil {
		next.ServeHTTP(w, r)
		return
	}
	permit, err := b.Allow(r.Context())
	if err != nil {
		m.refuse(w, r, err)
		return
	}
	a := newAnswer(m, w, r, &permit)
	handlers := a.begin()
	defer a.end(handlers)
	next.ServeHTTP(a.writer(), handlers)
	a.returned = true
}

func (m *Middleware) breaker(r *http.Request) *recloser.Breaker {
	if m.Breaker != nil {
		return m.Breaker(r)
	}
	m.once.Do(func() { m.perPattern = PerPattern(defaultSet()) })
	return m.perPattern(r)
}

func (m *Middleware) refuse(w http.ResponseWriter, r *http.Request, err error) {
	markRefused(w)
	if m.Refuse != nil {
		m.Refuse(w, r, err)
		return
	}
	Refuse(w, r, err)
}
