package client

import (
	"context"
	"encoding/pem"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// gateway answers like one and remembers what it was asked.
type gateway struct {
	*httptest.Server
	mu     sync.Mutex
	all    []*http.Request
	bodies []string
}

// asked returns what came so far.
func (g *gateway) asked() []*http.Request {
	g.mu.Lock()
	defer g.mu.Unlock()
	return slices.Clone(g.all)
}

func newGateway(t *testing.T, answer http.HandlerFunc) *gateway {
	t.Helper()
	g := &gateway{}
	g.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		g.mu.Lock()
		g.all, g.bodies = append(g.all, r), append(g.bodies, string(body))
		g.mu.Unlock()
		answer(w, r)
	}))
	t.Cleanup(g.Close)
	return g
}

// Who says http to what speaks HTTPS is told so.
func TestPlainHTTPToHTTPS(t *testing.T) {
	server := httptest.NewUnstartedServer(nil)
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	server.StartTLS()
	defer server.Close()
	address := server.Listener.Addr().String()
	c, err := New(Options{Server: "http://" + address})
	if err != nil {
		t.Fatal(err)
	}
	_, err = c.Get(t.Context(), "dependencies", nil)
	wantError(t, err, Unreachable, "http://"+address+" speaks HTTPS: use --server https://"+address)
}

func says(status int, kind, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", kind)
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	}
}

func (g *gateway) client(t *testing.T, o Options) *Client {
	t.Helper()
	o.Server = g.URL
	c, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// errorOf returns an error of this kind, or ends the test.
func errorOf(t *testing.T, err error, kind Kind) *Error {
	t.Helper()
	e, ok := errors.AsType[*Error](err)
	if !ok || e.Kind != kind {
		t.Fatalf("%v, want an error of kind %q", err, kind)
	}
	return e
}

func wantError(t *testing.T, err error, kind Kind, parts ...string) {
	t.Helper()
	e := errorOf(t, err, kind)
	for _, part := range parts {
		if !strings.Contains(e.Error(), part) {
			t.Errorf("%q says nothing of %q", e, part)
		}
	}
}

func TestGet(t *testing.T) {
	g := newGateway(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Date", "Sun, 06 Nov 1994 08:49:37 GMT")
		says(200, "application/json", `{"events":[{"id":7,"unknown":true}]}`)(w, r)
	})
	a, err := g.client(t, Options{Token: "rcl_a_b", Agent: "recloser/v1"}).Get(t.Context(), "events", url.Values{"kind": {"act"}})
	if err != nil {
		t.Fatal(err)
	}
	if want := time.Date(1994, 11, 6, 8, 49, 37, 0, time.UTC); !a.At.Equal(want) {
		t.Errorf("at %s, want the gateway's own %s", a.At, want)
	}
	events, err := List[Event](a, "events")
	if err != nil || len(events) != 1 || events[0].Value.ID != 7 || string(events[0].Raw) != `{"id":7,"unknown":true}` {
		t.Errorf("%v: %+v", err, events)
	}
	r := g.asked()[0]
	if got := r.URL.String(); got != "/api/v1/events?kind=act" {
		t.Errorf("asked for %s", got)
	}
	for name, want := range map[string]string{"Authorization": "Bearer rcl_a_b", "User-Agent": "recloser/v1", "Idempotency-Key": "", "Content-Type": ""} {
		if got := r.Header.Get(name); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
}

func TestIDsStayOnePartOfThePath(t *testing.T) {
	g := newGateway(t, says(200, "application/json", `{}`))
	if _, err := g.client(t, Options{}).Get(t.Context(), "dependencies/"+url.PathEscape("a/../b?c"), nil); err != nil {
		t.Fatal(err)
	}
	if got := g.asked()[0].RequestURI; got != "/api/v1/dependencies/a%2F..%2Fb%3Fc" {
		t.Errorf("asked for %s", got)
	}
}

func TestProblems(t *testing.T) {
	for _, c := range []struct {
		name   string
		status int
		body   string
		kind   Kind
		detail string
	}{
		{"wrong words", 422, `{"detail":"validation failed","errors":[{"message":"must lie ahead","location":"body.until"},{"message":"how long?","location":"body"}]}`, Usage, "until: must lie ahead\nhow long?"},
		{"more than a list", 422, `{"detail":"the definition has faults","errors":[{"message":"unknown key","location":"body.definition"}]}`, Usage, "the definition has faults\ndefinition: unknown key"},
		{"no token", 401, `{"detail":"this needs a token"}`, NotAllowed, "this needs a token\nGive a token with --token-file or RECLOSER_TOKEN; an admin makes one with recloser token create."},
		{"too weak", 403, `{"detail":"a viewer may not isolate"}`, NotAllowed, "a viewer may not isolate"},
		{"not there", 404, `{"detail":"no dependency \"x\""}`, NotFound, `no dependency "x"`},
		{"changed", 409, `{"detail":"it is at version 7","current":{"id":"a"}}`, Changed, "it is at version 7"},
		{"broken inside", 500, `{"detail":"it broke"}`, Failed, "it broke"},
		{"locked out", 429, `{"detail":"too many wrong tokens"}`, Failed, "too many wrong tokens\nTry again in 3 s."},
		{"nothing said", 500, `{}`, Failed, "the gateway answers 500 Internal Server Error"},
		{"a proxy between", 502, `{"detail":"x"}`, Unreachable, "x"},
	} {
		t.Run(c.name, func(t *testing.T) {
			g := newGateway(t, func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("Retry-After", "3")
				says(c.status, "application/problem+json", c.body)(w, r)
			})
			_, err := g.client(t, Options{}).Get(t.Context(), "x", nil)
			e := errorOf(t, err, c.kind)
			if e.Detail != c.detail || e.Status != c.status {
				t.Errorf("%d %q, want %d %q", e.Status, e.Detail, c.status, c.detail)
			}
			if c.status == 409 && string(e.Current) != `{"id":"a"}` {
				t.Errorf("current %s", e.Current)
			}
		})
	}
}

func TestWhatIsNoGateway(t *testing.T) {
	for name, c := range map[string]struct {
		answer http.HandlerFunc
		part   string
	}{
		"a web page":  {says(200, "text/html", "<p>"), "is no gateway"},
		"a 404 page":  {says(404, "text/plain", "not found"), "is no gateway"},
		"half a JSON": {says(200, "application/json", `{"a":`), "is no gateway"},
		"elsewhere": {func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "https://elsewhere.example/", http.StatusFound)
		}, `redirect to "https://elsewhere.example/"`},
	} {
		t.Run(name, func(t *testing.T) {
			g := newGateway(t, c.answer)
			_, err := g.client(t, Options{Token: "t"}).Get(t.Context(), "dependencies", nil)
			wantError(t, err, Unreachable, c.part, g.URL, "--server")
			if len(g.asked()) != 1 {
				t.Errorf("asked %d times", len(g.asked()))
			}
		})
	}
}

func TestUnreachable(t *testing.T) {
	closed := httptest.NewServer(nil)
	closed.Close()
	c, err := New(Options{Server: closed.URL})
	if err != nil {
		t.Fatal(err)
	}
	_, err = c.Act(t.Context(), "PUT", "x", nil, nil)
	wantError(t, err, Unreachable, "no gateway answers at "+closed.URL, "connection refused", "--server")
	if e := errorOf(t, err, Unreachable); strings.Contains(e.Detail, "may have been done") {
		t.Errorf("nothing was sent, and it says %q", e)
	}

	arrived, over := make(chan struct{}), make(chan struct{})
	slow := newGateway(t, func(http.ResponseWriter, *http.Request) {
		close(arrived)
		<-over
	})
	defer close(over)
	_, err = slow.client(t, Options{Timeout: 50 * time.Millisecond}).Get(t.Context(), "x", nil)
	wantError(t, err, Unreachable, "does not answer within 50ms")
	<-arrived
}

func TestGivingUpIsNoErrorOfTheGateway(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	over := make(chan struct{})
	g := newGateway(t, func(http.ResponseWriter, *http.Request) {
		cancel()
		<-over
	})
	defer close(over)
	if _, err := g.client(t, Options{}).Get(ctx, "x", nil); !errors.Is(err, context.Canceled) {
		t.Errorf("%v, want that it was canceled", err)
	}
}

// An act whose connection breaks is sent again with the same key, once.
func TestActOnABrokenConnection(t *testing.T) {
	for name, c := range map[string]struct {
		breaks int64
		asked  int
	}{"once": {1, 2}, "for good": {100, 2}} {
		t.Run(name, func(t *testing.T) {
			var n atomic.Int64
			g := newGateway(t, func(w http.ResponseWriter, r *http.Request) {
				if n.Add(1) <= c.breaks {
					panic(http.ErrAbortHandler)
				}
				says(200, "application/json", `{}`)(w, r)
			})
			_, err := g.client(t, Options{}).Act(t.Context(), "PUT", "dependencies/a/override", nil, map[string]string{"reason": "x"})
			if c.breaks == 1 && err != nil {
				t.Error(err)
			}
			if c.breaks > 1 {
				wantError(t, err, Unreachable, "broke", "it may have been done all the same")
			}
			if len(g.asked()) != c.asked {
				t.Fatalf("asked %d times, want %d", len(g.asked()), c.asked)
			}
			first, again := g.asked()[0].Header.Get("Idempotency-Key"), g.asked()[1].Header.Get("Idempotency-Key")
			if first == "" || first != again || g.bodies[1] != `{"reason":"x"}` {
				t.Errorf("keys %q and %q, body %q", first, again, g.bodies[1])
			}
		})
	}
}

func TestActsHaveKeysOfTheirOwn(t *testing.T) {
	g := newGateway(t, says(200, "application/json", `{}`))
	c := g.client(t, Options{})
	for range 2 {
		if _, err := c.Act(t.Context(), "POST", "reload", nil, nil); err != nil {
			t.Fatal(err)
		}
	}
	if a, b := g.asked()[0].Header.Get("Idempotency-Key"), g.asked()[1].Header.Get("Idempotency-Key"); a == b {
		t.Errorf("both have the key %q", a)
	}
}

// An answer other than a break is not asked for again, not even a 500.
func TestActIsNotRepeatedOnAnAnswer(t *testing.T) {
	g := newGateway(t, says(500, "application/problem+json", `{"detail":"it broke"}`))
	_, err := g.client(t, Options{}).Act(t.Context(), "POST", "reload", nil, nil)
	wantError(t, err, Failed)
	if len(g.asked()) != 1 {
		t.Errorf("asked %d times", len(g.asked()))
	}
}

func TestOptions(t *testing.T) {
	for _, c := range []struct {
		name string
		o    Options
		part string // of the error; "": none
	}{
		{"default", Options{}, ""},
		{"no URL", Options{Server: "gateway:8081"}, "the server is a URL"},
		{"another scheme", Options{Server: "ftp://gateway"}, "the server is a URL"},
		{"with a user", Options{Server: "http://a:b@gateway"}, "no user"},
		{"no certificates", Options{Server: "https://gateway", CA: []byte("x")}, "--ca has no certificate"},
		{"token over https", Options{Server: "https://gateway", Token: "t"}, ""},
		{"token over http", Options{Server: "http://gateway", Token: "t"}, "--insecure-http"},
		{"token over http, said so", Options{Server: "http://gateway", Token: "t", InsecureHTTP: true}, ""},
		{"no token over http", Options{Server: "http://gateway"}, ""},
		{"token to localhost", Options{Server: "http://localhost:8081", Token: "t"}, ""},
		{"token to ::1", Options{Server: "http://[::1]:8081", Token: "t"}, ""},
		{"token to what begins like localhost", Options{Server: "http://localhost.example", Token: "t"}, "--insecure-http"},
		{"token to what begins like 127", Options{Server: "http://127.0.0.1.example", Token: "t"}, "--insecure-http"},
		{"token to a decimal address", Options{Server: "http://2130706433", Token: "t"}, "--insecure-http"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := New(c.o)
			if c.part == "" && err != nil {
				t.Error(err)
			}
			if c.part != "" {
				wantError(t, err, Usage, c.part)
			}
		})
	}
}

func TestCertificates(t *testing.T) {
	server := httptest.NewUnstartedServer(says(200, "application/json", `{}`))
	server.Config.ErrorLog = log.New(io.Discard, "", 0) // a refused handshake is what is tested
	server.StartTLS()
	defer server.Close()
	get := func(ca []byte) error {
		c, err := New(Options{Server: server.URL, Token: "t", CA: ca})
		if err != nil {
			t.Fatal(err)
		}
		_, err = c.Get(t.Context(), "x", nil)
		return err
	}
	wantError(t, get(nil), Unreachable, "is not trusted: name the one to trust with --ca")
	if err := get(nil); strings.Contains(err.Error(), "x509") {
		t.Errorf("in the words of a library: %v", err)
	}
	if err := get(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})); err != nil {
		t.Error(err)
	}
}

// A proxy of the environment must not see what stays on this machine.
func TestLoopbackNeedsNoProxy(t *testing.T) {
	t.Setenv("HTTP_PROXY", "http://127.0.0.1:1")
	g := newGateway(t, says(200, "application/json", `{}`))
	if _, err := g.client(t, Options{}).Get(t.Context(), "x", nil); err != nil {
		t.Error(err)
	}
	if host, _, _ := net.SplitHostPort(g.asked()[0].RemoteAddr); host != "127.0.0.1" {
		t.Errorf("it came from %s", host)
	}
}
