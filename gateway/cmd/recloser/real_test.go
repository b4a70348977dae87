package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/recloser-go/recloser/internal/eventually"
)

// realConfig is a gateway that keeps what it is told, in front of one dependency.
func realConfig(t *testing.T, more string) string {
	t.Helper()
	here := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	t.Cleanup(here.Close)
	return fmt.Sprintf(`
listen: "127.0.0.1:0"
admin: { listen: "127.0.0.1:0"%s }
storage: %s
dependencies:
  hotel-1: { url: %q, group: coast }
  hotel-2: { url: %q, group: coast }
routes: [ { path: "/{dependency}/*" } ]
`, more, filepath.Join(t.TempDir(), "recloser.db"), here.URL, here.URL)
}

// Every verb does to a gateway that runs what it says.
func TestVerbsOnARealGateway(t *testing.T) {
	isolate(t)
	p, calls, admin := startGateway(t, realConfig(t, ""))
	t.Setenv("RECLOSER_SERVER", admin)
	want := func(code int, pattern string, args ...string) string {
		t.Helper()
		r := run(t, args...)
		if r.code != code || !regexp.MustCompile(pattern).MatchString(r.stdout+r.stderr) {
			t.Errorf("%q: exit code %d, want %d and %s\n%s%s", args, r.code, code, pattern, r.stdout, r.stderr)
		}
		return r.stdout
	}
	reaches := func(id string, status int) {
		t.Helper()
		if a := get(calls + "/" + id + "/x"); a.status != status {
			t.Errorf("a call of %s: %+v, want %d", id, a, status)
		}
	}

	want(exitGood, `hotel-1 +closed: passing`, "status")
	want(exitGood, `hotel-1 +isolated: cut off by hand +\d.* until .*“a b” — `, "isolate", "hotel-1", "--for", "1h", "--reason", "a b")
	reaches("hotel-1", http.StatusServiceUnavailable)
	want(exitCutOff, `hotel-1`, "status", "coast", "--exit-code")
	want(exitChanged, `has changed meanwhile`, "release", "hotel-1", "--reason", "x", "--if-version", "0")
	want(exitGood, `hotel-1 +half-open: on trial`, "release", "hotel-1", "--reason", "x")
	want(exitGood, `(?s)hotel-1 +half-open.*Nothing was set for hotel-1\.`, "release", "hotel-1", "--reason", "x")
	want(exitGood, `hotel-1 +closed: passing`, "reset", "hotel-1", "--reason", "x")
	reaches("hotel-1", http.StatusOK)
	want(exitGood, `hotel-2 +held-closed: passing by hand +.*no end set`, "hold", "hotel-*", "--no-expiry", "--reason", "x")
	want(exitGood, `hotel-2 +closed`, "release", "--group", "coast", "--reason", "x")
	want(exitChanged, `there is nothing to try`, "trial", "hotel-1", "--reason", "x")
	want(exitNotFound, `no dependency "hotel-9"`, "isolate", "hotel-9", "--for", "1h", "--reason", "x")

	want(exitGood, `hotel-9 +closed`, "dependency", "add", "hotel-9", "url=http://127.0.0.1:1", "group=hills", "breaker.consecutive=3")
	reaches("hotel-9", http.StatusBadGateway)
	want(exitGood, `hotel-9`, "dependency", "set", "hotel-9", "group=sea")
	want(exitGood, `hotel-9`, "status", "sea")
	want(exitUsage, `unknown key "ulr"; did you mean "url"\?`, "dependency", "set", "hotel-9", "ulr=x")
	want(exitChanged, `is defined in`, "dependency", "set", "hotel-1", "timeout=1s")
	want(exitGood, `hotel-9 is removed`, "dependency", "remove", "hotel-9", "--reason", "x")
	reaches("hotel-9", http.StatusNotFound)

	want(exitGood, `now, until .* cut off +“moving” — `, "maintenance", "add", "hotel-2", "--for", "1h", "--reason", "moving")
	eventually.True(t, patience, func() bool { return strings.Contains(run(t, "status", "hotel-2").stdout, "maintenance: cut off") }, "the maintenance")
	if a := get(calls + "/hotel-2/x"); a.status != http.StatusServiceUnavailable || !strings.Contains(a.body, "hotel-2 is cut off: planned maintenance") {
		t.Errorf("a call of hotel-2: %+v", a)
	}
	id := strings.TrimSpace(want(exitGood, ``, "maintenance", "list", "-o", "name"))
	want(exitGood, `is over`, "maintenance", "end", id, "--reason", "early")
	eventually.True(t, patience, func() bool { return !strings.Contains(run(t, "status", "hotel-2").stdout, "cut off") }, "its end")

	want(exitGood, `hotel-1: .*isolated`, "events", "--dependency", "hotel-1", "--since", "1h")
	want(exitGood, `hotel-1\.url +http`, "config", "show", "--running")
	secret := strings.TrimSpace(want(exitGood, `^rcl_`, "token", "create", "cms", "--role", "viewer", "--for", "90d"))
	want(exitGood, `cms +viewer`, "token", "list")
	t.Setenv("RECLOSER_TOKEN", secret)
	want(exitGood, `hotel-1`, "status")
	want(exitNotAllowed, `cms is a viewer`, "reset", "hotel-1", "--reason", "x")
	t.Setenv("RECLOSER_TOKEN", "")
	want(exitGood, `is revoked`, "token", "revoke", strings.Split(secret, "_")[1])
	t.Setenv("RECLOSER_TOKEN", secret)
	want(exitNotAllowed, `not known`, "status")
	t.Setenv("RECLOSER_TOKEN", "")

	file := p.cmd.Args[3]
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(strings.Replace(string(text), "hotel-2:", "hotel-3:", 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	want(exitGood, `The config is in force`, "reload", "--reason", "x")
	want(exitGood, `hotel-3`, "status", "hotel-3")
	if err := os.WriteFile(file, []byte("x: 1\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	want(exitBadConfig, `unknown key "x"`, "reload")
}

// The first token is made beside a gateway that asks for one, and counts there.
func TestTheFirstToken(t *testing.T) {
	isolate(t)
	p, _, admin := startGateway(t, realConfig(t, ", sign_in: true"))
	t.Setenv("RECLOSER_SERVER", admin)
	if r := run(t, "status"); r.code != exitNotAllowed || !strings.Contains(r.stderr, "--token-file") {
		t.Errorf("without a token: %+v", r)
	}
	r := run(t, "token", "create", "-c", p.cmd.Args[3], "--role", "operator", "--group", "coast", "--for", "90d")
	if r.code != exitGood {
		t.Fatalf("%+v", r)
	}
	file := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(file, []byte(r.stdout), 0o600); err != nil {
		t.Fatal(err)
	}
	eventually.True(t, patience, func() bool { return run(t, "status", "--token-file", file).code == exitGood }, "the token to count")
	if r := run(t, "isolate", "hotel-1", "--for", "1h", "--reason", "x", "--token-file", file); r.code != exitGood {
		t.Errorf("%+v", r)
	}
	if r := run(t, "token", "list", "--token-file", file); r.code != exitNotAllowed {
		t.Errorf("%+v", r)
	}
}

// Live and followed output comes from the gateway's own stream.
func TestFollowARealGateway(t *testing.T) {
	isolate(t)
	_, _, admin := startGateway(t, realConfig(t, ""))
	t.Setenv("RECLOSER_SERVER", admin)
	events, status := watch(t, "events", "-f", "-o", "json", "--kind", "transition"), watch(t, "status", "-w", "hotel-2")
	eventually.True(t, patience, func() bool { return strings.Contains(status.stdout.String(), "closed: passing") }, "the first look")
	var seen struct{ Dependency, To string }
	eventually.True(t, patience, func() bool {
		run(t, "isolate", "hotel-2", "--for", "1h", "--reason", "x")
		run(t, "release", "hotel-2", "--reason", "x")
		line, _, _ := strings.Cut(events.stdout.String(), "\n")
		return json.Unmarshal([]byte(line), &seen) == nil
	}, "an event")
	if seen.Dependency != "hotel-2" || seen.To == "" {
		t.Errorf("%+v", seen)
	}
	eventually.True(t, patience, func() bool { return strings.Contains(status.stdout.String(), "hotel-2 half-open: on trial") }, "the change")
	events.end(t)
	status.end(t)
}

// A test message goes out, and what became of it is told; and no answer and no log has
// the address.
func TestAlertsOnARealGateway(t *testing.T) {
	isolate(t)
	hook := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(r.URL.Path, "/gone") {
			w.WriteHeader(http.StatusGone)
		}
	}))
	defer hook.Close()
	p, _, admin := startGateway(t, realConfig(t, "")+fmt.Sprintf(`
alerts:
  teams: [ { name: ops, url: "%s/SECRET0123" } ]
  webhook: [ { name: cms, url: "%[1]s/gone/SECRET0123", secret: SECRET0123 } ]
`, hook.URL))
	t.Setenv("RECLOSER_SERVER", admin)
	for _, c := range []struct {
		code    int
		pattern string
		args    []string
	}{
		{exitGood, `ops +A test of Recloser's alerts +accepted +1`, []string{"alerts", "test", "ops", "--reason", "x"}},
		{exitFailed, `cms +A test of Recloser's alerts +refused +1 +answered 410 Gone(.|\n)*cms did not take the message`, []string{"alerts", "test"}},
		{exitNotFound, `there is no channel "nobody"`, []string{"alerts", "test", "nobody"}},
		{exitGood, `(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ +ops.*accepted(.|\n)*){2}`, []string{"alerts", "deliveries"}},
		{exitGood, `"channel": ?"cms"`, []string{"alerts", "deliveries", "--channel", "cms", "-o", "json"}},
	} {
		r := run(t, c.args...)
		if r.code != c.code || !regexp.MustCompile(c.pattern).MatchString(r.stdout+r.stderr) {
			t.Errorf("%q: exit code %d, want %d and %s\n%s%s", c.args, r.code, c.code, c.pattern, r.stdout, r.stderr)
		}
		if strings.Contains(r.stdout+r.stderr, "SECRET0123") {
			t.Errorf("%q shows the secret:\n%s%s", c.args, r.stdout, r.stderr)
		}
	}
	if text := p.stderr.String(); strings.Contains(text, "SECRET0123") {
		t.Errorf("the log shows the secret:\n%s", text)
	}
}

// Who changed the file in vain hears of it where he looks for what he wrote.
func TestARefusedConfigIsTold(t *testing.T) {
	isolate(t)
	config := realConfig(t, "")
	file := writeConfig(t, config)
	put := func(text string) {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	_, _, admin := serveFile(t, file)
	t.Setenv("RECLOSER_SERVER", admin)
	refused := "The config on disk was refused, and the one before is in force: " + file + `:9:1: unknown key "alert"; did you mean "alerts"?` + "\n"
	put(config + "alert: {}\n")
	if r := run(t, "reload"); r.code != exitBadConfig {
		t.Fatalf("%+v", r)
	}
	for name, args := range map[string][]string{
		"status": {"status"}, "json": {"status", "-o", "json"}, "channel": {"alerts", "test", "operators"}, "all channels": {"alerts", "test"},
		"act": {"isolate", "hotel-9", "--for", "1h", "--reason", "x"}, "maintenance": {"maintenance", "add", "--group", "hills", "--for", "1h", "--reason", "x"},
	} {
		if r := run(t, args...); !strings.Contains(r.stderr, refused) || strings.Count(r.stderr, "was refused") != 1 {
			t.Errorf("%s: %+v, want it to say\n%s", name, r, refused)
		}
	}
	put(config)
	if r := run(t, "reload"); r.code != exitGood {
		t.Fatalf("%+v", r)
	}
	if r := run(t, "status"); r.stderr != "" {
		t.Errorf("mended, and it says %s", r.stderr)
	}
}
