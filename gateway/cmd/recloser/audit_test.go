package main

import (
	"strings"
	"testing"
)

// Who did what is one command away, with why and until when.
func TestAudit(t *testing.T) {
	g := newFakeGateway(t)
	g.answer("GET", "/audit", 200, `{"acts":[
		{"id":9,"at":"2026-11-30T08:59:00Z","name":"release","target":"hotel-3","by":"kim","result":"done"},
		{"id":8,"at":"2026-11-30T08:58:00Z","name":"override isolated","by":"ines","reason":"database","until":"2026-11-30T10:00:00Z","dependencies":["hotel-1","hotel-2"],"result":"failed"}],"next":0}`)
	r := run(t, "audit", "--target", "hotel-3", "--by", "kim", "-n", "7", "--since", "2027-01-31T18:00:00+02:00")
	if got, want := g.asked[len(g.asked)-1].uri, "/api/v1/audit?by=kim&limit=7&since=2027-01-31T16%3A00%3A00Z&target=hotel-3"; got != want {
		t.Errorf("asked for\n%s\nwant\n%s", got, want)
	}
	const want = `AT                    BY    DID                         ON                UNTIL                 REASON
2026-11-30T08:58:00Z  ines  override isolated (failed)  hotel-1, hotel-2  2026-11-30T10:00:00Z  database
2026-11-30T08:59:00Z  kim   release                     hotel-3
`
	if r.code != exitGood || r.stdout != want || r.stderr != "" {
		t.Errorf("%+v\nwant\n%s", r, want)
	}
	if r := run(t, "audit", "-n", "0"); r.code != exitUsage || !strings.Contains(r.stderr, "--limit is 1 or more") {
		t.Errorf("%+v", r)
	}
	if r := run(t, "audit", "-o", "json"); !strings.Contains(r.stdout, `"acts": [`) {
		t.Errorf("%+v", r)
	}
}
