package main

import (
	"encoding/json"
	"net/http"
	"os/user"
	"strings"
	"testing"
	"time"
)

func me(t *testing.T) string {
	t.Helper()
	u, err := user.Current()
	if err != nil {
		t.Fatal(err)
	}
	return u.Username
}

// one is a dependency of the recorded answers, as the API answers an act on it.
func one(t *testing.T, id string) string {
	t.Helper()
	var all struct{ Dependencies []json.RawMessage }
	if err := json.Unmarshal([]byte(recorded(t, "dependencies")), &all); err != nil {
		t.Fatal(err)
	}
	for _, d := range all.Dependencies {
		if strings.Contains(string(d), `"id": "`+id+`"`) {
			return string(d)
		}
	}
	t.Fatalf("no dependency %s", id)
	return ""
}

func TestActs(t *testing.T) {
	who := me(t)
	const override = "/dependencies/hotel-4/override"
	for name, c := range map[string]struct {
		args         []string
		method, path string
		query, body  string // with ME for who acts
	}{
		"isolate":          {[]string{"isolate", "hotel-4", "--for", "1h", "--reason", "a b"}, "PUT", override, "", `{"mode":"isolated","for":"1h0m0s","reason":"a b","by":"ME"}`},
		"days":             {[]string{"isolate", "hotel-4", "--for", "90d", "--reason", "x"}, "PUT", override, "", `{"mode":"isolated","for":"2160h0m0s","reason":"x","by":"ME"}`},
		"until":            {[]string{"hold", "hotel-4", "--until", "2027-01-31T18:00:00+02:00", "--reason", "x"}, "PUT", override, "", `{"mode":"held-closed","until":"2027-01-31T18:00:00+02:00","reason":"x","by":"ME"}`},
		"no end":           {[]string{"hold", "hotel-4", "--no-expiry", "--reason", "x", "--if-version", "0"}, "PUT", override, "", `{"mode":"held-closed","no_expiry":true,"reason":"x","by":"ME","if_version":0}`},
		"release":          {[]string{"release", "hotel-4", "--reason", "a b"}, "DELETE", override, "?by=ME&reason=a+b", ""},
		"release, version": {[]string{"release", "hotel-4", "--reason", "x", "--if-version", "3"}, "DELETE", override, "?by=ME&if_version=3&reason=x", ""},
		"reset":            {[]string{"reset", "hotel-4", "--reason", "x"}, "POST", "/dependencies/hotel-4/reset", "", `{"reason":"x","by":"ME"}`},
		"trial":            {[]string{"trial", "hotel-4", "--reason", "x", "--if-version", "3"}, "POST", "/dependencies/hotel-4/trial", "", `{"reason":"x","by":"ME","if_version":3}`},
	} {
		t.Run(name, func(t *testing.T) {
			g := newFakeGateway(t)
			g.answer(c.method, c.path, 200, one(t, "hotel-4"))
			r := run(t, c.args...)
			acts := g.acts()
			if r.code != exitGood || len(acts) != 1 {
				t.Fatalf("exit code %d, %d acts: %s", r.code, len(acts), r.stderr)
			}
			if !strings.Contains(r.stdout, "hotel-4     isolated: cut off by hand") && !strings.Contains(r.stdout, "hotel-4     isolated") {
				t.Errorf("said\n%s", r.stdout)
			}
			a := acts[0]
			mine := func(s string) string { return strings.ReplaceAll(s, "ME", who) }
			if a.method != c.method || a.uri != "/api/v1"+c.path+mine(c.query) || a.body != mine(c.body) || len(a.key) < 20 {
				t.Errorf("asked %+v, want %s %s%s %s", a, c.method, c.path, c.query, c.body)
			}
			if words := "It has no end"; strings.Contains(r.stderr, words) != (name == "no end") {
				t.Errorf("on stderr: %s", r.stderr)
			}
		})
	}
}

func TestActsThatAreNotDone(t *testing.T) {
	for name, c := range map[string]struct {
		args []string
		code int
		said string
	}{
		"of nothing":        {[]string{"isolate", "--for", "1h", "--reason", "x"}, exitUsage, "isolate what? Name a dependency or a --group"},
		"for how long":      {[]string{"isolate", "hotel-1", "--reason", "x"}, exitUsage, "say how long: --for 1h, --until 18:00, or --no-expiry"},
		"twice":             {[]string{"hold", "hotel-1", "--for", "1h", "--no-expiry", "--reason", "x"}, exitUsage, "give one of --for, --until and --no-expiry"},
		"without a reason":  {[]string{"isolate", "hotel-1", "--for", "1h"}, exitUsage, "say why: --reason"},
		"an empty reason":   {[]string{"reset", "hotel-1", "--reason", " "}, exitUsage, "say why: --reason"},
		"a wrong time":      {[]string{"isolate", "hotel-1", "--for", "1x", "--reason", "x"}, exitUsage, `--for is a time such as 45m, 1h30m or 90d, not "1x"`},
		"a wrong end":       {[]string{"isolate", "hotel-1", "--until", "soon", "--reason", "x"}, exitUsage, "--until is a time such as 18:00"},
		"unknown":           {[]string{"isolate", "hotl-1", "--for", "1h", "--reason", "x"}, exitNotFound, `no dependency "hotl-1"; did you mean "hotel-1"?`},
		"one of two":        {[]string{"isolate", "hotel-1", "hotl-2", "--for", "1h", "--reason", "x"}, exitNotFound, `no dependency "hotl-2"`},
		"a group as an id":  {[]string{"isolate", "coast", "--for", "1h", "--reason", "x"}, exitNotFound, `no dependency "coast"`},
		"unknown group":     {[]string{"isolate", "--group", "cost", "--for", "1h", "--reason", "x"}, exitNotFound, `no group "cost"; did you mean "coast"?`},
		"nothing fits":      {[]string{"isolate", "motel-*", "--for", "1h", "--reason", "x"}, exitNotFound, `no dependency "motel-*"`},
		"no pattern":        {[]string{"isolate", "hotel-[", "--for", "1h", "--reason", "x"}, exitUsage, `"hotel-[" is no pattern`},
		"version of two":    {[]string{"reset", "hotel-1", "hotel-2", "--if-version", "3", "--reason", "x"}, exitUsage, "--if-version is the version of one dependency, not of 2"},
		"version below all": {[]string{"reset", "hotel-1", "--if-version", "-3", "--reason", "x"}, exitUsage, "invalid argument"},
		"another output":    {[]string{"reset", "hotel-1", "-o", "xml", "--reason", "x"}, exitUsage, "--output is"},
	} {
		t.Run(name, func(t *testing.T) {
			g := newFakeGateway(t)
			r := run(t, c.args...)
			if r.code != c.code || !strings.Contains(r.stderr, c.said) || r.stdout != "" {
				t.Errorf("exit code %d, want %d: %s%s", r.code, c.code, r.stdout, r.stderr)
			}
			if acts := g.acts(); len(acts) > 0 {
				t.Errorf("done: %+v", acts)
			}
		})
	}
}

// Whoever sits at a terminal is asked for what is missing, and for nothing else.
func TestActsAsk(t *testing.T) {
	for name, c := range map[string]struct {
		args        []string
		stdin       string
		code        int
		asked, body string
	}{
		"both":           {[]string{"isolate", "hotel-4"}, "2h\nthey asked for it\n", exitGood, "For how long (such as 45m, 2h, 90d; none: until it is released)? Why? ", `"for":"2h0m0s","reason":"they asked for it"`},
		"no end":         {[]string{"isolate", "hotel-4", "--reason", "x"}, "none\n", exitGood, "For how long", `"no_expiry":true,"reason":"x"`},
		"why alone":      {[]string{"isolate", "hotel-4", "--for", "1h"}, "x", exitGood, "Why? ", `"for":"1h0m0s","reason":"x"`},
		"nothing":        {[]string{"isolate", "hotel-4", "--for", "1h", "--reason", "x"}, "", exitGood, "", `"for":"1h0m0s","reason":"x"`},
		"no answer":      {[]string{"isolate", "hotel-4"}, "\n", exitUsage, "no answer: nothing is done", ""},
		"gone":           {[]string{"isolate", "hotel-4", "--for", "1h"}, "", exitUsage, "no answer: nothing is done", ""},
		"no time at all": {[]string{"isolate", "hotel-4"}, "a while\n", exitUsage, `not "a while"`, ""},
	} {
		t.Run(name, func(t *testing.T) {
			g := newFakeGateway(t)
			g.answer("PUT", "/dependencies/hotel-4/override", 200, one(t, "hotel-4"))
			r := runAsked(t, c.stdin, true, c.args...)
			if r.code != c.code || !strings.Contains(r.stderr, c.asked) || c.asked == "" && r.stderr != "" {
				t.Errorf("exit code %d, want %d: %s", r.code, c.code, r.stderr)
			}
			acts := g.acts()
			if c.body == "" && len(acts) > 0 || c.body != "" && (len(acts) != 1 || !strings.Contains(acts[0].body, c.body)) {
				t.Errorf("done: %+v, want %s", acts, c.body)
			}
		})
	}
}

func TestActsOnSeveral(t *testing.T) {
	for name, c := range map[string]struct {
		args []string
		want string
	}{
		"ids, each once": {[]string{"hotel-3", "hotel-1", "hotel-3"}, "hotel-1 hotel-3"},
		"a pattern":      {[]string{"hotel-[12]"}, "hotel-1 hotel-2"},
		"a group":        {[]string{"--group", "mountain"}, "hotel-3 hotel-4"},
		"all of that":    {[]string{"bank", "*-5", "--group", "coast", "--group", "mountain"}, "hotel-1 hotel-2 hotel-3 hotel-4 hotel-5 bank"},
	} {
		t.Run(name, func(t *testing.T) {
			g := newFakeGateway(t)
			for id := range strings.FieldsSeq("hotel-1 hotel-2 hotel-3 hotel-4 hotel-5 bank") {
				g.answer("POST", "/dependencies/"+id+"/reset", 200, one(t, id))
			}
			args := append([]string{"reset", "--reason", "x"}, c.args...)
			dry := run(t, append(args, "--dry-run", "-o", "name")...)
			if dry.code != exitGood || strings.Join(strings.Fields(dry.stdout), " ") != c.want || !strings.HasPrefix(dry.stderr, "Nothing is changed. This would reset ") {
				t.Errorf("dry run: %+v, want %s", dry, c.want)
			}
			if acts := g.acts(); len(acts) > 0 {
				t.Errorf("a dry run did %+v", acts)
			}
			r := run(t, append(args, "-o", "name")...)
			if r.code != exitGood || strings.Join(strings.Fields(r.stdout), " ") != c.want {
				t.Errorf("%+v, want %s", r, c.want)
			}
		})
	}
}

// One that fails keeps nobody else from being cut off, and is told in the end.
func TestActsGoOn(t *testing.T) {
	g := newFakeGateway(t)
	g.answer("POST", "/dependencies/hotel-1/trial", 409, `{"detail":"hotel-1 is not open but closed: there is nothing to try"}`)
	g.answer("POST", "/dependencies/hotel-2/trial", 200, one(t, "hotel-2"))
	r := run(t, "trial", "--group", "coast", "--reason", "x")
	if r.code != exitChanged || r.stderr != "recloser: hotel-1: hotel-1 is not open but closed: there is nothing to try\n" || !strings.Contains(r.stdout, "hotel-2") {
		t.Errorf("%+v", r)
	}
	if r := run(t, "trial", "hotel-1", "--reason", "x"); r.code != exitChanged || r.stderr != "recloser: hotel-1 is not open but closed: there is nothing to try\n" {
		t.Errorf("%+v", r)
	}
	g.answer("POST", "/dependencies/hotel-2/trial", 403, `{"detail":"a viewer may not"}`)
	if r := run(t, "trial", "hotel-2", "--reason", "x"); r.code != exitNotAllowed {
		t.Errorf("%+v", r)
	}
}

// A connection that breaks in the middle of an act makes it neither twice nor lost.
func TestActOnABrokenConnection(t *testing.T) {
	g := newFakeGateway(t)
	first := true
	g.handle("PUT", "/dependencies/hotel-4/override", func(w http.ResponseWriter, r *http.Request) {
		if first {
			first = false
			panic(http.ErrAbortHandler)
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(one(t, "hotel-4")))
	})
	r := run(t, "isolate", "hotel-4", "--for", "1h", "--reason", "x")
	acts := g.acts()
	if r.code != exitGood || len(acts) != 2 || acts[0].key != acts[1].key {
		t.Errorf("%+v: %+v", r, acts)
	}
}

func TestLength(t *testing.T) {
	for text, want := range map[string]time.Duration{
		"45m": 45 * time.Minute, "1h30m": 90 * time.Minute, "90d": 90 * 24 * time.Hour, "1d12h": 36 * time.Hour, "0d1s": time.Second,
		"": 0, "0": 0, "0d": 0, "0s": 0, "-1h": 0, "-1d": 0, "1": 0, "d": 0, "1dx": 0, "1.5d": 0, "99999d": 0, "99999999999h": 0, "1d-1h": 0, "1d1d": 0,
	} {
		got, err := length("for", text)
		if got != want || (err == nil) != (want > 0) {
			t.Errorf("%q: %s, %v; want %s", text, got, err, want)
		}
	}
}

func TestMoment(t *testing.T) {
	zone := time.FixedZone("", 3600)
	now := time.Date(2026, 11, 30, 17, 0, 0, 0, zone)
	for text, want := range map[string]string{
		"18:00": "2026-11-30T18:00:00+01:00", "17:00": "2026-12-01T17:00:00+01:00", "09:30": "2026-12-01T09:30:00+01:00",
		"2027-01-31T18:00": "2027-01-31T18:00:00+01:00", "2027-01-31 18:00": "2027-01-31T18:00:00+01:00",
		"2027-01-31T18:00:00Z": "2027-01-31T18:00:00Z", "9999-12-31T23:59:59Z": "9999-12-31T23:59:59Z",
	} {
		if got, err := moment("until", text, now); err != nil || got.Format(time.RFC3339) != want {
			t.Errorf("%q: %s, %v; want %s", text, got.Format(time.RFC3339), err, want)
		}
	}
	for _, text := range []string{"", "25:00", "tomorrow", "2027-02-30T18:00", "9999-12-31T23:59:59-01:00"} {
		if got, err := moment("until", text, now); err == nil {
			t.Errorf("%q: %s", text, got)
		}
	}
}

// All that is missing is told at once.
func TestActsSayAllThatIsMissing(t *testing.T) {
	newFakeGateway(t)
	r := run(t, "isolate", "hotel-1")
	if r.code != exitUsage || !strings.Contains(r.stderr, "--for 1h") || !strings.Contains(r.stderr, "--reason") {
		t.Errorf("%+v", r)
	}
	for args, want := range map[string]string{
		"hold hotel-1":         "would hold 1 dependency, which is now:",
		"hold hotel-1 hotel-2": "would hold 2 dependencies, which are now:",
	} {
		if r := run(t, append(strings.Fields(args), "--for", "1h", "--reason", "x", "--dry-run")...); !strings.Contains(r.stderr, want) {
			t.Errorf("%s: %+v", args, r)
		}
	}
}
