//go:build !race

package main

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/recloser-go/recloser/gateway/gatewaytest"
	"github.com/recloser-go/recloser/internal/eventually"
)

// However a gateway is told to read its config again, what is right is in force, all
// of it, and what is wrong changes nothing and is said. G07: a dependency that is open
// stays open, with the time that was left.
func TestReloadInEachWay(t *testing.T) {
	t.Parallel()
	h := newHotels(t, 2, ", breaker: { consecutive: 1, open_for: 1h, max_open_for: 1h }")
	h.all[0].Now(gatewaytest.Answer(http.StatusInternalServerError, ""))
	config := head + h.lines + proxyRoute
	n := startNode(t, config)
	get(n.calls + "/hotels/hotel-1/x")
	open := n.await("hotel-1", "open")

	times := 0
	for _, way := range []struct {
		name string
		ask  func(wrong bool)
	}{
		{"SIGHUP", func(bool) { n.signal(syscall.SIGHUP) }},
		{"the API", func(wrong bool) {
			status, text := n.api(http.MethodPost, "/reload", `{}`, nil)
			if wrong != (status == http.StatusUnprocessableEntity) || wrong != strings.Contains(text, "did you mean") {
				t.Errorf("wrong: %t, and it answers %d %s", wrong, status, text)
			}
		}},
		{"by itself", func(bool) {}},
	} {
		t.Run(way.name, func(t *testing.T) {
			times++
			added, path := fmt.Sprint("new-", times), fmt.Sprintf("/way-%d/", times)
			right := strings.Replace(config, "dependencies:", fmt.Sprintf("dependencies:\n  %s: { url: %q }", added, h.all[1].Listen(t)), 1)
			right = strings.Replace(right, "/hotels/", path, 1)
			wrong := strings.Replace(strings.Replace(right, "/way-", "/wrong-", 1), "url:", "ulr:", 1)

			said := strings.Count(n.stderr.String(), "reload failed")
			n.rewrite(wrong)
			way.ask(true)
			eventually.True(t, patience, func() bool { return strings.Count(n.stderr.String(), "reload failed") > said }, "the fault")
			if a := get(n.calls + "/wrong-1/hotel-2/x"); a.status != http.StatusNotFound {
				t.Errorf("half of it is in force: %+v", a)
			}
			if a := get(n.admin + "/metrics"); !strings.Contains(a.body, `recloser_config_last_reload_ok 0`) {
				t.Errorf("no metric says so: %s", grep(a.body, "last_reload_ok"))
			}
			n.rewrite(right)
			way.ask(false)
			eventually.True(t, patience, func() bool { return get(n.calls+path+added+"/x").status == http.StatusOK }, "the new one to be called")
			if s := n.state("hotel-1"); s.State != "open" || s.Until.Sub(open.Until).Abs() > 10*time.Second || s.Version != open.Version {
				t.Errorf("was %+v\nand is %+v", open, s)
			}
			if a := get(n.admin + "/metrics"); !strings.Contains(a.body, `recloser_config_last_reload_ok 1`) {
				t.Errorf("no metric says so: %s", grep(a.body, "last_reload_ok"))
			}
			if a := get(n.calls + path + "hotel-1/x"); a.status != http.StatusServiceUnavailable {
				t.Errorf("hotel-1: %+v", a)
			}
		})
	}
	// What was asked for is not read a second time by itself.
	if got, want := grep(get(n.admin+"/metrics").body, "recloser_reloads_total{"), "recloser_reloads_total{result=\"failed\"} 3\nrecloser_reloads_total{result=\"ok\"} 3\n"; got != want {
		t.Errorf("counted as\n%s", got)
	}
}

// grep returns the lines with a word.
func grep(text, word string) (found string) {
	for line := range strings.Lines(text) {
		if strings.Contains(line, word) {
			found += line
		}
	}
	return found
}

// serial returns which certificate a listener shows to whoever trusts these.
func serial(t *testing.T, addr string, pool *x509.CertPool) (int64, error) {
	t.Helper()
	conn, err := tls.Dial("tcp", addr, &tls.Config{RootCAs: pool})
	if err != nil {
		return 0, err
	}
	defer conn.Close()
	return conn.ConnectionState().PeerCertificates[0].SerialNumber.Int64(), nil
}

// Certificates are exchanged while it runs, on both listeners, and connections that
// live go on. One that is wrong is not taken.
func TestCertificatesAreExchanged(t *testing.T) {
	h := newHotels(t, 1, "")
	dir := t.TempDir()
	first := newCertificate(t, dir, 1)
	files := fmt.Sprintf("tls: { cert: %q, key: %q }", first.cert(), first.key())
	n := startNode(t, files+`
listen: "127.0.0.1:0"
admin: { listen: "127.0.0.1:0", `+files+` }
`+h.lines+proxyRoute)
	calls, admin := strings.TrimPrefix(n.calls, "http://"), strings.TrimPrefix(n.admin, "http://")

	client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: first.pool}, ForceAttemptHTTP2: true}, Timeout: patience}
	defer client.CloseIdleConnections()
	passes := func() {
		t.Helper()
		resp, err := client.Get("https://" + calls + "/hotels/hotel-1/x")
		if err != nil || resp.StatusCode != http.StatusOK || resp.ProtoMajor != 2 || resp.Body.Close() != nil {
			t.Fatalf("got %+v, %v", resp, err)
		}
	}
	passes()
	shows := func(want int64, pool *x509.CertPool) {
		t.Helper()
		for _, addr := range []string{calls, admin} {
			if got, err := serial(t, addr, pool); got != want || err != nil {
				t.Errorf("%s shows certificate %d, %v; want %d", addr, got, err, want)
			}
		}
	}
	shows(1, first.pool)

	second := newCertificate(t, dir, 2)
	n.signal(syscall.SIGHUP)
	n.line("certificate read anew")
	eventually.True(t, patience, func() bool { return strings.Count(n.stderr.String(), "certificate read anew") == 2 }, "both listeners to have it")
	shows(2, second.pool)
	passes() // on the connection of before

	replaceFile(t, second.cert(), "no certificate\n")
	n.signal(syscall.SIGHUP)
	n.line("new certificate not taken: the old one stays in force")
	shows(2, second.pool)
}

// The admin listener is not opened to other machines without sign-in, and the message
// says what to do.
func TestAdminForOthersNeedsSignIn(t *testing.T) {
	for _, addr := range []string{"0.0.0.0:0", ":0", "[::]:0"} {
		config := "listen: \"127.0.0.1:0\"\nadmin: { listen: \"" + addr + "\" }\ndependencies: { a: { url: http://127.0.0.1:1 } }\n" + proxyRoute
		file := writeConfig(t, config)
		p := start(t, binary, "serve", "-c", file)
		if code := p.wait(); code != exitBadConfig {
			t.Errorf("%s: exit code %d", addr, code)
		}
		said := p.stderr.String()
		for _, want := range []string{file + ":2:", "can be reached from other machines", "sign_in: true", "recloser token create", "127.0.0.1"} {
			if !strings.Contains(said, want) {
				t.Errorf("%s: %q is missing in\n%s", addr, want, said)
			}
		}
		q := start(t, binary, "serve", "-c", file, "--log-format", "json", "--admin-listen", "127.0.0.1:0")
		q.line("serving")
		r := start(t, binary, "serve", "-c", writeConfig(t, strings.Replace(config, "\" }", "\", sign_in: true }", 1)), "--log-format", "json")
		r.line("serving")
	}
}

// With sign-in on, nobody without a token sees or changes anything; the first token
// is made beside the gateway, before it runs or while it does, and holds over a
// restart until it is revoked.
func TestSignInOnTheWire(t *testing.T) {
	h := newHotels(t, 1, "")
	config := strings.Replace(head, "0\" }", "0\", sign_in: true }", 1) + h.lines + proxyRoute
	n := &node{t: t, file: writeConfig(t, config)}
	token := func(args ...string) string {
		t.Helper()
		r := run(t, append([]string{"token", "create", "-c", n.file}, args...)...)
		if r.code != exitGood {
			t.Fatalf("%+v", r)
		}
		return strings.TrimSpace(r.stdout)
	}
	before := token("boss", "--role", "admin", "--for", "90d")
	n.start()
	viewer := token("eye", "--role", "viewer", "--for", "1d")
	ask := func(token, method, path, body string) int {
		t.Helper()
		args := []string{"-o", os.DevNull, "-w", "%{http_code}", "-X", method}
		if token != "" {
			args = append(args, "-H", "Authorization: Bearer "+token)
		}
		if body != "" {
			args = append(args, "-H", "Content-Type: application/json", "-d", body)
		}
		var status int
		_, _ = fmt.Sscan(curl(t, append(args, n.admin+path)...), &status)
		return status
	}
	const one, override = "/api/v1/dependencies/hotel-1", `{"mode": "isolated", "for": "1h", "reason": "x"}`
	tokens := func() string { return curl(t, "-H", "Authorization: Bearer "+before, n.admin+"/api/v1/tokens") }
	// Trying a token that does not count yet would be guessing.
	eventually.True(t, patience, func() bool { return strings.Contains(tokens(), `"eye"`) }, "the token that was made beside it to count")
	for range 2 {
		for _, path := range []string{one, "/api/v1/events", "/api/v1/stream", "/openapi.json", "/"} {
			if got := ask("", "GET", path, ""); got != 401 {
				t.Errorf("%s without a token: %d", path, got)
			}
		}
		for _, c := range []struct {
			token, method, path, body string
			want                      int
		}{
			{"", "GET", "/healthz", "", 200},
			{"", "GET", "/readyz", "", 200},
			{"", "PUT", one + "/override", override, 401},
			{before[:len(before)-1] + "x", "GET", one, "", 401},
			{viewer, "GET", one, "", 200},
			{viewer, "PUT", one + "/override", override, 403},
			{viewer, "GET", "/api/v1/tokens", "", 403},
			{before, "PUT", one + "/override", override, 200},
			{before, "GET", "/api/v1/tokens", "", 200},
			{before, "DELETE", one + "/override?reason=x", "", 200},
		} {
			if got := ask(c.token, c.method, c.path, c.body); got != c.want {
				t.Errorf("%s %s with %q: %d, want %d", c.method, c.path, c.token, got, c.want)
			}
		}
		n.end(syscall.SIGKILL)
		n.start()
	}
	id := strings.Split(viewer, "_")[1]
	if r := run(t, "token", "revoke", id, "-c", n.file); r.code != exitGood {
		t.Errorf("%+v", r)
	}
	eventually.True(t, patience, func() bool { return !strings.Contains(tokens(), `"eye"`) }, "the token to be revoked")
	if got := ask(viewer, "GET", one, ""); got != 401 {
		t.Errorf("the revoked token: %d", got)
	}
	for _, file := range []string{"recloser.db", "recloser.db-wal"} {
		text, err := os.ReadFile(filepath.Join(filepath.Dir(n.file), file))
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			t.Error(err)
		}
		for _, secret := range []string{before, viewer, strings.Split(before, "_")[2]} {
			if strings.Contains(string(text), secret) {
				t.Errorf("a token stands in %s", file)
			}
		}
	}
	if strings.Contains(n.stderr.String(), strings.Split(before, "_")[2]) {
		t.Error("a token stands in the log")
	}
}

// G12: what an operator isolates stays so over a restart, with who and why, and ends
// at its time by itself.
func TestIsolationOutlivesARestart(t *testing.T) {
	t.Parallel()
	h := newHotels(t, 1, "")
	n := startNode(t, head+h.lines+proxyRoute)
	began := time.Now()
	if r := run(t, "isolate", "hotel-1", "--server", n.admin, "--for", "2s", "--reason", "new lift"); r.code != exitGood {
		t.Fatalf("%+v", r)
	}
	was := n.state("hotel-1")
	n.end(syscall.SIGKILL)
	n.start()
	is := n.state("hotel-1")
	if is.State != "isolated" || is.Override == nil || *is.Override.Until != *was.Override.Until || is.Override.By != was.Override.By || is.Override.Reason != "new lift" {
		t.Errorf("was %+v and is %+v", was.Override, is.Override)
	}
	if a := get(n.calls + "/hotels/hotel-1/x"); a.status != http.StatusServiceUnavailable || a.header.Get("Recloser-Reason") != "isolated" {
		t.Errorf("a call: %+v", a)
	}
	eventually.True(t, patience, func() bool { return get(n.calls+"/hotels/hotel-1/x").status == http.StatusOK }, "its end")
	if since := time.Since(began); since < 2*time.Second {
		t.Errorf("it ended after %s", since)
	}
}
