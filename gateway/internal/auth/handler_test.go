package auth

import (
	"bytes"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/recloser-go/recloser/gateway/internal/history"
)

// door is an Auth in front of a handler that says who came.
type door struct {
	*Auth
	t     *testing.T
	store *shelf
	now   time.Time
	log   bytes.Buffer
}

func newDoor(t *testing.T, signIn bool) *door {
	t.Helper()
	d := &door{t: t, store: &shelf{}, now: noon}
	clock := func() time.Time { return d.now }
	d.Auth = New(Options{
		SignIn: signIn, Authenticators: []Authenticator{NewTokens(d.store, clock)}, Now: clock,
		Log: slog.New(slog.NewTextHandler(&d.log, nil)),
	})
	return d
}

func (d *door) token(name string, role Role, group string) string {
	secret, t := Create(name, role, group, time.Time{})
	d.store.tokens = append(d.store.tokens, t)
	return secret
}

// knock returns who was let in, or the status of the refusal.
func (d *door) knock(r *http.Request, by func(http.Handler) http.Handler) (c Caller, status int, body string) {
	d.t.Helper()
	w := httptest.NewRecorder()
	by(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { c = From(r.Context()) })).ServeHTTP(w, r)
	if w.Code != http.StatusOK {
		var p struct{ Status int }
		if err := json.Unmarshal(w.Body.Bytes(), &p); err != nil || p.Status != w.Code || c != (Caller{}) {
			d.t.Errorf("%d with %q (%v), caller %+v", w.Code, w.Body, err, c)
		}
		if has := w.Header().Get("WWW-Authenticate") != ""; has != (w.Code == http.StatusUnauthorized) {
			d.t.Errorf("%d has WWW-Authenticate: %v", w.Code, has)
		}
	}
	return c, w.Code, w.Body.String()
}

func from(r *http.Request, addr string) *http.Request {
	r.RemoteAddr = addr
	return r
}

func TestWhoIsLetIn(t *testing.T) {
	for _, tt := range []struct {
		name   string
		signIn bool
		addr   string
		token  bool
		want   Caller
		status int
	}{
		{"this machine", false, "127.0.0.1:1", false, Caller{Name: "operator (127.0.0.1)", Role: Admin, From: "127.0.0.1"}, 200},
		{"this machine, IPv6", false, "[::1]:1", false, Caller{Name: "operator (::1)", Role: Admin, From: "::1"}, 200},
		{"this machine, mapped", false, "[::ffff:127.0.0.1]:1", false, Caller{Name: "operator (127.0.0.1)", Role: Admin, From: "127.0.0.1"}, 200},
		{"this machine with a token", false, "127.0.0.1:1", true, Caller{Name: "cms", Role: Viewer, Group: "coast", From: "127.0.0.1"}, 200},
		{"another machine", false, "192.0.2.1:1", false, Caller{}, 401},
		{"another machine with a token", false, "192.0.2.1:1", true, Caller{Name: "cms", Role: Viewer, Group: "coast", From: "192.0.2.1"}, 200},
		{"no address", false, "@", false, Caller{}, 401},
		{"this machine, sign-in", true, "127.0.0.1:1", false, Caller{}, 401},
		{"sign-in with a token", true, "192.0.2.1:1", true, Caller{Name: "cms", Role: Viewer, Group: "coast", From: "192.0.2.1"}, 200},
	} {
		t.Run(tt.name, func(t *testing.T) {
			d := newDoor(t, tt.signIn)
			secret := d.token("cms", Viewer, "coast")
			r := from(request(t), tt.addr)
			if tt.token {
				r.Header.Set("Authorization", "Bearer "+secret)
				tt.want.Token = d.store.tokens[0].ID
			}
			c, status, _ := d.knock(r, d.Handler)
			if c != tt.want || status != tt.status {
				t.Errorf("%+v, %d; want %+v, %d", c, status, tt.want, tt.status)
			}
		})
	}
}

// Whoever shows something wrong is nobody, although he would be an admin without.
func TestWrongCredentialsAreWorseThanNone(t *testing.T) {
	for _, shown := range []string{"Bearer rcl_x_y", "Basic Z3Vlc3Q6czNjcmV0", "nonsense"} {
		d := newDoor(t, false)
		_, status, body := d.knock(request(t, shown), d.Handler)
		if status != http.StatusUnauthorized || strings.Contains(body, "wrong secret") {
			t.Errorf("%s: %d, %s", shown, status, body)
		}
	}
}

// A cookie of some other program on this machine is nothing that was shown.
func TestCookiesOfOthers(t *testing.T) {
	d := newDoor(t, false)
	r := request(t)
	r.Header.Set("Cookie", "theme=dark")
	if c, status, _ := d.knock(r, d.Handler); c.Role != Admin {
		t.Errorf("%+v, %d", c, status)
	}
}

func TestLocal(t *testing.T) {
	d := newDoor(t, true)
	secret := d.token("prometheus", Viewer, "")
	local := Caller{Name: "viewer (127.0.0.1)", Role: Viewer, From: "127.0.0.1"}
	if c, _, _ := d.knock(request(t), d.Local); c != local {
		t.Errorf("%+v, want %+v", c, local)
	}
	if c, _, _ := d.knock(from(request(t, "Bearer "+secret), "192.0.2.1:1"), d.Local); c.Name != "prometheus" {
		t.Errorf("with a token: %+v", c)
	}
	if _, status, _ := d.knock(from(request(t), "192.0.2.1:1"), d.Local); status != http.StatusUnauthorized {
		t.Errorf("from another machine: %d", status)
	}
	for _, h := range []string{"X-Forwarded-For", "Forwarded", "Via", "X-Real-IP"} {
		r := request(t)
		r.Header.Set(h, "192.0.2.1")
		if _, status, _ := d.knock(r, d.Local); status != http.StatusUnauthorized {
			t.Errorf("with %s: %d", h, status)
		}
	}
}

func TestGuessingIsLockedOut(t *testing.T) {
	d := newDoor(t, true)
	good := d.token("cms", Operator, "")
	wrong, _ := Create("x", Admin, "", time.Time{})
	guess := func(shown, addr string) int {
		_, status, _ := d.knock(from(request(t, "Bearer "+shown), addr), d.Handler)
		return status
	}
	for i := range freeTries + 1 {
		if status := guess(wrong, "192.0.2.1:1"); status != http.StatusUnauthorized {
			t.Fatalf("guess %d: %d", i+1, status)
		}
	}
	for _, shown := range []string{wrong, good} { // else a guess would still be told from the right one
		if status := guess(shown, "192.0.2.1:2"); status != http.StatusTooManyRequests {
			t.Errorf("locked out: %d", status)
		}
	}
	w := httptest.NewRecorder()
	d.Handler(nil).ServeHTTP(w, from(request(t, "Bearer "+good), "192.0.2.1:3"))
	if w.Header().Get("Retry-After") != "1" {
		t.Errorf("Retry-After %q, want 1", w.Header().Get("Retry-After"))
	}
	if status := guess(good, "192.0.2.2:1"); status != http.StatusOK {
		t.Errorf("from another address: %d", status)
	}
	d.now = d.now.Add(time.Second)
	if status := guess(good, "192.0.2.1:4"); status != http.StatusOK {
		t.Errorf("after the lock: %d", status)
	}
	if status := guess(wrong, "192.0.2.1:5"); status != http.StatusUnauthorized {
		t.Errorf("wrong again: %d", status)
	}
	d.now = d.now.Add(time.Second)
	if status := guess(good, "192.0.2.1:6"); status != http.StatusTooManyRequests {
		t.Errorf("a good token must not reset the lock-out: %d", status)
	}

	log := d.log.String()
	if !strings.Contains(log, "from=192.0.2.1") || !strings.Contains(log, "locked_out_for=1s") {
		t.Errorf("log %s", log)
	}
	for _, shown := range []string{good, wrong} {
		if _, secret, _ := split(shown); strings.Contains(log, secret) {
			t.Error("the log has a secret")
		}
	}
	if lines := strings.Count(log, "\n"); lines != freeTries+2 {
		t.Errorf("%d lines, want one for each guess that was looked at", lines)
	}
}

func TestStoreThatFailsLocksNobodyOut(t *testing.T) {
	d := newDoor(t, true)
	good := d.token("cms", Operator, "")
	d.store.err = errors.New("disk full")
	for range 3 * freeTries {
		if _, status, body := d.knock(request(t, "Bearer "+good), d.Handler); status != http.StatusServiceUnavailable || strings.Contains(body, "disk full") {
			t.Fatalf("%d, %s", status, body)
		}
	}
	d.store.err = nil
	if _, status, _ := d.knock(request(t, "Bearer "+good), d.Handler); status != http.StatusOK {
		t.Errorf("once it is there again: %d", status)
	}
}

func TestStill(t *testing.T) {
	d := newDoor(t, true)
	good := d.token("cms", Operator, "coast")
	var r *http.Request
	d.Handler(http.HandlerFunc(func(_ http.ResponseWriter, in *http.Request) { r = in })).
		ServeHTTP(httptest.NewRecorder(), request(t, "Bearer "+good))
	if err := d.Still(r); err != nil {
		t.Error(err)
	}
	token := d.store.tokens[0]
	for name, change := range map[string]func(*history.Token){
		"another role":  func(t *history.Token) { t.Role = string(Viewer) },
		"another group": func(t *history.Token) { t.Group = "hills" },
		"expired":       func(t *history.Token) { t.Expires = noon },
	} {
		d.store.tokens[0] = token
		change(&d.store.tokens[0])
		if d.Still(r) == nil {
			t.Errorf("%s: still let in", name)
		}
	}
	d.store.tokens = nil
	if d.Still(r) == nil {
		t.Error("revoked: still let in")
	}
	if err := d.Still(request(t).WithContext(With(t.Context(), ByAddress("127.0.0.1")))); err != nil {
		t.Errorf("without a token: %v", err)
	}
}

// Another way to sign in stands beside tokens.
func TestSecondAuthenticator(t *testing.T) {
	d := newDoor(t, true)
	d.Authenticators = append(d.Authenticators, identityProvider{})
	r := request(t)
	r.Header.Set("Cookie", "session=ines")
	if c, status, _ := d.knock(r, d.Handler); c.Name != "ines" || c.From != "127.0.0.1" {
		t.Errorf("%+v, %d", c, status)
	}
}

type identityProvider struct{}

func (identityProvider) Authenticate(r *http.Request) (Caller, error) {
	if c, err := r.Cookie("session"); err == nil {
		return Caller{Name: c.Value, Role: Operator}, nil
	}
	return Caller{}, ErrNoCredentials
}

func TestRoles(t *testing.T) {
	for _, tt := range []struct {
		is, need Role
		covers   bool
	}{
		{Viewer, Viewer, true},
		{Viewer, Operator, false},
		{Operator, Viewer, true},
		{Operator, Admin, false},
		{Admin, Operator, true},
		{"", "", false},
		{"", Viewer, false},
		{"emperor", Viewer, false},
	} {
		if got := tt.is.Covers(tt.need); got != tt.covers {
			t.Errorf("%q covers %q: %v", tt.is, tt.need, got)
		}
	}
	if c := From(t.Context()); c.Role.Covers(Viewer) {
		t.Errorf("nobody may do something: %+v", c)
	}
}

func TestConcurrently(t *testing.T) {
	d := newDoor(t, true)
	d.Log = slog.New(slog.DiscardHandler)
	good := d.token("cms", Operator, "")
	wrong, _ := Create("x", Admin, "", time.Time{})
	var wg sync.WaitGroup
	for _, shown := range []string{good, wrong, good, wrong} {
		wg.Go(func() {
			for range 50 {
				r := httptest.NewRequest(http.MethodGet, "/", nil)
				r.Header.Set("Authorization", "Bearer "+shown)
				d.Handler(http.NotFoundHandler()).ServeHTTP(httptest.NewRecorder(), r)
				if _, err := d.Authenticators[0].(*Tokens).All(r.Context()); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
}
