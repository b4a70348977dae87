package main

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/recloser-go/recloser/internal/eventually"
)

// A call reaches dependencies in other processes and its answer comes back;
// one that dies is cut off, and only that one.
func TestServe(t *testing.T) {
	upstream, addr := startUpstream(t)
	here := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		w.Header().Set("X-Path", r.URL.RequestURI())
		w.WriteHeader(http.StatusTeapot)
		_, _ = w.Write(body)
	}))
	defer here.Close()
	p, calls, admin := startGateway(t, fmt.Sprintf(`
listen: "127.0.0.1:0"
admin: { listen: "127.0.0.1:0" }
defaults: { breaker: { consecutive: 3, open_for: 1m } }
dependencies:
  away: { url: "http://%s/v1" }
  here: { url: "%s/base" }
routes:
  - path: /hotels/{dependency}/*
  - path: /access
    ask: { accept: body.allowed == true, decide: first-yes, timeout: 10s }
`, addr, here.URL))

	if a := get(calls + "/hotels/away/rooms"); a.status != 200 || !strings.Contains(a.body, `"/v1/rooms"`) {
		t.Errorf("away: %+v", a)
	}
	resp, err := http.Post(calls+"/hotels/here/a%2Fb?c=d", "text/plain", strings.NewReader("hello"))
	if err != nil {
		t.Fatal(err)
	}
	body, _ := io.ReadAll(resp.Body)
	_ = resp.Body.Close()
	if resp.StatusCode != http.StatusTeapot || string(body) != "hello" || resp.Header.Get("X-Path") != "/base/a%2Fb?c=d" {
		t.Errorf("here: %d %q %q", resp.StatusCode, body, resp.Header.Get("X-Path"))
	}
	if a := get(calls + "/access"); a.status != 200 || !strings.Contains(a.body, "yes") {
		t.Errorf("ask: %+v", a)
	}

	if err := upstream.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	<-upstream.exited
	for range 3 {
		if a := get(calls + "/hotels/away/rooms"); a.status != http.StatusBadGateway {
			t.Errorf("dead: %+v", a)
		}
	}
	if a := get(calls + "/hotels/away/rooms"); a.status != http.StatusServiceUnavailable || a.header.Get("Retry-After") == "" {
		t.Errorf("cut off: %+v", a)
	}
	if a := get(calls + "/hotels/here/x"); a.status != http.StatusTeapot {
		t.Errorf("the other one: %+v", a)
	}
	if line := p.line("dependency changed state"); line["dependency"] != "away" || line["effect"] != "cut off" || line["reason"] != "run" || line["level"] != "WARN" {
		t.Errorf("log: %v", line)
	}
	// G23: an open breaker makes the gateway neither unhealthy nor unready.
	for path, want := range map[string]string{"/healthz": "", "/readyz": "", "/version": "", "/api/v1/dependencies": `"open"`, "/metrics": `recloser_state{dependency="away",state="open"} 1`} {
		if a := get(admin + path); a.status != 200 || !strings.Contains(a.body, want) {
			t.Errorf("%s: %+v", path, a)
		}
	}
	p.signal(os.Interrupt)
	if code := p.wait(); code != 0 {
		t.Errorf("exit code %d", code)
	}
	if out := p.stdout.String(); out != "" {
		t.Errorf("on stdout: %s", out)
	}
}

// blocking is a dependency whose calls end when the test says so.
type blocking struct {
	*httptest.Server
	arrived, proceed chan struct{}
}

func newBlocking(t *testing.T) *blocking {
	b := &blocking{arrived: make(chan struct{}, 10), proceed: make(chan struct{})}
	b.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b.arrived <- struct{}{}
		select {
		case <-b.proceed:
		case <-r.Context().Done():
		}
		_, _ = io.WriteString(w, "done")
	}))
	t.Cleanup(b.Close)
	return b
}

func (b *blocking) config() string {
	return fmt.Sprintf(`
listen: "127.0.0.1:0"
admin: { listen: "127.0.0.1:0" }
grace: 1h
defaults: { timeout: 1h, attempt_timeout: 1h, breaker: { slow_call: off } }
dependencies:
  a: { url: %q }
routes:
  - { path: /*, dependency: a }
`, b.URL)
}

func TestServeDrains(t *testing.T) {
	b := newBlocking(t)
	p, calls, admin := startGateway(t, b.config())
	running := make(chan answer, 1)
	go func() { running <- get(calls + "/x") }()
	<-b.arrived

	p.signal(syscall.SIGTERM)
	p.line("stopping: running calls may end")
	eventually.True(t, patience, func() bool { return refusesConnections(strings.TrimPrefix(calls, "http://")) }, "no more calls to be taken")
	if a := get(admin + "/readyz"); a.status != http.StatusServiceUnavailable {
		t.Errorf("/readyz: %+v", a)
	}
	select {
	case a := <-running:
		t.Fatalf("the running call ended early: %+v", a)
	case <-p.exited:
		t.Fatal("the gateway ended before its running call")
	default:
	}
	close(b.proceed)
	if a := <-running; a.status != 200 || a.body != "done" {
		t.Errorf("the running call: %+v", a)
	}
	if code := p.wait(); code != 0 {
		t.Errorf("exit code %d", code)
	}
}

func TestServeSecondSignalStopsAtOnce(t *testing.T) {
	b := newBlocking(t)
	p, calls, _ := startGateway(t, b.config())
	running := make(chan answer, 1)
	go func() { running <- get(calls + "/x") }()
	<-b.arrived

	p.signal(os.Interrupt)
	p.line("told to stop: a second Ctrl-C or SIGTERM stops at once")
	p.signal(os.Interrupt)
	if code := p.wait(); code != exitFailed {
		t.Errorf("exit code %d", code)
	}
	p.line("told to stop a second time: stopped at once")
	if a := <-running; a.err == nil {
		t.Errorf("the running call: %+v", a)
	}
}

// A call that outlasts the grace time is cut off, and the exit code says so.
func TestServeGraceEnds(t *testing.T) {
	b := newBlocking(t)
	p, calls, _ := startGateway(t, strings.Replace(b.config(), "grace: 1h", "grace: 10ms", 1))
	running := make(chan answer, 1)
	go func() { running <- get(calls + "/x") }()
	<-b.arrived

	p.signal(syscall.SIGTERM)
	if code := p.wait(); code != exitFailed {
		t.Errorf("exit code %d", code)
	}
	<-running
	if said := p.stderr.String(); !strings.Contains(said, "raise grace in ") {
		t.Errorf("said %s", said)
	}
}

// G27: a bad config starts nothing.
func TestServeBadConfig(t *testing.T) {
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr := free.Addr().String()
	_ = free.Close()
	file := writeConfig(t, fmt.Sprintf("listen: %q\ndefaults: { timout: 5s }\ndependencies: { a: { url: http://a.example } }\nroutes: [ { path: '/{dependency}/*' } ]\n", addr))
	p := start(t, binary, "serve", "-c", file)
	if code := p.wait(); code != exitBadConfig {
		t.Errorf("exit code %d", code)
	}
	want := file + `:2:13: unknown key "timout"; did you mean "timeout"?
    defaults: { timout: 5s }
                ^
`
	if got := p.stderr.String(); got != want {
		t.Errorf("said\n%s\nwant\n%s", got, want)
	}
	if p.stdout.String() != "" {
		t.Errorf("on stdout: %s", p.stdout)
	}
	if !refusesConnections(addr) {
		t.Error("somebody listens")
	}
}

func TestServePortInUse(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	for setting, lines := range map[string]string{
		"listen":       "listen: %q\nadmin: { listen: '127.0.0.1:0' }\n",
		"admin.listen": "listen: '127.0.0.1:0'\nadmin: { listen: %q }\n",
	} {
		t.Run(setting, func(t *testing.T) {
			file := writeConfig(t, fmt.Sprintf(lines, taken.Addr())+"dependencies: { a: { url: http://a.example } }\nroutes: [ { path: '/{dependency}/*' } ]\n")
			p := start(t, binary, "serve", "-c", file)
			if code := p.wait(); code != exitFailed {
				t.Errorf("exit code %d", code)
			}
			want := fmt.Sprintf("recloser: cannot listen on %s: another program listens there; stop it or set another address with %s in %s\n", taken.Addr(), setting, file)
			if got := p.stderr.String(); got != want {
				t.Errorf("said %s\nwant %s", got, want)
			}
		})
	}
}

// A flag goes before the environment, and that before the file.
func TestServeOverrides(t *testing.T) {
	isolate(t)
	t.Setenv("RECLOSER_LISTEN", "192.0.2.1:2")
	t.Setenv("RECLOSER_ADMIN_LISTEN", "127.0.0.1:0")
	file := writeConfig(t, strings.ReplaceAll(deadConfig, "127.0.0.1:0", "192.0.2.1:1")) // no address of any machine
	p := start(t, binary, "serve", "-c", file, "--log-format", "json", "--listen", "127.0.0.1:0", "--storage", "off")
	serving := p.line("serving")
	for _, which := range []string{"calls", "admin"} {
		if addr := serving[which].(string); !strings.HasPrefix(addr, "127.0.0.1:") {
			t.Errorf("%s at %s", which, addr)
		}
	}
	if made, err := filepath.Glob(filepath.Join(filepath.Dir(file), "*.db")); err != nil || len(made) > 0 {
		t.Errorf("%v: with --storage off there is %v", err, made)
	}
	p = start(t, binary, "serve", "-c", file, "--listen", "nowhere")
	if code := p.wait(); code != exitBadConfig || !strings.Contains(p.stderr.String(), "flag --listen") {
		t.Errorf("exit code %d: %s", code, p.stderr)
	}
}
