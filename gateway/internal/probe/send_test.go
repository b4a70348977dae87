package probe

import (
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/recloser-go/recloser"
	"github.com/recloser-go/recloser/gateway/gatewaytest"
	"github.com/recloser-go/recloser/gateway/internal/config"
	"github.com/recloser-go/recloser/gateway/internal/dependency"
	"github.com/recloser-go/recloser/internal/eventually"
	"github.com/recloser-go/recloser/internal/vtime"
)

func at(t *testing.T, base, path string, timeout time.Duration) *dependency.Dependency {
	t.Helper()
	u, err := url.Parse(base)
	if err != nil {
		t.Fatal(err)
	}
	b, err := recloser.New(recloser.Config{Name: "hotel-1"})
	if err != nil {
		t.Fatal(err)
	}
	transport := &http.Transport{}
	t.Cleanup(transport.CloseIdleConnections)
	return &dependency.Dependency{Breaker: b, Transport: transport, Dependency: config.Dependency{
		ID: "hotel-1", URL: u, Probe: &config.Probe{Path: path, Timeout: timeout, Idle: time.Minute},
	}}
}

func TestGet(t *testing.T) {
	const shortly, long = 50 * time.Millisecond, 10 * time.Second
	tests := []struct {
		name      string
		behaviour gatewaytest.Behaviour
		timeout   time.Duration
		verdict   Verdict
		status    int
		why       string // begins so
	}{
		{"200", gatewaytest.Answer(200, "pong"), long, Good, 200, "status 200"},
		{"204", gatewaytest.Answer(204, ""), long, Good, 204, "status 204"},
		{"302", gatewaytest.Answer(302, ""), long, Good, 302, "status 302"},
		{"401", gatewaytest.Answer(401, ""), long, Good, 401, "status 401"},
		{"403", gatewaytest.Answer(403, ""), long, Good, 403, "status 403"},
		{"404", gatewaytest.Answer(404, ""), long, WrongPath, 404, "status 404"},
		{"405", gatewaytest.Answer(405, ""), long, WrongPath, 405, "status 405"},
		{"400", gatewaytest.Answer(400, ""), long, WrongPath, 400, "status 400"},
		{"429", gatewaytest.Answer(429, ""), long, Neither, 429, "status 429"},
		{"500", gatewaytest.Answer(500, ""), long, Bad, 500, "status 500"},
		{"503", gatewaytest.Answer(503, ""), long, Bad, 503, "status 503"},
		{"the connection is closed", gatewaytest.Refuse(), long, Bad, 0, ""},
		{"no answer", gatewaytest.Hang(), shortly, Bad, 0, "no answer within 50ms"},
		{"a body that breaks off", gatewaytest.BreakOff(1 << 10), long, Good, 200, "status 200"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			other := gatewaytest.NewDependency(tt.behaviour)
			r := Get(vtime.Real{})(t.Context(), at(t, other.Listen(t), "/ping", tt.timeout))
			if r.Verdict != tt.verdict || r.Status != tt.status || !strings.HasPrefix(r.Why, tt.why) || r.Why == "" || r.Took <= 0 {
				t.Errorf("got %+v, want %s %d %q", r, tt.verdict, tt.status, tt.why)
			}
		})
	}
}

func TestGetFindsNobody(t *testing.T) {
	srv := httptest.NewServer(http.NotFoundHandler())
	srv.Close()
	r := Get(vtime.Real{})(t.Context(), at(t, srv.URL, "/ping", time.Second))
	if r.Verdict != Bad || !strings.Contains(r.Why, "refused") {
		t.Errorf("got %+v", r)
	}
}

// G10: that we end a probe ourselves is no failure of the dependency.
func TestGetThatWeEnd(t *testing.T) {
	other := gatewaytest.NewDependency(gatewaytest.Hang())
	d := at(t, other.Listen(t), "/ping", time.Minute)
	ctx, cancel := context.WithCancel(t.Context())
	found := make(chan Result)
	go func() { found <- Get(vtime.Real{})(ctx, d) }()
	eventually.True(t, 10*time.Second, func() bool { return other.Running() == 1 }, "the probe has arrived")
	cancel()
	if r := <-found; r.Verdict != Neither {
		t.Errorf("got %+v", r)
	}
}

func TestWhatIsSent(t *testing.T) {
	tests := []struct{ base, path, want string }{
		{"", "/ping", "/ping"},
		{"/", "ping", "/ping"},
		{"/v1", "/ping", "/v1/ping"},
		{"/v1/", "/health/live/", "/v1/health/live/"},
		{"/v1", "", "/v1"},
		{"/v1", "/ping?deep=1", "/v1/ping?deep=1"},
		{"/v1?key=a", "/ping", "/v1/ping?key=a"},
		{"/v1?key=a", "/ping?deep=1", "/v1/ping?key=a&deep=1"},
		{"/a%2Fb", "/c%2Fd", "/a%2Fb/c%2Fd"},
	}
	for _, tt := range tests {
		var got atomic.Pointer[http.Request]
		srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			got.Store(r)
			http.Redirect(w, r, "/elsewhere", http.StatusFound)
		}))
		r := Get(vtime.Real{})(t.Context(), at(t, srv.URL+tt.base, tt.path, 10*time.Second))
		srv.Close()
		sent := got.Load()
		if sent == nil {
			t.Errorf("%q below %q: %+v", tt.path, tt.base, r)
			continue
		}
		if sent.RequestURI != tt.want || sent.Method != http.MethodGet || sent.UserAgent() != "recloser-probe" || sent.ContentLength != 0 {
			t.Errorf("%q below %q: %s %s by %s, want %s", tt.path, tt.base, sent.Method, sent.RequestURI, sent.UserAgent(), tt.want)
		}
		if r.Status != http.StatusFound {
			t.Errorf("a redirect was followed: %+v", r)
		}
	}
}

// G11: answers of 5 MB are not read, and the connection is closed; one with a short
// answer is used again.
func TestBodyIsNotRead(t *testing.T) {
	const probes = 3
	for _, tt := range []struct {
		name        string
		parts       int // of 1 KiB
		chunked     bool
		connections int64
		cutOff      int64
	}{
		{"short", 1, false, 1, 0},
		{"short, of a length not told", 1, true, 1, 0},
		{"long", 5 << 10, false, probes, probes},
		{"long, of a length not told", 5 << 10, true, probes, probes},
	} {
		t.Run(tt.name, func(t *testing.T) {
			part := make([]byte, 1<<10)
			var connections, cutOff atomic.Int64
			srv := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				if !tt.chunked {
					w.Header().Set("Content-Length", strconv.Itoa(tt.parts*len(part)))
				}
				for range tt.parts {
					if _, err := w.Write(part); err != nil {
						cutOff.Add(1)
						return
					}
					_ = http.NewResponseController(w).Flush()
				}
			}))
			srv.Config.ConnState = func(_ net.Conn, s http.ConnState) {
				if s == http.StateNew {
					connections.Add(1)
				}
			}
			srv.Start()
			defer srv.Close()
			d := at(t, srv.URL, "/ping", 10*time.Second)
			for range probes {
				if r := Get(vtime.Real{})(t.Context(), d); r.Verdict != Good {
					t.Fatalf("got %+v", r)
				}
			}
			if n := connections.Load(); n != tt.connections {
				t.Errorf("%d connections, want %d", n, tt.connections)
			}
			eventually.True(t, 10*time.Second, func() bool { return cutOff.Load() == tt.cutOff }, "the answers are cut off")
		})
	}
}

// A long body that never comes holds nothing up: it is not waited for.
func TestBodyThatStalls(t *testing.T) {
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Length", strconv.Itoa(5<<20))
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
	}))
	defer srv.Close()
	if r := Get(vtime.Real{})(t.Context(), at(t, srv.URL, "/ping", 24*time.Hour)); r.Verdict != Good {
		t.Errorf("got %+v", r)
	}
}
