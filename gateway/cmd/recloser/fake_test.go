package main

import (
	"bytes"
	"flag"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

var update = flag.Bool("update", false, "write testdata/golden and docs/man anew")

// serverTime is what the fake gateway's clock says: recorded answers are of then.
const serverTime = "Mon, 30 Nov 2026 09:00:00 GMT"

// fakeGateway answers with what was recorded and remembers what it was asked.
type fakeGateway struct {
	*httptest.Server
	mu      sync.Mutex
	answers map[string]http.HandlerFunc // by "METHOD /path"
	asked   []asked
}

type asked struct{ method, uri, key, token, body string }

func newFakeGateway(t *testing.T) *fakeGateway {
	t.Helper()
	isolate(t)
	g := &fakeGateway{answers: map[string]http.HandlerFunc{}}
	for _, name := range []string{"dependencies", "events", "maintenance", "tokens", "config"} {
		g.answer("GET", "/"+name, 200, recorded(t, name))
	}
	g.Server = httptest.NewServer(g)
	t.Cleanup(g.Close)
	t.Setenv("RECLOSER_SERVER", g.URL)
	return g
}

// isolate keeps what is set on this machine out of a test.
func isolate(t *testing.T) {
	t.Helper()
	for name, value := range map[string]string{
		"RECLOSER_SERVER": "", "RECLOSER_TOKEN": "", "RECLOSER_CA": "", "RECLOSER_LISTEN": "", "RECLOSER_ADMIN_LISTEN": "", "RECLOSER_STORAGE": "",
		"XDG_CONFIG_HOME": t.TempDir(), "NO_COLOR": "", "LC_ALL": "C.UTF-8", "NOTIFY_SOCKET": "", "WATCHDOG_USEC": "",
	} {
		t.Setenv(name, value)
	}
}

func recorded(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", "api", name+".json"))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// answer sets what a request is answered with.
func (g *fakeGateway) answer(method, path string, status int, body string) {
	kind := "application/json"
	if status >= 400 {
		kind = "application/problem+json"
	}
	g.handle(method, path, func(w http.ResponseWriter, _ *http.Request) {
		if body != "" {
			w.Header().Set("Content-Type", kind)
		}
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	})
}

func (g *fakeGateway) handle(method, path string, h http.HandlerFunc) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.answers[method+" /api/v1"+path] = h
}

func (g *fakeGateway) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	g.mu.Lock()
	g.asked = append(g.asked, asked{r.Method, r.RequestURI, r.Header.Get("Idempotency-Key"), r.Header.Get("Authorization"), string(body)})
	h := g.answers[r.Method+" "+r.URL.EscapedPath()]
	g.mu.Unlock()
	w.Header().Set("Date", serverTime)
	if h == nil {
		w.Header().Set("Content-Type", "application/problem+json")
		w.WriteHeader(http.StatusNotFound)
		_, _ = io.WriteString(w, `{"detail":"nothing is at `+r.URL.Path+`"}`)
		return
	}
	h(w, r)
}

// acts returns what changes something, of all that was asked.
func (g *fakeGateway) acts() (acts []asked) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, a := range g.asked {
		if a.method != http.MethodGet {
			acts = append(acts, a)
		}
	}
	return acts
}

// result is how a command line ended.
type result struct {
	code           int
	stdout, stderr string
}

// run runs a command line with nobody at a terminal.
func run(t *testing.T, args ...string) result {
	t.Helper()
	return runAsked(t, "", false, args...)
}

// runAsked runs one with somebody who writes stdin.
func runAsked(t *testing.T, stdin string, asks bool, args ...string) result {
	t.Helper()
	var stdout, stderr bytes.Buffer
	p := program{stdin: strings.NewReader(stdin), stdout: &stdout, stderr: &stderr, keepLog: unkept, asks: asks}
	code := p.execute(t.Context(), args)
	return result{code, stdout.String(), stderr.String()}
}

// golden compares a text with testdata/golden/NAME, or writes it there.
func golden(t *testing.T, name, got string) {
	t.Helper()
	file := filepath.Join("testdata", "golden", name)
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s: got\n%s\nwant\n%s\nIf the new one is right: go test ./cmd/recloser -update", file, got, want)
	}
}
