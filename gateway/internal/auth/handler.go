package auth

import (
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/recloser-go/recloser/gateway/internal/problem"
)

// Challenge is the WWW-Authenticate of whoever is refused for want of a token.
const Challenge = `Bearer realm="recloser"`

// Options say how callers are told apart.
type Options struct {
	SignIn         bool             // false: a request of this machine without credentials is an admin's
	Authenticators []Authenticator  // asked in order
	Sessions       *Sessions        // of browsers, asked last; nil: there are none
	Stranger       http.Handler     // answers a page's request by a caller who is not known; nil: as all others
	Now            func() time.Time // nil: time.Now
	Log            *slog.Logger     // gets a line for wrong credentials; nil: nothing is logged
}

// Auth finds out who makes a request. It is safe for concurrent use.
type Auth struct {
	Options
	lockout *lockout
}

// New returns an Auth.
func New(o Options) *Auth {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Sessions != nil {
		o.Authenticators = append(slices.Clip(o.Authenticators), o.Sessions)
	}
	return &Auth{Options: o, lockout: newLockout()}
}

// Handler has next answer requests of known callers, with From telling it who
// they are. Others get 401, and who guesses 429.
func (a *Auth) Handler(next http.Handler) http.Handler { return a.handler(next, a.withoutCredentials) }

// Local is Handler for what this machine may look at without signing in, such as
// its metrics. A request that a proxy has passed on is not of this machine.
func (a *Auth) Local(next http.Handler) http.Handler {
	return a.handler(next, func(r *http.Request) (Caller, error) {
		addr := remote(r)
		for _, h := range []string{"Forwarded", "X-Forwarded-For", "X-Real-Ip", "Via"} {
			if r.Header.Get(h) != "" {
				return a.withoutCredentials(r)
			}
		}
		if !addr.IsLoopback() {
			return a.withoutCredentials(r)
		}
		return Caller{Name: fmt.Sprintf("viewer (%s)", addr), Role: Viewer, From: addr.String()}, nil
	})
}

func (a *Auth) handler(next http.Handler, without func(*http.Request) (Caller, error)) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		caller, err := a.caller(r, without)
		var locked *lockedError
		switch {
		case errors.As(err, &locked):
			problem.Write(w, problem.Problem{
				Status: http.StatusTooManyRequests, RetryAfter: problem.Seconds(locked.left),
				Detail: "too many wrong tokens came from this address; wait, then use a token that is right",
			})
		case errors.Is(err, ErrUnavailable):
			a.Log.ErrorContext(r.Context(), "a caller could not be checked", "error", err)
			problem.Write(w, problem.Problem{Status: http.StatusServiceUnavailable, Detail: "the token cannot be checked just now; the log says why"})
		case errors.Is(err, ErrNoCredentials) && a.Stranger != nil && isPage(r):
			a.Stranger.ServeHTTP(w, r)
		case err != nil:
			w.Header().Set("WWW-Authenticate", Challenge)
			problem.Write(w, problem.Problem{Status: http.StatusUnauthorized, Detail: unauthorized(err)})
		default:
			next.ServeHTTP(w, r.WithContext(With(r.Context(), caller)))
		}
	})
}

// isPage reports whether a browser asks for a page to show, and not a program for
// data.
func isPage(r *http.Request) bool {
	return r.Method == http.MethodGet && !strings.HasPrefix(r.URL.Path, "/api/") && strings.Contains(r.Header.Get("Accept"), "text/html")
}

// unauthorized tells a client no more than whether it showed anything.
func unauthorized(err error) string {
	if errors.Is(err, ErrNoCredentials) {
		return "sign in: send a token, with the header Authorization: Bearer rcl_..."
	}
	return "the token is not known, or has expired"
}

// Still returns nil if the request would be let in again as the same caller: its
// token may have been revoked or have expired since it came.
func (a *Auth) Still(r *http.Request) error {
	was := From(r.Context())
	if was.Token == "" {
		return nil
	}
	for _, with := range a.Authenticators {
		now, err := with.Authenticate(r)
		if errors.Is(err, ErrNoCredentials) {
			continue
		}
		if err == nil && (now.Token != was.Token || now.Role != was.Role || now.Group != was.Group) {
			err = errors.New("the token is another one now")
		}
		return err
	}
	return ErrNoCredentials
}

func (a *Auth) caller(r *http.Request, without func(*http.Request) (Caller, error)) (Caller, error) {
	shows := r.Header.Get("Authorization") != ""
	addr, now := remote(r), a.Now()
	if left := a.lockout.wait(network(addr), now); shows && left > 0 {
		return Caller{}, &lockedError{left}
	}
	for _, with := range a.Authenticators {
		caller, err := with.Authenticate(r)
		switch {
		case errors.Is(err, ErrNoCredentials):
			continue
		case errors.Is(err, ErrUnavailable):
			return Caller{}, err
		case err != nil:
			a.wrong(r, addr, now, err)
			return Caller{}, err
		}
		caller.From = addr.String()
		return caller, nil
	}
	if shows { // whoever shows something must not become an admin because nobody knows it
		return Caller{}, errUnknownKind
	}
	return without(r)
}

var errUnknownKind = errors.New("credentials of no known kind")

func (a *Auth) wrong(r *http.Request, addr netip.Addr, now time.Time, err error) {
	attrs := []slog.Attr{slog.String("from", addr.String()), slog.Any("error", err)}
	if lock := a.lockout.wrong(network(addr), now); lock > 0 {
		attrs = append(attrs, slog.Duration("locked_out_for", lock))
	}
	a.Log.LogAttrs(r.Context(), slog.LevelWarn, "wrong credentials", attrs...)
}

func (a *Auth) withoutCredentials(r *http.Request) (Caller, error) {
	addr := remote(r)
	if a.SignIn || !addr.IsLoopback() {
		return Caller{}, ErrNoCredentials
	}
	return ByAddress(addr.String()), nil
}

// remote returns the address that a request comes from, the zero one if it is
// not known.
func remote(r *http.Request) netip.Addr {
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		host = r.RemoteAddr
	}
	addr, _ := netip.ParseAddr(host)
	return addr.Unmap()
}

// lockedError is a request from an address that is locked out.
type lockedError struct{ left time.Duration }

// Error says for how long.
func (e *lockedError) Error() string { return "locked out for " + e.left.String() }
