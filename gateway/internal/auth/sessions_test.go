package auth

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

// newLobby is a door that browsers can sign in at.
func newLobby(t *testing.T, secure bool) (*door, *Sessions) {
	t.Helper()
	d := newDoor(t, true)
	tokens, ok := d.Authenticators[0].(*Tokens)
	if !ok {
		t.Fatal("the first authenticator is no Tokens")
	}
	s := NewSessions(tokens, secure)
	d.Auth = New(Options{SignIn: true, Authenticators: d.Authenticators, Sessions: s, Now: d.Now, Log: d.Log})
	return d, s
}

// signIn returns the cookie that a sign-in sets.
func (d *door) signIn(token string) (*http.Cookie, error) {
	d.t.Helper()
	w := httptest.NewRecorder()
	err := d.Begin(w, visitor(), token)
	cookies := w.Result().Cookies()
	if (err == nil) != (len(cookies) == 1) {
		d.t.Fatalf("%d cookies, error %v", len(cookies), err)
	}
	if err != nil {
		return nil, err
	}
	return cookies[0], nil
}

func visitor(cookies ...*http.Cookie) *http.Request {
	r := httptest.NewRequest(http.MethodGet, "/", nil)
	r.RemoteAddr = "10.0.0.7:50000"
	for _, c := range cookies {
		r.AddCookie(c)
	}
	return r
}

func TestSession(t *testing.T) {
	d, _ := newLobby(t, false)
	token := d.token("ines", Operator, "coast")
	cookie, err := d.signIn(token)
	if err != nil {
		t.Fatal(err)
	}
	if !cookie.HttpOnly || cookie.SameSite != http.SameSiteStrictMode || cookie.Path != "/" || cookie.Secure || cookie.MaxAge != int(sessionLasts/time.Second) {
		t.Errorf("cookie %+v", cookie)
	}
	_, secret, _ := strings.Cut(strings.TrimPrefix(token, prefix), "_")
	if strings.Contains(cookie.Value, secret) || len(cookie.Value) < 26 {
		t.Errorf("the cookie holds %q", cookie.Value)
	}
	c, status, body := d.knock(visitor(cookie), d.Handler)
	if c.Name != "ines" || c.Role != Operator || c.Group != "coast" || c.From != "10.0.0.7" {
		t.Errorf("%+v, %d %s", c, status, body)
	}
	if _, status, _ := d.knock(visitor(&http.Cookie{Name: cookie.Name, Value: "guessed"}), d.Handler); status != http.StatusUnauthorized {
		t.Errorf("a guessed session gets %d", status)
	}
}

func TestSessionEnds(t *testing.T) {
	for name, end := range map[string]func(d *door, cookie *http.Cookie){
		"with time":        func(d *door, _ *http.Cookie) { d.now = d.now.Add(sessionLasts) },
		"with its token":   func(d *door, _ *http.Cookie) { d.store.tokens = nil },
		"with the token's": func(d *door, _ *http.Cookie) { d.store.tokens[0].Expires = d.now },
		"by signing out": func(d *door, cookie *http.Cookie) {
			w := httptest.NewRecorder()
			d.End(w, visitor(cookie))
			if taken := w.Result().Cookies(); len(taken) != 1 || taken[0].MaxAge >= 0 {
				d.t.Errorf("cookies %v", taken)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			d, _ := newLobby(t, false)
			cookie, err := d.signIn(d.token("ines", Operator, ""))
			if err != nil {
				t.Fatal(err)
			}
			if _, status, _ := d.knock(visitor(cookie), d.Handler); status != http.StatusOK {
				t.Fatalf("before: %d", status)
			}
			end(d, cookie)
			if _, status, _ := d.knock(visitor(cookie), d.Handler); status != http.StatusUnauthorized {
				t.Errorf("after: %d", status)
			}
		})
	}
}

// Whoever tries tokens at the page is locked out as at the API.
func TestSignInLocksOut(t *testing.T) {
	d, _ := newLobby(t, false)
	right := d.token("ines", Operator, "")
	for range freeTries + 1 {
		if _, err := d.signIn("rcl_wrong"); err == nil || errors.Is(err, ErrLockedOut) {
			t.Fatal(err)
		}
	}
	if _, err := d.signIn(right); !errors.Is(err, ErrLockedOut) {
		t.Errorf("after %d wrong tokens the right one gets %v", freeTries+1, err)
	}
	d.now = d.now.Add(time.Hour)
	if _, err := d.signIn(right); err != nil {
		t.Errorf("an hour later: %v", err)
	}
}

// Over TLS the cookie never goes without, and no other host can set it.
func TestSessionOverTLS(t *testing.T) {
	d, _ := newLobby(t, true)
	cookie, err := d.signIn(d.token("ines", Operator, ""))
	if err != nil {
		t.Fatal(err)
	}
	if !cookie.Secure || !strings.HasPrefix(cookie.Name, "__Host-") {
		t.Errorf("cookie %+v", cookie)
	}
}

func TestSessionsHaveALimit(t *testing.T) {
	d, s := newLobby(t, false)
	token := d.token("ines", Operator, "")
	for range mostSessions + 5 {
		if _, err := d.signIn(token); err != nil {
			t.Fatal(err)
		}
	}
	if n := len(s.all); n > mostSessions {
		t.Errorf("%d sessions are kept", n)
	}
}

// A page is not refused to a stranger's browser but answered otherwise; data is.
func TestStranger(t *testing.T) {
	d, _ := newLobby(t, false)
	d.Stranger = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusTeapot) })
	for _, tt := range []struct {
		path, accept string
		want         int
	}{
		{"/", "text/html", http.StatusTeapot},
		{"/d/x", "text/html,*/*", http.StatusTeapot},
		{"/", "application/json", http.StatusUnauthorized},
		{"/api/v1/me", "text/html", http.StatusUnauthorized},
	} {
		r := visitor()
		r.URL.Path = tt.path
		r.Header.Set("Accept", tt.accept)
		w := httptest.NewRecorder()
		d.Handler(http.NotFoundHandler()).ServeHTTP(w, r)
		if w.Code != tt.want {
			t.Errorf("%s as %s: %d, want %d", tt.path, tt.accept, w.Code, tt.want)
		}
	}
}
