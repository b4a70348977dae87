package demo

import (
	"slices"
	"testing"
	"time"

	"github.com/recloser-go/recloser"
)

func TestCrowdAt(t *testing.T) {
	sec := time.Second
	book := []visit{
		{start: 1 * sec, end: 3 * sec, result: answered},
		{start: 2 * sec, end: 2 * sec, result: refused}, // at once: never seen waiting
		{start: 2 * sec, result: waiting},
		{start: 9 * sec, result: waiting}, // after all times
	}
	times := []time.Duration{0, 1 * sec, 2 * sec, 3 * sec, 4 * sec}
	want := []int{0, 1, 2, 1, 1}
	if got := crowdAt(book, times); !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

func TestViewOf(t *testing.T) {
	now := 10 * time.Second
	book := []visit{
		{start: 0, end: 30 * ms, result: answered},
		{start: 0, end: 1200 * ms, result: refused},
		{start: 0, end: 2 * time.Second, result: failed},
		{start: 8500 * ms, result: waiting},
		{start: 9900 * ms, result: waiting},
		{ask: true, start: 0, end: 30 * ms, result: yes},
		{ask: true, start: 0, end: 30 * ms, result: no},
		{ask: true, start: 0, end: 1500 * ms, result: unknown},
	}
	got := viewOf(book, now)
	got.crowd = nil
	want := laneView{
		waiting: 2, longest: 1500 * ms, overLong: 4,
		letIn: 1, refused: 1, failed: 1, yes: 1, no: 1, unknown: 1,
	}
	if !equalViews(got, want) {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

func equalViews(a, b laneView) bool {
	return slices.Equal(a.hotels, b.hotels) && slices.Equal(a.crowd, b.crowd) &&
		a.waiting == b.waiting && a.longest == b.longest && a.overLong == b.overLong &&
		a.letIn == b.letIn && a.refused == b.refused && a.failed == b.failed &&
		a.yes == b.yes && a.no == b.no && a.unknown == b.unknown
}

func TestGuardedRow(t *testing.T) {
	now := time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
	slowRun := recloser.Transition{Reason: recloser.ReasonRun, Counts: recloser.Counts{Good: 90, Slow: 6, Run: 6}}
	failing := recloser.Transition{Reason: recloser.ReasonRate, Counts: recloser.Counts{Good: 9, Failed: 11}}
	tests := []struct {
		name  string
		stats recloser.Stats
		trip  recloser.Transition
		want  row
	}{
		{
			"well",
			recloser.Stats{Name: "hotel-3"},
			recloser.Transition{},
			row{"closed", markWell, good, "hotel-3", "closed: passing", ""},
		},
		{
			"cut off",
			recloser.Stats{Name: "hotel-3", State: recloser.Open, Until: now.Add(1240 * ms)},
			slowRun,
			row{"open", markCutOff, bad, "hotel-3", "open: cut off, next trial in 1.2 s", "6 calls in a row too slow"},
		},
		{
			"cut off, the trial is due",
			recloser.Stats{Name: "hotel-5", State: recloser.Open, Until: now.Add(-ms)},
			failing,
			row{"open", markCutOff, bad, "hotel-5", "open: cut off, next trial in 0.0 s", "11 of 20 calls failed"},
		},
		{
			"on trial",
			recloser.Stats{Name: "hotel-3", State: recloser.HalfOpen},
			slowRun,
			row{"half-open", markTrial, trying, "hotel-3", "half-open: on trial by one guest", "6 calls in a row too slow"},
		},
		{
			"just back",
			recloser.Stats{Name: "hotel-3", RampLimit: 3},
			slowRun,
			row{"closed", markWell, good, "hotel-3", "closed: passing", "slow start after the outage"},
		},
		{
			"by hand",
			recloser.Stats{Name: "hotel-3", State: recloser.Isolated},
			slowRun,
			row{"isolated", markTrouble, trying, "hotel-3", "isolated: cut off by hand", "set by hand"},
		},
	}
	for _, tt := range tests {
		if got := guardedRow(tt.stats, tt.trip, now); got != tt.want {
			t.Errorf("%s: got %+v, want %+v", tt.name, got, tt.want)
		}
	}
}

func TestDirectRow(t *testing.T) {
	now := 10 * time.Second
	lasts := outage{begun: true, from: 5 * time.Second}
	hung := []visit{
		{hotel: 3, start: 7 * time.Second, result: waiting},
		{hotel: 3, start: 9 * time.Second, result: waiting},
		{hotel: 3, ask: true, start: 6 * time.Second, result: waiting}, // not its own guest
		{hotel: 4, start: 6 * time.Second, result: waiting},
	}
	failing := func(hotel int) []visit {
		return []visit{
			{hotel: hotel, start: 9500 * ms, end: 9530 * ms, result: failed},
			{hotel: hotel, start: 8000 * ms, end: 8030 * ms, result: failed}, // longer ago
		}
	}
	tests := []struct {
		name   string
		hotel  int
		book   []visit
		outage outage
		want   row
	}{
		{"well", 3, nil, lasts, row{"closed", markWell, good, "hotel-3", "answering", ""}},
		{"hung", 3, hung, lasts, row{trouble, markTrouble, bad, "hotel-3", "2 waiting, the longest 3.0 s", "and every new guest joins them"}},
		{"catching up", 3, hung, outage{begun: true, ended: true}, row{trouble, markTrouble, bad, "hotel-3", "2 waiting, the longest 3.0 s", ""}},
		{"erring", 5, failing(5), lasts, row{
			trouble, markTrouble, bad, "hotel-5", "1 failed in the last second", "its health check still says 200",
		}},
		{"erring, and nobody came lately", 5, failing(5)[1:], lasts, row{
			trouble, markTrouble, bad, "hotel-5", "fails whoever comes", "its health check still says 200",
		}},
		{"well again", 5, failing(5)[1:], outage{begun: true, ended: true}, row{"closed", markWell, good, "hotel-5", "answering", ""}},
		{"hung, and given up", 3, failing(3), lasts, row{trouble, markTrouble, bad, "hotel-3", "1 failed in the last second", ""}},
	}
	for _, tt := range tests {
		if got := directRow(tt.book, tt.hotel, tt.outage, now); got != tt.want {
			t.Errorf("%s: got %+v, want %+v", tt.name, got, tt.want)
		}
	}
}

func TestOthersRow(t *testing.T) {
	well := row{state: "closed", mark: markWell, look: good, id: "hotel-1", status: "closed: passing", detail: "slow start"}
	ill := row{mark: markCutOff, look: bad, id: "hotel-2", status: "open: cut off"}
	if got, want := othersRow([]row{well, well}), (row{"closed", markWell, good, "2 others", "closed: passing", ""}); got != want {
		t.Errorf("all well: got %+v, want %+v", got, want)
	}
	if got := othersRow([]row{well, ill}); got != ill {
		t.Errorf("one ill: got %+v, want that one", got)
	}
}

func TestLastTrip(t *testing.T) {
	events := []recloser.Transition{
		{Seq: 1, Name: "hotel-3", From: recloser.Closed, To: recloser.Open},
		{Seq: 2, Name: "hotel-3", From: recloser.Open, To: recloser.HalfOpen},
		{Seq: 3, Name: "hotel-3", From: recloser.HalfOpen, To: recloser.Open, Reason: recloser.ReasonTrialFailed},
		{Seq: 1, Name: "hotel-5", From: recloser.Closed, To: recloser.Open},
	}
	if got := lastTrip(events, "hotel-3"); got.Name != "hotel-3" || got.Seq != 1 {
		t.Errorf("got %+v, want the trip, not the failed trial after it", got)
	}
	if got := lastTrip(events, "hotel-7"); got.Seq != 0 {
		t.Errorf("hotel-7 never tripped, got %+v", got)
	}
}
