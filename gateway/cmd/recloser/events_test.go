package main

import (
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/recloser-go/recloser/internal/eventually"
)

func TestEventsOutputs(t *testing.T) {
	g := newFakeGateway(t)
	for name, args := range map[string][]string{
		"events.txt":        {"events"},
		"events.json":       {"events", "-o", "json"},
		"events-colour.txt": {"events", "--color", "always"},
	} {
		r := run(t, args...)
		if r.code != exitGood || r.stderr != "" {
			t.Errorf("%q: exit code %d, %s", args, r.code, r.stderr)
		}
		golden(t, name, r.stdout)
	}
	run(t, "events", "--dependency", "a b", "--kind", "act", "-n", "7", "--since", "2027-01-31T18:00:00+02:00")
	if got, want := g.asked[len(g.asked)-1].uri, "/api/v1/events?dependency=a+b&kind=act&limit=7&since=2027-01-31T16%3A00%3A00Z"; got != want {
		t.Errorf("asked for\n%s\nwant\n%s", got, want)
	}
	for _, c := range []struct{ args, said string }{
		{"--kind acts", `--kind is transition, probe, act, gateway or maintenance, not "acts"`},
		{"--since yesterday", "--since is how long ago"},
		{"-n 0", "--limit is 1 or more"},
		{"-f -o yaml", "--follow writes lines"},
	} {
		if r := run(t, append([]string{"events"}, strings.Fields(c.args)...)...); r.code != exitUsage || !strings.Contains(r.stderr, c.said) {
			t.Errorf("%s: %+v", c.args, r)
		}
	}
}

// More than the API gives at once is asked for page by page.
func TestEventsPages(t *testing.T) {
	g := newFakeGateway(t)
	g.handle("GET", "/events", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		if r.URL.Query().Get("before") == "" {
			_, _ = io.WriteString(w, `{"events":[{"id":9,"kind":"act","text":"nine"},{"id":8,"kind":"act","text":"eight"}],"next":8}`)
			return
		}
		_, _ = io.WriteString(w, `{"events":[{"id":7,"kind":"act","text":"seven"}],"next":0}`)
	})
	r := run(t, "events", "-n", "1003", "--since", "1d", "-o", "json")
	if ids := regexp.MustCompile(`"id": .`).FindAllString(r.stdout, -1); strings.Join(ids, " ") != `"id": 7 "id": 8 "id": 9` {
		t.Errorf("%q:\n%s", ids, r.stdout)
	}
	if r := run(t, "events", "-n", "2", "--since", "1d"); !strings.Contains(r.stderr, "These are the latest 2; raise --limit for more.") {
		t.Errorf("said %q", r.stderr)
	}
}

func TestEventsFollow(t *testing.T) {
	g := newFakeGateway(t)
	streams := 0
	g.handle("GET", "/stream", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		streams++
		_, _ = io.WriteString(w, "event: dependencies\ndata: {\"dependencies\":[]}\n\n")
		_, _ = fmt.Fprintf(w, "id: %d\nevent: act\ndata: {\"id\":%[1]d,\"kind\":\"act\",\"text\":\"seen already\"}\n\n", 43+2*streams)
		if r.Header.Get("Last-Event-ID") == "45" {
			_, _ = io.WriteString(w, `id: 46
event: probe
data: {"id":46,"at":"2026-11-30T09:00:01Z","kind":"probe","dependency":"hotel-2","text":"probe good"}

id: 47
event: act
data: {"id":47,"at":"2026-11-30T09:00:02Z","kind":"act","dependency":"hotel-2","to":"isolated","text":"isolated by kim"}

event: dependency
data: {"id":"hotel-2","state":"isolated"}

`)
			return // and the connection breaks
		}
		_, _ = io.WriteString(w, "id: 48\nevent: act\ndata: {\"id\":48,\"at\":\"2026-11-30T09:00:03Z\",\"kind\":\"act\",\"text\":\"released by kim\"}\n\n")
		w.(http.Flusher).Flush()
		<-r.Context().Done()
	})
	w := watch(t, "events", "-f", "--kind", "act")
	eventually.True(t, patience, func() bool { return strings.Contains(w.stdout.String(), "released") }, "the last event")
	w.end(t)
	golden(t, "events-follow.txt", w.stdout.String())
	if n := strings.Count(w.stderr.String(), "trying again"); n != 1 || streams != 2 {
		t.Errorf("%d streams, said\n%s", streams, w.stderr.String())
	}
}

// Each line begins with whose it is, also if the id is part of something else in it.
func TestEventsNameTheirDependency(t *testing.T) {
	g := newFakeGateway(t)
	g.answer("GET", "/events", 200, `{"events":[
		{"id":4,"kind":"probe","dependency":"beacon","text":"its probe is bad: guests.beacon.example is not known"},
		{"id":3,"kind":"probe","dependency":"bea","text":"beacon answers again, and they were cut off together"},
		{"id":2,"kind":"transition","dependency":"beacon","text":"beacon, key p7: open -> closed"},
		{"id":1,"kind":"act","dependency":"beacon","text":"beacon was added"}],"next":0}`)
	r := run(t, "events")
	for i, line := range strings.Split(strings.TrimSpace(r.stdout), "\n") {
		want := []string{"beacon was", "beacon, key", "bea: beacon answers", "beacon: its probe"}[i]
		if !strings.Contains(line, "  "+want) {
			t.Errorf("%q does not begin with %q", line, want)
		}
	}
}
