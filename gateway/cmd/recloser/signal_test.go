package main

import (
	"bufio"
	"encoding/json"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
)

// deadConfig has a dependency that refuses connections and is never cut off, so
// that each call writes a line to a log of level debug.
const deadConfig = `
listen: "127.0.0.1:0"
admin: { listen: "127.0.0.1:0" }
defaults: { breaker: { consecutive: off, failure_rate: off } }
dependencies: { a: { url: "http://127.0.0.1:1" } }
routes: [ { path: "/{dependency}/*" } ]
`

// startPiped serves with a log that goes into a pipe. It reads the log up to the
// line that says where calls are taken, and no further.
func startPiped(t *testing.T) (p *process, calls string, log *os.File) {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	p = &process{t: t, cmd: exec.Command(binary, "serve", "-c", writeConfig(t, deadConfig), "--log-format", "json", "--log-level", "debug"), exited: make(chan struct{})}
	p.cmd.Stderr = w
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	_ = w.Close()
	go func() {
		defer close(p.exited)
		_ = p.cmd.Wait()
	}()
	t.Cleanup(func() {
		_ = p.cmd.Process.Kill() // fails if it has ended
		<-p.exited
		_ = r.Close()
	})
	for lines := bufio.NewScanner(r); lines.Scan(); {
		var entry struct{ Msg, Calls string }
		if json.Unmarshal(lines.Bytes(), &entry) == nil && entry.Msg == "serving" {
			return p, "http://" + entry.Calls, r
		}
	}
	t.Fatal("the gateway does not serve")
	return nil, "", nil
}

func TestServeOutlivesItsLogReader(t *testing.T) {
	p, calls, log := startPiped(t)
	_ = log.Close()
	for range 3 {
		if a := get(calls + "/a/x"); a.status != http.StatusBadGateway {
			t.Fatalf("got %+v", a)
		}
	}
	p.signal(syscall.SIGTERM)
	if code := p.wait(); code != exitGood {
		t.Errorf("exit code %d", code)
	}
}

func TestServeDoesNotWaitForItsLogReader(t *testing.T) {
	p, calls, _ := startPiped(t)
	for i := range 1000 { // many times what a pipe holds
		if a := get(calls + "/a/x"); a.status != http.StatusBadGateway {
			t.Fatalf("call %d: got %+v", i, a)
		}
	}
	p.signal(syscall.SIGTERM)
	if code := p.wait(); code != exitGood {
		t.Errorf("exit code %d", code)
	}
}

// SIGHUP puts the file in force, all of it or nothing.
func TestServeHangup(t *testing.T) {
	p, calls, admin := startGateway(t, deadConfig)
	file := p.cmd.Args[3]
	write := func(config string) {
		t.Helper()
		if err := os.WriteFile(file, []byte(config), 0o600); err != nil {
			t.Fatal(err)
		}
		p.signal(syscall.SIGHUP)
	}
	write(strings.Replace(deadConfig, "dependencies: {", "dependencies: { b: { url: 'http://127.0.0.1:1' },", 1))
	p.line("reloaded")
	if a := get(calls + "/b/x"); a.status != http.StatusBadGateway {
		t.Errorf("the new one: %+v", a)
	}
	write(strings.Replace(deadConfig, "url", "ulr", 1))
	p.line("reload failed: the config in force stays")
	said := p.stderr.String()
	if !strings.Contains(said, `unknown key \"ulr\"; did you mean \"url\"?`) {
		t.Errorf("the log does not say what is wrong: %s", said)
	}
	for line := range strings.Lines(said) { // whoever reads the log by program finds nothing else in it
		if !json.Valid([]byte(line)) {
			t.Errorf("not JSON: %s", line)
		}
	}
	if a := get(admin + "/api/v1/dependencies/b"); a.status != http.StatusOK {
		t.Errorf("what was in force: %+v", a)
	}
	p.signal(syscall.SIGTERM)
	if code := p.wait(); code != exitGood {
		t.Errorf("exit code %d", code)
	}
}
