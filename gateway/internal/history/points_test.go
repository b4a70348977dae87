package history

import (
	"fmt"
	"reflect"
	"testing"
	"time"
)

func TestPoints(t *testing.T) {
	h := openOn(t, inFolder(t))
	at := func(seconds int) time.Time { return noon.Add(time.Duration(seconds) * time.Second) }
	must(t, h.AddPoints(t.Context(), []Point{
		{At: at(0), Dependency: "a", Good: 1, Failed: 2, Slow: 3, Ignored: 4, Refused: 5, P50: 6, P95: 7, State: "closed"},
		{At: at(13), Dependency: "a", Good: 10, P50: 60, P95: 5, State: "open"},
		{At: at(20), Dependency: "a", Good: 100, State: "half-open"},
		{At: at(60), Dependency: "a", Good: 1000, State: "closed"},
		{At: at(0), Dependency: "b", Good: 7},
	}))
	for _, c := range []struct {
		name     string
		from, to int
		step     time.Duration
		want     []Point
	}{
		{"as they are", 10, 60, 0, []Point{
			{At: at(10), Dependency: "a", Good: 10, P50: 60, P95: 5, State: "open"}, {At: at(20), Dependency: "a", Good: 100, State: "half-open"},
		}},
		{"by the minute", 0, 100, time.Minute, []Point{
			{At: at(0), Dependency: "a", Good: 111, Failed: 2, Slow: 3, Ignored: 4, Refused: 5, P50: 60, P95: 7, State: "open"},
			{At: at(60), Dependency: "a", Good: 1000, State: "closed"},
		}},
		{"none", 100, 200, 0, nil},
	} {
		got, err := h.Points(t.Context(), "a", at(c.from), at(c.to), c.step)
		if err != nil || !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s: %v\n%+v, want\n%+v", c.name, err, got, c.want)
		}
	}
	if got, err := h.Points(t.Context(), "a", noon.AddDate(-10, 0, 0), at(100), 0); err != nil || len(got) != 1 || got[0].Good != 1111 {
		t.Errorf("ten years in at most 10 000 points: %v %v", got, err)
	}
}

// What is thinned out has fewer points and the same sums.
func TestThinning(t *testing.T) {
	for _, from := range []int{0, 2} { // at once it takes more than one batch
		t.Run(fmt.Sprint(from), func(t *testing.T) { thinning(t, from) })
	}
}

func thinning(t *testing.T, from int) {
	clock := newHand(noon)
	h := openOn(t, inFolder(t), func(o *Options) { o.Now = clock.now })
	var points []Point
	for i := range 700 { // nearly two hours
		for _, d := range []string{"a", "b"} {
			points = append(points, Point{At: noon.Add(time.Duration(i) * finest), Dependency: d, Good: 1, State: "closed"})
		}
	}
	points[2*500].State = "open"
	must(t, h.AddPoints(t.Context(), points))
	steps := []struct {
		after time.Duration
		want  int
	}{
		{time.Hour, 700},
		{25 * time.Hour, 340 + 60}, // 3 400 s in tens, 3 600 s in minutes
		{27 * time.Hour, 117},
		{8 * 24 * time.Hour, 12},
		{401 * 24 * time.Hour, 0},
	}
	for _, c := range steps[from:] {
		clock.set(noon.Add(c.after + 25*time.Second))
		for more := true; more; {
			more = h.pruneAll()
		}
		for _, d := range []string{"a", "b"} {
			got, err := h.Points(t.Context(), d, noon, noon.Add(2*time.Hour), 0)
			must(t, err)
			good, open := uint64(0), false
			for _, p := range got {
				good += p.Good
				open = open || p.State == "open"
			}
			if len(got) != c.want || c.want > 0 && (good != 700 || open != (d == "a")) {
				t.Errorf("after %s: %s has %d points, want %d; %d good calls, open %v", c.after, d, len(got), c.want, good, open)
			}
		}
	}
}

func TestPrune(t *testing.T) {
	clock := newHand(noon)
	h := openOn(t, inFolder(t), func(o *Options) { o.Now = clock.now })
	h.Record(Event{Text: "old"})
	commit(t, h, Act{Name: "act", Result: "old"}, Remembered("k", nil, nil), SetOverride(isolated("a")), SaveBreaker("a", savedClosed()))
	clock.set(noon.Add(399 * 24 * time.Hour))
	for range 9 {
		h.Record(Event{Text: "new"})
		commit(t, h, Act{Name: "act", Result: "new"})
	}
	texts(t, h, EventQuery{})
	count := func() string {
		acts, err := h.Acts(t.Context(), ActQuery{})
		must(t, err)
		rows, err := h.disk.rows(t.Context())
		must(t, err)
		return fmt.Sprint(len(texts(t, h, EventQuery{})), len(acts), len(rows))
	}
	prune := func(keep int) { // as little at once as can be
		for {
			n, err := h.disk.prune(t.Context(), clock.now(), keep, 1)
			must(t, err)
			if !n.any() {
				return
			}
		}
	}
	for _, c := range []struct {
		days, keep int
		want       string // events, acts, rows
	}{
		{399, 100, "10 10 2"}, // the answer is gone
		{401, 100, "9 9 1"},
		{401, 4, "4 4 1"},
	} {
		clock.set(noon.Add(time.Duration(c.days) * 24 * time.Hour))
		prune(c.keep)
		if got := count(); got != c.want {
			t.Errorf("after %d days, %d kept: %s, want %s", c.days, c.keep, got, c.want)
		}
	}
}

// Without a disk memory has an end, and what it gives up is counted.
func TestMemoryHasAnEnd(t *testing.T) {
	h := openOn(t, "/nonexistent/recloser.db")
	const n = 2 * memoryRows
	for i := range n {
		h.Record(Event{})
		if i%500 == 0 {
			texts(t, h, EventQuery{Limit: 1})
		}
	}
	points := make([]Point, memoryRows*5/4)
	for i := range points {
		points[i] = Point{At: noon.Add(time.Duration(i) * finest)}
	}
	must(t, h.AddPoints(t.Context(), points))
	if got, err := h.Points(t.Context(), "", noon, noon.AddDate(1, 0, 0), 0); err != nil || len(got) >= len(points) {
		t.Errorf("%d points, %v", len(got), err)
	}
	events, err := h.Events(t.Context(), EventQuery{Limit: most})
	if err != nil || len(events) < memoryRows || len(events) > memoryRows*3/2 {
		t.Errorf("%d events, %v", len(events), err)
	}
	if lost := h.Status().Lost; lost+uint64(len(events)) != n+1 { // and the one that says so
		t.Errorf("lost %d, %d are there, of %d", lost, len(events), n+1)
	}
}
