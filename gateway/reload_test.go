package gateway

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/recloser-go/recloser"
	"github.com/recloser-go/recloser/gateway/gatewaytest"
	"github.com/recloser-go/recloser/gateway/internal/config"
	"github.com/recloser-go/recloser/internal/eventually"
)

const before = `
listen: "127.0.0.1:0"
admin: { listen: "127.0.0.1:0" }
dependencies:
  a: { url: "http://127.0.0.1:1", breaker: { open_for: 1h, max_open_for: 1h } }
  b: { url: "http://127.0.0.1:1" }
routes: [ { path: "/{dependency}/*" } ]
`

const after = `
listen: "127.0.0.1:0"
admin: { listen: "127.0.0.1:0" }
dependencies:
  new: { url: "http://127.0.0.1:1" }
  a: { url: "http://127.0.0.1:1", breaker: { open_for: 2s, slow_call: 700ms } }
routes: [ { path: "/hotels/{dependency}/*" } ]
`

// reloading starts a gateway whose config is what next returns.
func reloading(t *testing.T, next func() (*config.Config, error)) (*Gateway, *gatewaytest.Log) {
	t.Helper()
	log := &gatewaytest.Log{}
	g, err := New(Options{Config: parse(t, before), Load: next, Log: slog.New(slog.NewTextHandler(log, nil))})
	if err != nil {
		t.Fatal(err)
	}
	if err := g.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { stop(t, g) })
	return g, log
}

// G07: a reload while one is open: still open, with the time that was left; another
// partner comes and the others keep their state.
func TestReloadKeepsState(t *testing.T) {
	g, _ := reloading(t, func() (*config.Config, error) { return parse(t, after), nil })
	a, _ := g.Dependencies().Get("a")
	if err := a.Breaker.TripFor(20*time.Minute, "ops", "why"); err != nil {
		t.Fatal(err)
	}
	until := a.Breaker.Stats().Until
	if err := g.Reload(t.Context()); err != nil {
		t.Fatal(err)
	}
	now, _ := g.Dependencies().Get("a")
	s := now.Breaker.Stats()
	if s.State != recloser.Open || s.Until.Sub(until).Abs() > time.Second || s.SlowCall != 700*time.Millisecond {
		t.Errorf("after the reload: %s until %s, slow limit %s; want open until %s, 700ms", s.State, s.Until, s.SlowCall, until)
	}
	if _, ok := g.Dependencies().Get("b"); ok {
		t.Error("b is still there")
	}
	for path, want := range map[string]int{"/hotels/new/x": http.StatusBadGateway, "/new/x": http.StatusNotFound, "/hotels/a/x": http.StatusServiceUnavailable} {
		if got := statusOf(t, "http://"+g.Addr()+path); got != want {
			t.Errorf("%s: %d, want %d", path, got, want)
		}
	}
	if r := g.reloads.seen(); r.Good != 1 || r.Failed != 0 || r.Fault != "" {
		t.Errorf("counted as %+v", r)
	}
}

func statusOf(t *testing.T, url string) int {
	t.Helper()
	resp, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	_, _ = io.Copy(io.Discard, resp.Body)
	return resp.StatusCode
}

func TestReloadChangesNothingIfTheConfigIsWrong(t *testing.T) {
	wrong := errors.New("test.yaml:3:1: unknown key")
	g, log := reloading(t, func() (*config.Config, error) { return &config.Config{}, wrong })
	if err := g.Reload(t.Context()); !errors.Is(err, wrong) || !strings.Contains(err.Error(), "the config in force stays") {
		t.Errorf("got %v", err)
	}
	if statusOf(t, "http://"+g.Addr()+"/b/x") != http.StatusBadGateway {
		t.Error("b is not called any more")
	}
	if r := g.reloads.seen(); r.Failed != 1 || r.Fault == "" {
		t.Errorf("counted as %+v", r)
	}
	if !strings.Contains(log.String(), "reload failed") {
		t.Errorf("the log does not say so: %s", log)
	}
}

// What needs a restart is told until there was one, or the file is as it was.
func TestReloadTellsWhatNeedsARestart(t *testing.T) {
	text := ""
	g, log := reloading(t, func() (*config.Config, error) { return parse(t, text), nil })
	for _, step := range []struct {
		text    string
		changed bool
		restart []string
	}{
		{before + "grace: 7s\nlimits: { streams: 7 }\n", true, []string{"limits.streams"}},
		{before + "grace: 7s\nlimits: { streams: 7 }\n", false, []string{"limits.streams"}},
		{before, true, nil},
	} {
		text = step.text
		mark := len(log.String())
		did, err := g.reload(t.Context())
		if err != nil || !slices.Equal(did.Restart, step.restart) || (len(did.Changed) > 0) != step.changed {
			t.Errorf("%v: %q; want restart %q", err, did, step.restart)
		}
		logged := log.String()[mark:]
		if waits := len(step.restart) > 0; strings.Contains(logged, "this change needs a restart") != waits || strings.Contains(did.String(), "only after a restart: limits.streams") != waits {
			t.Errorf("told %q, logged %s; want restart %q", did, logged, step.restart)
		}
	}
}

func TestReloadNeedsAFile(t *testing.T) {
	g, _ := startGateway(t, before)
	if err := g.Reload(t.Context()); err == nil {
		t.Error("it read something again")
	}
}

// A change of the file is enough, and a wrong one changes nothing.
func TestReloadsWhenTheFileChanges(t *testing.T) {
	path := filepath.Join(t.TempDir(), "recloser.yaml")
	put := func(path, text string) {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Error(err)
		}
	}
	write := func(text string) { put(path, "storage: off\n"+text) }
	load := func() (*config.Config, error) { return config.Load(path) }
	write(before)
	c, err := load()
	if err != nil {
		t.Fatal(err)
	}
	log := &gatewaytest.Log{}
	g, err := New(Options{Config: c, Load: load, Log: slog.New(slog.NewTextHandler(log, nil))})
	if err != nil {
		t.Fatal(err)
	}
	if err := g.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { stop(t, g) })
	write(before + "listne: x\n")
	eventually.True(t, patience, func() bool { return strings.Contains(log.String(), `did you mean`) }, "the wrong file to be read")
	// What is wrong may be a file that only the refused config names.
	secret := filepath.Join(filepath.Dir(path), "teams.url")
	put(secret, "http://hooks.example")
	write(after + "alerts: { teams: [ { name: operators, url: 'file:teams.url' } ] }\n")
	eventually.True(t, patience, func() bool { return strings.Contains(log.String(), `not the url of a webhook`) }, "the secret to be read")
	put(secret, "https://hooks.example")
	eventually.True(t, patience, func() bool {
		_, ok := g.Dependencies().Get("new")
		return ok
	}, "the mended file to be in force")
}

// A restart keeps what is open, what operators set, and who was added at run time.
func TestRestart(t *testing.T) {
	yaml := fmt.Sprintf("storage: %q\n", filepath.Join(t.TempDir(), "history.db")) + before
	run := func(do func(g *Gateway)) {
		g, _ := newGateway(t, yaml)
		if err := g.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
		do(g)
		stop(t, g)
	}
	var until time.Time
	run(func(g *Gateway) {
		a, _ := g.Dependencies().Get("a")
		if err := a.Breaker.TripFor(20*time.Minute, "ops", "why"); err != nil {
			t.Fatal(err)
		}
		until = a.Breaker.Stats().Until
		send(t, g, http.MethodPost, "/api/v1/dependencies", `{"id": "guest", "definition": {"url": "http://127.0.0.1:1", "name": "Guest"}}`, http.StatusCreated)
		send(t, g, http.MethodPut, "/api/v1/dependencies/b/override", `{"mode": "isolated", "for": "1h", "reason": "new lift", "by": "mira"}`, http.StatusOK)
	})
	// G07: a restart while one is open. G12: isolated by the API, restarted, still isolated; who and why are shown.
	run(func(g *Gateway) {
		a, _ := g.Dependencies().Get("a")
		if s := a.Breaker.Stats(); s.State != recloser.Open || s.Until.Sub(until).Abs() > time.Second {
			t.Errorf("a is %s until %s, want open until %s", s.State, s.Until, until)
		}
		b, _ := g.Dependencies().Get("b")
		s := b.Breaker.Stats()
		if s.State != recloser.Isolated || s.Override == nil || s.Override.By != "mira" || s.Override.Why != "new lift" || time.Until(s.Override.Until) > time.Hour {
			t.Errorf("b is %s, set by %+v", s.State, s.Override)
		}
		if guest, ok := g.Dependencies().Get("guest"); !ok || guest.Name != "Guest" || !guest.RunTime {
			t.Errorf("guest is %+v", guest)
		}
		send(t, g, http.MethodPut, "/api/v1/dependencies/guest/override", `{"mode": "isolated", "no_expiry": true, "reason": "moved"}`, http.StatusOK)
		send(t, g, http.MethodDelete, "/api/v1/dependencies/b/override?reason=done", "", http.StatusOK)
	})
	// The file takes the guest over, with what an operator has set.
	own := yaml
	yaml = strings.Replace(yaml, "dependencies:", "dependencies:\n  guest: { url: \"http://127.0.0.1:1\" }", 1)
	check := func(runTime, there bool) func(g *Gateway) {
		return func(g *Gateway) {
			b, _ := g.Dependencies().Get("b")
			if b.Breaker.State() == recloser.Isolated {
				t.Error("b is isolated again")
			}
			guest, ok := g.Dependencies().Get("guest")
			if ok != there || ok && (guest.RunTime != runTime || guest.Breaker.State() != recloser.Isolated) {
				t.Errorf("guest is there: %v, %+v", ok, guest)
			}
		}
	}
	run(check(false, true))
	run(check(false, true))
	yaml = own // and takes it away again
	run(check(false, false))
}

// send makes a request of the admin API.
func send(t *testing.T, g *Gateway, method, path, body string, want int) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, "http://"+g.AdminAddr()+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	if body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if got, _ := io.ReadAll(resp.Body); resp.StatusCode != want {
		t.Fatalf("%s %s: %d, want %d: %s", method, path, resp.StatusCode, want, got)
	}
}

// G23: with all breakers open the gateway itself is well.
func TestHealthIsOfTheGatewayOnly(t *testing.T) {
	g, _ := startGateway(t, before)
	for _, d := range g.Dependencies().All() {
		if err := d.Breaker.TripFor(time.Minute, "ops", "why"); err != nil {
			t.Fatal(err)
		}
	}
	for _, path := range []string{"/healthz", "/readyz"} {
		if got := statusOf(t, "http://"+g.AdminAddr()+path); got != http.StatusOK {
			t.Errorf("%s: %d", path, got)
		}
	}
	resp, err := http.Get("http://" + g.AdminAddr() + "/api/v1/dependencies")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, _ := io.ReadAll(resp.Body)
	if n := strings.Count(string(body), `"automatic":"open"`); n != 2 {
		t.Errorf("the dependencies view shows %d of 2 as open: %s", n, body)
	}
}

// lines is a log that is told of each line.
type lines func(line string)

func (l lines) Write(p []byte) (int, error) {
	l(string(p))
	return len(p), nil
}

// Between what a reload reads of what is set and what it puts in force of that,
// nobody acts: the reload would take the act back.
func TestNobodyActsDuringAReload(t *testing.T) {
	var g *Gateway
	held := 0
	log := lines(func(line string) {
		if strings.Contains(line, "msg=reloaded") {
			held = len(g.turn)
		}
	})
	g, err := New(Options{
		Config: parse(t, before), Load: func() (*config.Config, error) { return parse(t, after), nil },
		Log: slog.New(slog.NewTextHandler(log, nil)),
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := g.Reload(t.Context()); err != nil {
		t.Fatal(err)
	}
	if held != 1 || len(g.turn) != 0 {
		t.Errorf("the turn of who acts: %d while it is put in force, want 1; %d later, want 0", held, len(g.turn))
	}
	g.close()
}

// A dependency that was missing in the file for a while is isolated as it was: in
// this process as well as after a restart.
func TestReloadBringsBackWhatWasSet(t *testing.T) {
	configs := []string{after, before}
	g, _ := reloading(t, func() (*config.Config, error) {
		next := configs[0]
		configs = configs[1:]
		return parse(t, next), nil
	})
	send(t, g, http.MethodPut, "/api/v1/dependencies/b/override", `{"mode": "isolated", "no_expiry": true, "reason": "new lift"}`, http.StatusOK)
	for range 2 {
		if err := g.Reload(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	b, ok := g.Dependencies().Get("b")
	if !ok {
		t.Fatal("b is not there")
	}
	if o := b.Breaker.Stats().Override; o == nil || o.Why != "new lift" {
		t.Errorf("override %+v, want it isolated as before", o)
	}
}

// A route that was away begins anew: it had taken memory for nobody.
func TestReloadForgetsRoutes(t *testing.T) {
	const (
		without = `
listen: "127.0.0.1:0"
admin: { listen: "127.0.0.1:0" }
dependencies: { a: { url: %q, breaker: { open_for: 1h, max_open_for: 1h } } }
routes:
  - { path: /other, dependency: a }
`
		with = without + "  - { path: /limited, dependency: a, rate_limit: { per: route, rate: 1/h, burst: 1 } }\n  - { path: /known, dependency: a, last_known: { for: 1h } }\n"
	)
	hotel := gatewaytest.NewDependency(gatewaytest.Answer(http.StatusOK, "yes"))
	address := hotel.Listen(t)
	now := with
	g, _ := reloading(t, func() (*config.Config, error) { return parse(t, fmt.Sprintf(now, address)), nil })
	reload := func(text string) {
		t.Helper()
		now = text
		if err := g.Reload(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	want := func(when string, known, limited int) {
		t.Helper()
		for path, want := range map[string]int{"/known": known, "/limited": limited} {
			if got := statusOf(t, "http://"+g.Addr()+path); got != want {
				t.Errorf("%s, %s: %d, want %d", when, path, got, want)
			}
		}
	}
	reload(with)
	want("at first", http.StatusOK, http.StatusOK)
	a, _ := g.Dependencies().Get("a")
	if err := a.Breaker.TripFor(time.Hour, "ops", "why"); err != nil {
		t.Fatal(err)
	}
	reload(with)
	want("reloaded", http.StatusOK, http.StatusTooManyRequests)
	reload(without)
	reload(with)
	want("back again", http.StatusServiceUnavailable, http.StatusServiceUnavailable)
}
