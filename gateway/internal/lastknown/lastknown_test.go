package lastknown

import (
	"cmp"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/recloser-go/recloser/gateway/internal/config"
	"github.com/recloser-go/recloser/internal/vtime"
)

func request(target string, header ...string) *http.Request {
	r := httptest.NewRequest(http.MethodGet, target, nil)
	for i := 0; i < len(header); i += 2 {
		r.Header.Add(header[i], header[i+1])
	}
	return r
}

func withCertificate(raw string) *http.Request {
	r := request("/a")
	r.TLS = &tls.ConnectionState{PeerCertificates: []*x509.Certificate{{Raw: []byte(raw)}}}
	return r
}

func newStore(c config.LastKnown) *Store {
	c.For, c.Max, c.Memory = cmp.Or(c.For, time.Hour), cmp.Or(c.Max, 1000), cmp.Or(c.Memory, 16<<20)
	return New(&c, vtime.Real{})
}

// say has a request answered, and the answer read.
func (s *Store) say(t *testing.T, r *http.Request, status int, body string, header ...string) {
	t.Helper()
	resp := &http.Response{
		StatusCode: status, Header: request("/", header...).Header, ContentLength: int64(len(body)),
		Body: io.NopCloser(strings.NewReader(body)), Request: r,
	}
	s.Follow(s.Key(r.Method, r, nil), r, resp)
	if _, err := io.Copy(io.Discard, resp.Body); err != nil {
		t.Fatal(err)
	}
}

// last is the body of the last known answer to r, or "-".
func (s *Store) last(r *http.Request) string {
	a, _, ok := s.Get(s.Key(r.Method, r, nil), r)
	if !ok {
		return "-"
	}
	return string(a.Body)
}

func TestWhatTellsRequestsApart(t *testing.T) {
	post := request("/a")
	post.Method = http.MethodHead
	host := request("/a")
	host.Host = "other.example"
	tests := []struct {
		name     string
		one, two *http.Request
		same     bool
	}{
		{"nothing", request("/a"), request("/a"), true},
		{"path", request("/a"), request("/b"), false},
		{"how the path is escaped", request("/a%2Fb"), request("/a/b"), false},
		{"query", request("/a?x=1"), request("/a?x=2"), false},
		{"method", request("/a"), post, false},
		{"host", request("/a"), host, false},
		{"a header that is named", request("/a", "X-Gate", "1"), request("/a", "X-Gate", "2"), false},
		{"a header that is not", request("/a", "X-Other", "1"), request("/a", "X-Other", "2"), true},
		{"one value or two", request("/a", "X-Gate", "1\n2"), request("/a", "X-Gate", "1", "X-Gate", "2"), false},
		{"authorization", request("/a", "Authorization", "Bearer 1"), request("/a", "Authorization", "Bearer 2"), false},
		{"authorization or none", request("/a", "Authorization", "Bearer 1"), request("/a"), false},
		{"cookie", request("/a", "Cookie", "s=1"), request("/a", "Cookie", "s=2"), false},
		{"cookie or authorization", request("/a", "Cookie", "1"), request("/a", "Authorization", "1"), false},
		{"a header that is kept from the dependency", request("/a", "X-Gate", "1", "Connection", "X-Gate"), request("/a", "X-Gate", "1"), false},
		{"certificate", withCertificate("1"), withCertificate("2"), false},
		{"certificate or none", withCertificate("1"), request("/a"), false},
		{"one certificate", withCertificate("1"), withCertificate("1"), true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := newStore(config.LastKnown{Key: []string{"x-gate"}})
			s.say(t, tt.one, 200, "one")
			if got := s.last(tt.two) == "one"; got != tt.same {
				t.Errorf("the other gets it: %t", got)
			}
		})
	}
}

func TestWhatIsKept(t *testing.T) {
	mine := request("/a", "Authorization", "Bearer 1")
	tests := []struct {
		name   string
		r      *http.Request
		status int
		header []string
		want   string // after an answer "old"
	}{
		{"good", request("/a"), 200, nil, "new"},
		{"not found", request("/a"), 404, nil, "new"},
		{"no-store", request("/a"), 200, []string{"Cache-Control", "max-age=5, No-Store"}, "-"},
		{"no-store of the request", request("/a", "Cache-Control", "no-store"), 200, nil, "-"},
		{"no-cache", request("/a"), 200, []string{"Cache-Control", "no-cache"}, "-"},
		{"must-revalidate", request("/a"), 200, []string{"Cache-Control", "must-revalidate"}, "-"},
		{"private, for nobody in particular", request("/a"), 200, []string{"Cache-Control", "private"}, "-"},
		{"private, for who has said who he is", mine, 200, []string{"Cache-Control", "private, max-age=60"}, "new"},
		{"depends on the address", request("/a"), 200, []string{"Vary", "x-forwarded-for"}, "-"},
		{"depends on everything", request("/a"), 200, []string{"Vary", "Accept, *"}, "-"},
		{"not allowed any more", mine, 403, nil, "-"},
		{"not signed in any more", mine, 401, nil, "-"},
		{"moved", request("/a"), 302, []string{"Location", "/login"}, "-"},
		{"not modified", request("/a"), 304, nil, "old"},
		{"a part", request("/a"), 206, nil, "old"},
		{"too many", request("/a"), 429, nil, "old"},
		{"failed", request("/a"), 500, nil, "old"},
		{"not there", request("/a"), 503, nil, "old"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := newStore(config.LastKnown{})
			s.say(t, tt.r, 200, "old")
			s.say(t, tt.r, tt.status, "new", tt.header...)
			if got := s.last(tt.r); got != tt.want {
				t.Errorf("kept is %q, want %q", got, tt.want)
			}
		})
	}
}

func TestVary(t *testing.T) {
	s := newStore(config.LastKnown{})
	s.say(t, request("/a", "Accept-Language", "de"), 200, "Hallo", "Vary", "accept-language, Accept")
	if got := s.last(request("/a", "Accept-Language", "de")); got != "Hallo" {
		t.Errorf("got %q", got)
	}
	if got := s.last(request("/a", "Accept-Language", "fr")); got != "-" {
		t.Errorf("got %q for another language", got)
	}
}

func TestCookiesAreForOnce(t *testing.T) {
	s, r := newStore(config.LastKnown{}), request("/a")
	s.say(t, r, 200, "x", "Set-Cookie", "s=1", "X-Kept", "yes")
	a, _, ok := s.Get(s.Key(r.Method, r, nil), r)
	if !ok || a.Header.Get("Set-Cookie") != "" || a.Header.Get("X-Kept") != "yes" {
		t.Errorf("got %v", a.Header)
	}
}

func TestAge(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, r := newStore(config.LastKnown{For: time.Minute}), request("/a")
		s.say(t, r, 200, "x")
		<-time.After(time.Minute)
		if _, age, ok := s.Get(s.Key(r.Method, r, nil), r); !ok || age != time.Minute {
			t.Errorf("%t, age %s", ok, age)
		}
		<-time.After(1)
		if got := s.last(r); got != "-" || len(s.byKey) != 0 || s.size != 0 {
			t.Errorf("got %q when it is too old; %d answers, %d bytes kept", got, len(s.byKey), s.size)
		}
	})
}

func TestBounds(t *testing.T) {
	t.Run("answers", func(t *testing.T) {
		s := newStore(config.LastKnown{Max: 3})
		for i := range 4 {
			s.say(t, request(fmt.Sprint("/", i)), 200, fmt.Sprint(i))
			s.last(request("/0")) // used all the time
		}
		got := s.last(request("/0")) + s.last(request("/1")) + s.last(request("/2")) + s.last(request("/3"))
		if got != "0-23" {
			t.Errorf("kept %s, want all but the one that was not used for longest", got)
		}
	})
	t.Run("bytes", func(t *testing.T) {
		s := newStore(config.LastKnown{Memory: 10_000})
		for i := range 1000 {
			s.say(t, request(fmt.Sprint("/", i%50)), 200, strings.Repeat("x", i), "X-Long", strings.Repeat("y", 100))
			if s.size > 10_000 || s.size < 0 {
				t.Fatalf("%d bytes", s.size)
			}
		}
		s.say(t, request("/large"), 200, strings.Repeat("x", 10_000))
		if s.last(request("/large")) != "-" || s.last(request("/49")) == "-" {
			t.Error("one that does not fit took the place of others")
		}
	})
	t.Run("one body", func(t *testing.T) {
		s := newStore(config.LastKnown{})
		for name, body := range map[string]string{"/1": strings.Repeat("x", LargestBody), "/2": strings.Repeat("x", LargestBody+1)} {
			s.say(t, request(name), 200, body)
		}
		if len(s.last(request("/1"))) != LargestBody || s.last(request("/2")) != "-" {
			t.Error("not exactly bodies of 1 MiB are kept")
		}
	})
	t.Run("one body of unknown length", func(t *testing.T) {
		s, r := newStore(config.LastKnown{}), request("/a")
		resp := &http.Response{StatusCode: 200, ContentLength: -1, Body: io.NopCloser(strings.NewReader(strings.Repeat("x", LargestBody+1)))}
		s.Follow(s.Key("GET", r, nil), r, resp)
		_, _ = io.Copy(io.Discard, resp.Body)
		if s.last(r) != "-" {
			t.Error("it is kept")
		}
	})
}

// Half an answer is none.
func TestBodyThatBreaksOffIsNotKept(t *testing.T) {
	s, r := newStore(config.LastKnown{}), request("/a")
	s.say(t, r, 200, "whole")
	resp := &http.Response{StatusCode: 200, ContentLength: 10, Body: io.NopCloser(io.MultiReader(strings.NewReader("half"), broken{}))}
	s.Follow(s.Key("GET", r, nil), r, resp)
	if _, err := io.Copy(io.Discard, resp.Body); err == nil {
		t.Fatal("no error")
	}
	if got := s.last(r); got != "whole" {
		t.Errorf("got %q", got)
	}
}

type broken struct{}

func (broken) Read([]byte) (int, error) { return 0, io.ErrUnexpectedEOF }

func TestStoresOutliveAReload(t *testing.T) {
	var all Stores
	route := func(longer time.Duration) config.Route {
		return config.Route{Path: "/a", LastKnown: &config.LastKnown{For: longer}}
	}
	first := all.Of(route(time.Hour))
	if all.Of(route(time.Hour)) != first {
		t.Error("another store for the same route")
	}
	if all.Of(route(time.Minute)) == first {
		t.Error("the same store for other settings")
	}
	last := all.Of(route(time.Minute))
	if all.Keep([]config.Route{{Path: "/b"}, {Path: "/a"}}); all.Of(route(time.Minute)) != last {
		t.Error("a store was forgotten whose route is still there")
	}
	if all.Keep([]config.Route{{Path: "/b"}}); all.Of(route(time.Minute)) == last {
		t.Error("the store of a route that was away is still there")
	}
	if all.Of(config.Route{Path: "/a"}) != nil {
		t.Error("a store for a route without")
	}
}
