package panel

import (
	"errors"
	"fmt"
	"html"
	"net/http"
	"net/url"
	"strings"

	"github.com/recloser-go/recloser/gateway/internal/auth"
)

// signIn is what the sign-in page shows.
type signIn struct {
	Fault string
	Next  string // where to go then
}

const signInPath = "/sign-in"

func (p *Panel) registerSignIn(mux *http.ServeMux) {
	mux.HandleFunc("GET "+signInPath, func(w http.ResponseWriter, r *http.Request) {
		p.askToSignIn(w, r, http.StatusOK, "", r.URL.Query().Get("next"))
	})
	mux.HandleFunc("POST "+signInPath, p.signIn)
	mux.HandleFunc("POST /sign-out", func(w http.ResponseWriter, r *http.Request) {
		if p.Auth != nil {
			p.Auth.End(w, r)
		}
		http.Redirect(w, r, signInPath, http.StatusSeeOther)
	})
}

func (p *Panel) askToSignIn(w http.ResponseWriter, r *http.Request, status int, fault, next string) {
	p.renderAs(w, r, status, "bare", &view{Page: "sign-in", Title: "Sign in", Now: p.Now(), Of: signIn{fault, inside(next)}})
}

func (p *Panel) signIn(w http.ResponseWriter, r *http.Request) {
	r.Body = http.MaxBytesReader(w, r.Body, 4096)
	next := r.PostFormValue("next")
	if p.Auth == nil {
		p.askToSignIn(w, r, http.StatusNotImplemented, "Nobody can sign in to this gateway.", next)
		return
	}
	err := p.Auth.Begin(w, r, strings.TrimSpace(r.PostFormValue("token")))
	switch {
	case err == nil:
		http.Redirect(w, r, inside(next), http.StatusSeeOther) //nolint:gosec // inside keeps it here
	case errors.Is(err, auth.ErrLockedOut):
		p.askToSignIn(w, r, http.StatusTooManyRequests, "Too many wrong tokens came from this address. Wait a minute, then use one that is right.", next)
	case errors.Is(err, auth.ErrUnavailable):
		p.askToSignIn(w, r, http.StatusServiceUnavailable, "The token cannot be checked just now; the gateway’s log says why.", next)
	default:
		p.askToSignIn(w, r, http.StatusUnauthorized, "This token is not known, or has expired.", next)
	}
}

// inside returns an address of this gateway: whoever signs in must not be sent
// elsewhere by a link.
func inside(next string) string {
	u, err := url.Parse(next)
	if err != nil || u.Host != "" || u.Scheme != "" || !strings.HasPrefix(next, "/") || strings.HasPrefix(next, "//") ||
		strings.ContainsAny(next, "\\\r\n\t") || u.Path == signInPath {
		return "/"
	}
	return next
}

// Stranger has a browser sign in that asks for a page. One that comes by a link of
// another site, such as that in a message, has not sent its cookie even if it has one:
// it asks again by itself first, and then does.
func Stranger(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("Cache-Control", "no-store")
	if r.Header.Get("Sec-Fetch-Site") == "cross-site" {
		h.Set("Content-Type", "text/html; charset=utf-8")
		_, _ = fmt.Fprintf(w, `<!doctype html><html lang="en"><meta charset="utf-8"><title>Recloser</title><meta http-equiv="refresh" content="0; url=%s"><a href="%[1]s">Go on</a></html>`,
			html.EscapeString(inside(r.URL.RequestURI())))
		return
	}
	http.Redirect(w, r, signInPath+"?next="+url.QueryEscape(inside(r.URL.RequestURI())), http.StatusSeeOther)
}
