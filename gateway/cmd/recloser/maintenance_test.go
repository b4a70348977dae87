package main

import (
	"strings"
	"testing"
	"time"
)

func TestMaintenanceList(t *testing.T) {
	newFakeGateway(t)
	for name, args := range map[string][]string{
		"maintenance.txt":      {"maintenance", "list"},
		"maintenance.yaml":     {"maintenance", "list", "-o", "yaml"},
		"maintenance-name.txt": {"maintenance", "list", "-o", "name"},
	} {
		r := run(t, args...)
		if r.code != exitGood || r.stderr != "" {
			t.Errorf("%q: exit code %d, %s", args, r.code, r.stderr)
		}
		golden(t, name, r.stdout)
	}
}

func TestMaintenanceAdd(t *testing.T) {
	who := me(t)
	for name, c := range map[string]struct{ args, body string }{
		"once": {
			"hotel-3 hotel-4 --from 2027-01-31T22:00:00Z --for 2h --reason x",
			`{"name":"x","dependencies":["hotel-3","hotel-4"],"from":"2027-01-31T22:00:00Z","to":"2027-02-01T00:00:00Z","effect":"cut-off","reason":"x","by":"ME"}`,
		},
		"until, in messages alone": {
			"--group coast --label region=north --from 2027-01-31T22:00:00+01:00 --until 2027-02-01T04:00:00+01:00 --no-messages --name n --reason x",
			`{"name":"n","groups":["coast"],"labels":{"region":"north"},"from":"2027-01-31T21:00:00Z","to":"2027-02-01T03:00:00Z","effect":"no-messages","reason":"x","by":"ME"}`,
		},
		"calendar": {
			"hotel-3 --days fri-mon,wed --from 03:00 --for 90m --zone Europe/Berlin --until 2027-12-31T00:00:00Z --reason x",
			`{"name":"x","dependencies":["hotel-3"],"to":"2027-12-31T00:00:00Z","calendar":{"days":["fri","sat","sun","mon","wed"],"from":"03:00","for":"1h30m0s","zone":"Europe/Berlin"},"effect":"cut-off","reason":"x","by":"ME"}`,
		},
		"daily": {
			"hotel-3 --days daily --from 03:00 --for 1m --reason x",
			`{"name":"x","dependencies":["hotel-3"],"calendar":{"days":["mon","tue","wed","thu","fri","sat","sun"],"from":"03:00","for":"1m0s","zone":"UTC"},"effect":"cut-off","reason":"x","by":"ME"}`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			g := newFakeGateway(t)
			g.answer("POST", "/maintenance", 201, `{"id":"k3v7q2ab","name":"x","dependencies":["hotel-3"],"from":"2027-01-31T22:00:00Z","to":"2027-02-01T00:00:00Z","effect":"cut-off","reason":"x","by":"kim"}`)
			r := run(t, append([]string{"maintenance", "add"}, strings.Fields(c.args)...)...)
			acts := g.acts()
			if r.code != exitGood || !strings.Contains(r.stdout, "k3v7q2ab") || len(acts) != 1 {
				t.Fatalf("%+v: %+v", r, acts)
			}
			if want := strings.ReplaceAll(c.body, "ME", who); acts[0].body != want {
				t.Errorf("sent\n%s\nwant\n%s", acts[0].body, want)
			}
		})
	}
	g := newFakeGateway(t)
	for args, said := range map[string]string{
		"--for 1h --reason x":                            "maintenance of what?",
		"a --for 1h":                                     "say why",
		"a --reason x":                                   "say once how long",
		"a --reason x --for 1h --until 18:00":            "say once how long",
		"a --reason x --days someday --from 3:00":        `not "someday"`,
		"a --reason x --days mon --for 1h":               "--from is the time of day",
		"a --reason x --days mon --from 03:00":           "--for is a time",
		"a --reason x --days mon --from 25:00 --for 1h":  "--from is the time of day",
		"a --reason x --from never --for 1h":             "--from is a time",
		"a --reason x --label region --for 1h":           "region must be formatted as key=value",
		"a --reason x --days mon- --from 03:00 --for 1h": `not "mon-"`,
	} {
		if r := run(t, append([]string{"maintenance", "add"}, strings.Fields(args)...)...); r.code != exitUsage || !strings.Contains(r.stderr, said) {
			t.Errorf("%s: %+v", args, r)
		}
	}
	r := run(t, "maintenance", "add", "--group", "cost", "--group", "*", "--for", "1h", "--reason", "x")
	if r.code != exitNotFound || !strings.Contains(r.stderr, `no group "cost"; did you mean "coast"?`) {
		t.Errorf("%+v", r)
	}
	if acts := g.acts(); len(acts) > 0 {
		t.Errorf("done: %+v", acts)
	}
}

// A label may be given later; that it concerns nobody now is said.
func TestMaintenanceOfNobody(t *testing.T) {
	g := newFakeGateway(t)
	for covers, said := range map[string]string{`[]`: "No dependency belongs to it as things are.\n", `["hotel-1"]`: ""} {
		g.answer("POST", "/maintenance", 201, `{"id":"k3v7q2ab","name":"x","labels":{"a":"b"},"to":"2027-02-01T00:00:00Z","effect":"cut-off","covers":`+covers+`}`)
		r := run(t, "maintenance", "add", "--group", "*", "--label", "a=b", "--for", "1h", "--reason", "x")
		if r.code != exitGood || r.stderr != said {
			t.Errorf("covers %s: %+v", covers, r)
		}
	}
}

// The minute that runs is today's.
func TestMaintenanceFromATimeOfDay(t *testing.T) {
	for now, want := range map[string]string{
		"06:49:59": "2026-11-30T06:50:00Z", "06:50:00": "2026-11-30T06:50:00Z", "06:50:59": "2026-11-30T06:50:00Z", "06:51:00": "2026-12-01T06:50:00Z",
	} {
		at, err := time.Parse(time.DateTime, "2026-11-30 "+now)
		if err != nil {
			t.Fatal(err)
		}
		m := maintenanceRun{ids: []string{"a"}, reason: "x", from: "06:50", length: "1h"}
		w, err := m.request(at)
		if err != nil || w.From.Format(time.RFC3339) != want || w.To.Sub(*w.From) != time.Hour {
			t.Errorf("at %s: %v: from %v to %v, want %s", now, err, w.From, w.To, want)
		}
	}
}

// What begins now and ends at a time of day that is over for today ends tomorrow.
func TestMaintenanceUntilATimeOfDay(t *testing.T) {
	now := time.Date(2026, 11, 30, 22, 30, 0, 0, time.UTC)
	m := maintenanceRun{ids: []string{"a"}, reason: "x", until: "06:00"}
	w, err := m.request(now)
	if err != nil || w.From != nil || w.To.Format(time.RFC3339) != "2026-12-01T06:00:00Z" {
		t.Errorf("%v: from %v to %v", err, w.From, w.To)
	}
}

func TestMaintenanceEnd(t *testing.T) {
	g := newFakeGateway(t)
	g.answer("DELETE", "/maintenance/k3v7q2ab", 204, "")
	if r := run(t, "maintenance", "end", "k3v7q2ab", "--reason", "early"); r.code != exitGood || r.stderr != "Maintenance k3v7q2ab is over.\n" || r.stdout != "" {
		t.Errorf("%+v", r)
	}
	if got, want := g.acts()[0].uri, "/api/v1/maintenance/k3v7q2ab?by="+me(t)+"&reason=early"; got != want {
		t.Errorf("asked for %s, want %s", got, want)
	}
	if r := run(t, "maintenance", "end", "x"); r.code != exitNotFound {
		t.Errorf("%+v", r)
	}
	if r := run(t, "maintenance", "end"); r.code != exitUsage || !strings.Contains(r.stderr, "see recloser maintenance list") {
		t.Errorf("%+v", r)
	}
}
