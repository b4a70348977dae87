package auth

import (
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"net/http"
	"sync"
	"time"

	"github.com/recloser-go/recloser/gateway/internal/history"
)

// Sessions know callers by a cookie, for browsers. The cookie holds no token, only
// the name of a session; which token stands behind it is known here, and whether
// that still holds is asked each time. They are gone with a restart.
//
// What another site could make a browser do with the cookie is kept off twice: it
// is SameSite=Strict, and acts are refused by their Origin.
type Sessions struct {
	tokens *Tokens
	secure bool

	mu  sync.Mutex
	all map[[sha256.Size]byte]session // by the hash of the name
}

type session struct {
	token   string // ID
	expires time.Time
}

const (
	sessionCookie  = "recloser_session"
	sessionLasts   = 12 * time.Hour // a shift
	mostSessions   = 10_000
	securedCookies = "__Host-" // a browser takes such a cookie only over TLS, and from no other host
)

// NewSessions returns sessions of callers with those tokens. secure says that
// browsers reach the gateway by TLS even if it does not end here.
func NewSessions(tokens *Tokens, secure bool) *Sessions {
	return &Sessions{tokens: tokens, secure: secure, all: make(map[[sha256.Size]byte]session)}
}

// Authenticate knows the caller by the cookie. One that is not known any more counts
// as none: it is no guess.
func (s *Sessions) Authenticate(r *http.Request) (Caller, error) {
	cookie, err := r.Cookie(s.cookieName(r))
	if err != nil {
		return Caller{}, ErrNoCredentials
	}
	now := s.tokens.now()
	s.mu.Lock()
	found, ok := s.all[sha256.Sum256([]byte(cookie.Value))]
	s.mu.Unlock()
	if !ok || !now.Before(found.expires) {
		return Caller{}, ErrNoCredentials
	}
	token, known, err := s.tokens.find(r.Context(), found.token)
	if err != nil {
		return Caller{}, err
	}
	if !known || lapsed(token, now) != nil {
		return Caller{}, ErrNoCredentials
	}
	s.tokens.use(token.ID, now)
	return callerOf(token), nil
}

func callerOf(t history.Token) Caller {
	return Caller{Name: t.Name, Role: Role(t.Role), Group: t.Group, Token: t.ID}
}

// ErrLockedOut is a sign-in from an address that has shown too many wrong tokens.
var ErrLockedOut = errors.New("locked out")

// Begin begins a session for whoever shows that token, and sets its cookie. It
// fails with ErrLockedOut, with ErrUnavailable, or because the token does not hold.
func (a *Auth) Begin(w http.ResponseWriter, r *http.Request, token string) error {
	if a.Sessions == nil {
		return ErrUnavailable
	}
	shown := r.Clone(r.Context())
	shown.Header = http.Header{"Authorization": {"Bearer " + token}}
	caller, err := a.caller(shown, func(*http.Request) (Caller, error) { return Caller{}, ErrNoCredentials })
	var locked *lockedError
	switch {
	case errors.As(err, &locked):
		return ErrLockedOut
	case err != nil:
		return err
	}
	a.Sessions.begin(w, r, caller.Token)
	return nil
}

// End ends the session of a request, if there is one, and takes its cookie back.
func (a *Auth) End(w http.ResponseWriter, r *http.Request) {
	if a.Sessions != nil {
		a.Sessions.end(w, r)
	}
}

func (s *Sessions) begin(w http.ResponseWriter, r *http.Request, token string) {
	name := rand.Text()
	expires := s.tokens.now().Add(sessionLasts)
	s.mu.Lock()
	s.makeRoom()
	s.all[sha256.Sum256([]byte(name))] = session{token: token, expires: expires}
	s.mu.Unlock()
	s.set(w, r, name, int(sessionLasts/time.Second))
}

// makeRoom forgets those that have expired and, if there are still too many, the one
// that expires first.
func (s *Sessions) makeRoom() {
	if len(s.all) < mostSessions {
		return
	}
	now := s.tokens.now()
	var first [sha256.Size]byte
	for key, one := range s.all {
		if !now.Before(one.expires) {
			delete(s.all, key)
		} else if f, ok := s.all[first]; !ok || one.expires.Before(f.expires) {
			first = key
		}
	}
	if len(s.all) >= mostSessions {
		delete(s.all, first)
	}
}

func (s *Sessions) end(w http.ResponseWriter, r *http.Request) {
	if cookie, err := r.Cookie(s.cookieName(r)); err == nil {
		s.mu.Lock()
		delete(s.all, sha256.Sum256([]byte(cookie.Value)))
		s.mu.Unlock()
	}
	s.set(w, r, "", -1)
}

func (s *Sessions) set(w http.ResponseWriter, r *http.Request, value string, maxAge int) {
	http.SetCookie(w, &http.Cookie{ //nolint:gosec // without TLS a browser would not send it back otherwise
		Name: s.cookieName(r), Value: value, Path: "/", MaxAge: maxAge,
		HttpOnly: true, Secure: s.overTLS(r), SameSite: http.SameSiteStrictMode,
	})
}

func (s *Sessions) overTLS(r *http.Request) bool { return s.secure || r.TLS != nil }

func (s *Sessions) cookieName(r *http.Request) string {
	if s.overTLS(r) {
		return securedCookies + sessionCookie
	}
	return sessionCookie
}
