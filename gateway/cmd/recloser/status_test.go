package main

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/recloser-go/recloser/gateway/gatewaytest"
	"github.com/recloser-go/recloser/gateway/internal/client"
	"github.com/recloser-go/recloser/internal/eventually"
)

func TestStatusOutputs(t *testing.T) {
	newFakeGateway(t)
	for name, args := range map[string][]string{
		"status.txt":        {"status"},
		"status-wide.txt":   {"status", "-o", "wide"},
		"status.json":       {"status", "hotel-2", "-o", "json"},
		"status.yaml":       {"status", "hotel-2", "-o", "yaml"},
		"status-name.txt":   {"status", "-o", "name"},
		"status-colour.txt": {"status", "--color", "always"},
		"status-group.txt":  {"status", "coast", "hotel-5"},
	} {
		r := run(t, args...)
		if r.code != exitGood || r.stderr != "" {
			t.Errorf("%q: exit code %d, %s", args, r.code, r.stderr)
		}
		golden(t, name, r.stdout)
	}
	t.Setenv("LC_ALL", "C")
	golden(t, "status-ascii.txt", run(t, "status").stdout)
	if r := run(t, "status", "-o", "wide"); strings.ContainsFunc(r.stdout, func(c rune) bool { return c > 126 }) {
		t.Errorf("more than ASCII:\n%s", r.stdout)
	}
}

// Whatever the gateway says, it is one line and moves no cursor.
func TestStatusShowsNoControlCharacters(t *testing.T) {
	newFakeGateway(t)
	for _, form := range []string{"table", "wide", "name"} {
		if r := run(t, "status", "-o", form, "--color", "never"); strings.ContainsAny(r.stdout, "\x1b\u202e") {
			t.Errorf("%s: %q", form, r.stdout)
		}
	}
}

// What a server says is wrong does not steer the terminal either, whoever it is.
func TestErrorsShowNoControlCharacters(t *testing.T) {
	g := newFakeGateway(t)
	const bad = `\u001b]0;x\u0007\u001b[31m\u202e`
	g.answer("GET", "/dependencies", 422, `{"detail":"bad `+bad+`","errors":[{"location":"body.`+bad+`","message":"two`+bad+`"}]}`)
	if r := run(t, "status"); r.code != exitUsage || r.stderr != "recloser: bad ]0;x [31m\n]0;x [31m : two ]0;x [31m\n" {
		t.Errorf("%+v", r)
	}
	g.answer("GET", "/dependencies", 200, `{"dependencies":[{"id":"a`+bad+`","group":"b`+bad+`"},{"id":"c","group":"d"}]}`)
	if r := run(t, "reset", "x", "--reason", "y"); r.code != exitNotFound || strings.ContainsAny(r.stderr, "\x1b\x07\u202e") {
		t.Errorf("%+v", r)
	}
	if r := run(t, "__complete", "status", ""); r.stdout != "c\nd\n:4\n" {
		t.Errorf("completion %q", r.stdout)
	}
}

// With several nodes it says which of them have seen it, and what they do not know yet.
func TestStatusOfFleet(t *testing.T) {
	g := newFakeGateway(t)
	for state, want := range map[string]string{
		`"open","fleet":{"seen_by":"2 of 3 nodes"}`:                           "x; seen by 2 of 3 nodes",
		`"closed","fleet":{"seen_by":"1 of 3 nodes: gate, by its own rules"}`: "x; but cut off by 1 of 3 nodes: gate, by its own rules",
		`"isolated","fleet":{"seen_by":"","not_shared":true}`:                 "x; not yet shared: the other nodes do not know of it",
		`"closed","fleet":{"seen_by":""}`:                                     "x",
		`"closed","fleet":null`:                                               "x",
	} {
		g.answer("GET", "/dependencies", 200, `{"dependencies":[{"id":"aurora","since":"2026-11-30T09:00:00Z","explain":"x","why":"x","state":`+state+`}]}`)
		if r := run(t, "status"); !strings.HasSuffix(r.stdout, "  "+want+"\n") {
			t.Errorf("%s: %+v", state, r)
		}
	}
}

// What the state says is of calls without a key: those who have one are told, too.
func TestStatusOfKeys(t *testing.T) {
	g := newFakeGateway(t)
	for state, want := range map[string][2]string{
		`"closed","effect":"passing","keys":{"count":12,"states":{"open":2,"isolated":1,"half-open":1,"closed":8}}`: {"closed: passing, but for 3 keys  ", "3 of 12 keys cut off; x"},
		`"closed","effect":"passing","keys":{"count":1,"states":{"open":1}}`:                                        {"closed: passing, but for 1 key  ", "1 of 1 key cut off; x"},
		`"open","effect":"cut off","keys":{"count":2,"states":{"open":2}}`:                                          {"open: cut off  ", "2 of 2 keys cut off; x"},
		`"closed","effect":"passing","keys":{"count":12,"states":{"closed":12}}`:                                    {"closed: passing  ", "x"},
	} {
		g.answer("GET", "/dependencies", 200, `{"dependencies":[{"id":"aurora","since":"2026-11-30T09:00:00Z","explain":"x","why":"x","state":`+state+`}]}`)
		if r := run(t, "status"); !strings.Contains(r.stdout, "  "+want[0]) || !strings.HasSuffix(r.stdout, "  "+want[1]+"\n") {
			t.Errorf("%s: %+v", state, r)
		}
	}
}

// What comes next has a column of its own.
func TestStatusSaysOnceWhatComesNext(t *testing.T) {
	d := client.Dependency{
		State: "open", Effect: "cut off", Explain: "open (cut off): 5 bad calls in a row; trials in 1m0.5s; last failure: refused",
		Why: "5 bad calls in a row (limit 5)", Cause: "refused",
	}
	if got := whyOf(d); got != "5 bad calls in a row (limit 5): refused" {
		t.Errorf("%q", got)
	}
}

func TestStatusExitCodes(t *testing.T) {
	g := newFakeGateway(t)
	for _, c := range []struct {
		args []string
		code int
		said string
	}{
		{[]string{"status", "hotel-1", "--exit-code"}, exitGood, ""},
		{[]string{"status", "hotel-3", "--exit-code"}, exitGood, ""},
		{[]string{"status", "--exit-code"}, exitCutOff, ""},
		{[]string{"status", "hotel-4", "--exit-code"}, exitCutOff, ""},
		{[]string{"status", "bank", "--exit-code", "-o", "name"}, exitCutOff, ""},
		{[]string{"status", "hotl-2"}, exitNotFound, `no dependency or group "hotl-2"; did you mean "hotel-2"?`},
		{[]string{"status", "cost"}, exitNotFound, `did you mean "coast"?`},
		{[]string{"status", "-o", "xml"}, exitUsage, `--output is table, wide, json, yaml or name, not "xml"`},
		{[]string{"status", "--color", "blue"}, exitUsage, `--color is auto, always or never, not "blue"`},
		{[]string{"status", "-w", "--exit-code"}, exitUsage, "leave out --watch"},
		{[]string{"status", "-w", "-o", "yaml"}, exitUsage, "--watch writes a table"},
		{[]string{"status", "--server", "nonsense"}, exitUsage, "the server is a URL"},
		{[]string{"status", "--server", "http://127.0.0.1:1"}, exitUnreachable, "no gateway answers at http://127.0.0.1:1"},
		{[]string{"status", "--token-file", "/nowhere"}, exitUsage, "the token cannot be read"},
		{[]string{"status", "--ca", "/nowhere"}, exitUsage, "certificates of --ca or RECLOSER_CA cannot be read"},
	} {
		r := run(t, c.args...)
		if r.code != c.code || !strings.Contains(r.stderr, c.said) || c.said != "" && r.stdout != "" {
			t.Errorf("%q: exit code %d, want %d: %s", c.args, r.code, c.code, r.stderr)
		}
	}
	t.Setenv("RECLOSER_CA", "/nowhere")
	if r := run(t, "status"); r.code != exitUsage || !strings.Contains(r.stderr, "RECLOSER_CA cannot be read") {
		t.Errorf("RECLOSER_CA: %+v", r)
	}
	t.Setenv("RECLOSER_CA", "")
	g.answer("GET", "/dependencies", 401, `{"detail":"this needs a token"}`)
	if r := run(t, "status"); r.code != exitNotAllowed || !strings.Contains(r.stderr, "--token-file") {
		t.Errorf("exit code %d: %s", r.code, r.stderr)
	}
	g.answer("GET", "/dependencies", 500, `{"detail":"it broke"}`)
	if r := run(t, "status"); r.code != exitFailed || r.stderr != "recloser: it broke\n" {
		t.Errorf("exit code %d: %s", r.code, r.stderr)
	}
}

func TestTokenIsShownToTheGateway(t *testing.T) {
	g := newFakeGateway(t)
	t.Setenv("RECLOSER_TOKEN", "rcl_a_b")
	run(t, "status")
	if g.asked[0].token != "Bearer rcl_a_b" {
		t.Errorf("shown: %q", g.asked[0].token)
	}
	if r := run(t, "status", "--server", "http://gateway.example"); r.code != exitUsage || !strings.Contains(r.stderr, "--insecure-http") || strings.Contains(r.stderr, "rcl_a_b") {
		t.Errorf("exit code %d: %s", r.code, r.stderr)
	}
}

// watched runs status -w until the test cancels it.
type watched struct {
	stdout, stderr gatewaytest.Log
	cancel         context.CancelFunc
	code           chan int
}

func watch(t *testing.T, args ...string) *watched {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	w := &watched{cancel: cancel, code: make(chan int, 1)}
	p := program{stdin: strings.NewReader(""), stdout: &w.stdout, stderr: &w.stderr, keepLog: unkept}
	go func() { w.code <- p.execute(ctx, args) }()
	t.Cleanup(cancel)
	return w
}

func (w *watched) end(t *testing.T) {
	t.Helper()
	w.cancel()
	if code := <-w.code; code != exitGood {
		t.Errorf("exit code %d: %s", code, w.stderr.String())
	}
}

// On a pipe there is a line for each dependency, and one for each change.
func TestStatusWatch(t *testing.T) {
	for _, form := range []string{"table", "json"} {
		t.Run(form, func(t *testing.T) {
			g := newFakeGateway(t)
			changed := make(chan struct{})
			g.handle("GET", "/stream", func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("Content-Type", "text/event-stream")
				<-changed
				_, _ = io.WriteString(w, "id: 46\nevent: transition\ndata: {\"id\":46}\n\n")
				w.(http.Flusher).Flush()
				<-r.Context().Done()
			})
			w := watch(t, "status", "-w", "-o", form, "mountain")
			eventually.True(t, patience, func() bool { return strings.Count(w.stdout.String(), "\n") == 2 }, "the first look")
			after := strings.Replace(recorded(t, "dependencies"), `"version": 12,`, `"version": 13,`, 1)
			after = strings.Replace(after, `"state": "half-open"`, `"state": "closed"`, 1)
			g.answer("GET", "/dependencies", 200, after)
			close(changed)
			eventually.True(t, patience, func() bool { return strings.Count(w.stdout.String(), "\n") == 3 }, "the change")
			w.end(t)
			golden(t, "status-watch-"+form+".txt", w.stdout.String())
		})
	}
}

// A gateway that is away for a while is said once, and that it is back.
func TestStatusWatchOutlivesTheGateway(t *testing.T) {
	g := newFakeGateway(t)
	w := watch(t, "status", "-w")
	eventually.True(t, patience, func() bool { return strings.Contains(w.stdout.String(), "bank") }, "the first look")
	var looks atomic.Int64
	g.handle("GET", "/dependencies", func(w http.ResponseWriter, _ *http.Request) {
		looks.Add(1)
		w.Header().Set("Content-Type", "application/problem+json")
		w.WriteHeader(http.StatusInternalServerError)
		_, _ = io.WriteString(w, `{"detail":"it broke"}`)
	})
	eventually.True(t, patience, func() bool { return looks.Load() > 2 }, "some looks")
	if !strings.Contains(w.stderr.String(), "it broke; trying again") {
		t.Errorf("said %s", w.stderr.String())
	}
	g.answer("GET", "/dependencies", 200, recorded(t, "dependencies"))
	eventually.True(t, patience, func() bool { return strings.Contains(w.stderr.String(), "answers again") }, "the return")
	if n := strings.Count(w.stderr.String(), "\n"); n != 2 {
		t.Errorf("said %d lines:\n%s", n, w.stderr.String())
	}
	w.end(t)
}

func TestRedraw(t *testing.T) {
	newFakeGateway(t)
	var stdout bytes.Buffer
	p := program{stdout: &stdout}
	s := statusRun{printing: printing{form: formTable, colour: "never"}}
	api, err := s.open()
	if err != nil {
		t.Fatal(err)
	}
	seen, err := look(t.Context(), api)
	if err != nil {
		t.Fatal(err)
	}
	if err := p.redraw(s, seen, view{width: 60, height: 6}); err != nil {
		t.Fatal(err)
	}
	screen := strings.NewReplacer("\x1b[H", "", "\x1b[K", "", "\x1b[J", "").Replace(stdout.String())
	golden(t, "status-screen.txt", screen)
	for line := range strings.SplitSeq(screen, "\n") {
		if n := len([]rune(line)); n > 60 {
			t.Errorf("%d columns: %s", n, line)
		}
	}
	if n := strings.Count(screen, "\n"); n > 6 {
		t.Errorf("%d lines on a screen of 6", n)
	}
}

// The JSON is the gateway's own, to the last field.
func TestStatusJSONIsWhole(t *testing.T) {
	newFakeGateway(t)
	var got, want any
	if err := json.Unmarshal([]byte(run(t, "status", "-o", "json").stdout), &got); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal([]byte(recorded(t, "dependencies")), &want); err != nil {
		t.Fatal(err)
	}
	a, _ := json.Marshal(got)
	b, _ := json.Marshal(want)
	if !bytes.Equal(a, b) {
		t.Errorf("got\n%s\nwant\n%s", a, b)
	}
}

// In shadow mode nothing is cut off: neither words nor the exit code say it is.
func TestStatusOfShadow(t *testing.T) {
	g := newFakeGateway(t)
	g.answer("GET", "/dependencies", 200, `{"dependencies":[{"id":"a","state":"open","shadow":true,"effect":"would be cut off (shadow: calls pass)"},
		{"id":"b","state":"isolated","shadow":true,"effect":"cut off by hand","override":{}}]}`)
	if r := run(t, "status", "a", "--exit-code"); r.code != exitGood || !strings.Contains(r.stdout, "open: would be cut off (shadow: calls pass)") {
		t.Errorf("%+v", r)
	}
	if r := run(t, "status", "a", "--color", "always"); strings.Contains(r.stdout, "\x1b["+red+"m") {
		t.Errorf("red, though calls pass: %q", r.stdout)
	}
	if r := run(t, "status", "b", "--exit-code"); r.code != exitCutOff {
		t.Errorf("isolated: %+v", r)
	}
	g.answer("GET", "/events", 200, `{"events":[{"id":1,"kind":"transition","dependency":"a","from":"closed","to":"open","shadow":true,"text":"a: closed -> open (run): 5 bad calls in a row; shadow: calls pass"}]}`)
	if r := run(t, "events", "--color", "always"); r.code != exitGood || strings.Contains(r.stdout, "\x1b["+red+"m") || !strings.Contains(r.stdout, "shadow: calls pass") {
		t.Errorf("events: %+v", r)
	}
}

// How long an outage lasts is told whole, however many trials have failed in it.
func TestStatusSaysHowLongAnOutageLasts(t *testing.T) {
	g := newFakeGateway(t)
	for state, want := range map[string]string{"open": "1 h", "half-open": "1 h", "isolated": "1 min"} {
		g.answer("GET", "/dependencies", 200, `{"dependencies":[{"id":"a","state":"`+state+`","effect":"x","since":"2026-11-30T08:59:00Z","cut_off_since":"2026-11-30T08:00:00Z"}]}`)
		if r := run(t, "status"); !strings.Contains(r.stdout, ": x  "+want+" ") {
			t.Errorf("%s: want %s:\n%s", state, want, r.stdout)
		}
	}
}
