package fleet

import (
	"math"
	"slices"
	"testing"
	"time"
)

// saw is the report of a node that saw these calls in the last minute, and the same a
// minute before that were good.
func saw(good, bad uint64) report {
	r := Config{}.WithDefaults().Rule
	e := evidence{Window: r.Window}
	for range r.spans() {
		e.Spans = append(e.Spans, count{good, bad})
	}
	return report{evidence: e}
}

func (r report) with(change func(*report)) report {
	change(&r)
	return r
}

func repeat(n int, r report) (all []report) {
	for range n {
		all = append(all, r)
	}
	return all
}

func TestJudge(t *testing.T) {
	const no, ask, trip = 0, 1, 2
	open := saw(0, 5).with(func(r *report) { r.Open = true })
	tripped := saw(400, 5).with(func(r *report) { r.Open, r.Run = true, 5 })
	busy := func(run uint64) report { // one call in a hundred fails, and just now that many one after the other
		return saw(4000, 40).with(func(r *report) { r.Run = run; r.Was = count{40_000, 400} })
	}
	probed := func(r *report) { r.Probed = probedBad }
	history := func(good, bad uint64) func(*report) {
		return func(r *report) { r.Was = count{good, bad}.plus(r.Spans[0]) }
	}
	for name, c := range map[string]struct {
		reports []report
		live    int
		asked   bool
		want    int
	}{
		"nothing":            {nil, 50, false, no},
		"five of five nodes": {repeat(5, saw(0, 1)), 50, false, trip},
		"four of four nodes": {repeat(4, saw(0, 1)), 50, false, no},
		"two, two and one":   {[]report{saw(0, 2), saw(0, 2), saw(0, 1)}, 50, false, trip},
		"two nodes, many":    {repeat(2, saw(0, 50)), 50, false, ask},
		"two nodes, many, and nobody else had calls":          {repeat(2, saw(0, 50)), 50, true, trip},
		"two nodes, many, and the others are well":            {append(repeat(2, saw(0, 50)), repeat(20, saw(5, 0))...), 50, true, no},
		"two nodes are all there are":                         {repeat(2, saw(0, 50)), 2, false, trip},
		"one node, many":                                      {repeat(1, saw(0, 500)), 50, false, ask},
		"one node, many, and nobody else had calls":           {repeat(1, saw(0, 500)), 50, true, ask},
		"... and a probe was good":                            {[]report{saw(0, 500), saw(0, 0).with(func(r *report) { r.Probed = "good" })}, 50, true, ask},
		"... and a probe was bad":                             {[]report{saw(0, 500), saw(0, 0).with(func(r *report) { r.Probed = "bad" })}, 50, true, trip},
		"one node is all there is":                            {repeat(1, saw(0, 500)), 1, false, ask},
		"half of the calls":                                   {repeat(5, saw(1, 1)), 50, false, trip},
		"fewer than half":                                     {append(repeat(4, saw(1, 1)), saw(3, 1)), 50, false, no},
		"one bad node and a few accidents":                    {append(repeat(3, saw(50, 1)), saw(0, 500)), 50, false, no},
		"busy nodes that all see half":                        {repeat(5, saw(1000, 1000)), 50, false, trip},
		"busy nodes that all see a tenth":                     {repeat(5, saw(900, 100)), 50, false, no},
		"no accident":                                         {repeat(5, saw(0, 1).with(history(99, 1))), 50, false, trip},
		"an accident where a tenth fails":                     {repeat(5, saw(0, 1).with(history(90, 10))), 50, false, no},
		"the same, with no history":                           {append(repeat(3, saw(1, 1)), saw(0, 50)), 50, false, no},
		"a node that fails by itself and accidents of others": {append(repeat(3, saw(1, 1).with(history(99, 1))), saw(0, 50).with(history(99, 1))), 50, false, no},
		"no accident even there":                              {repeat(8, saw(0, 1).with(history(90, 10))), 50, false, trip},
		"little history is none":                              {repeat(5, saw(0, 1).with(history(2, 1))), 50, false, trip},
		"rows that are too old for their window": {repeat(5, saw(0, 1).with(func(r *report) {
			r.age = 2 * time.Minute
			r.Spans = []count{{0, 1}, {5, 1}, {5, 1}, {5, 1}, {5, 1}, {5, 1}}
		})), 50, false, no},
		"quiet: five of five in ten minutes": {repeat(5, saw(0, 1).with(func(r *report) {
			r.Spans = []count{{}, {}, {}, {0, 1}, {0, 1}, {5, 1}}
		})), 50, false, trip},
		"quiet: the last ten calls decide": {repeat(5, saw(0, 1).with(func(r *report) {
			r.Spans = []count{{2, 0}, {2, 0}, {2, 0}, {2, 3}, {2, 3}, {2, 9}}
		})), 50, false, no},
		"three of five that had calls are open":                {append(repeat(3, open.with(func(r *report) { r.Spans = nil })), repeat(2, saw(9, 0))...), 5, false, trip},
		"three of many are open, others not heard":             {repeat(3, open.with(func(r *report) { r.Spans = saw(0, 0).Spans })), 50, false, ask},
		"three of many are open":                               {append(repeat(3, open.with(func(r *report) { r.Spans = saw(0, 0).Spans })), repeat(9, saw(9, 0))...), 50, true, ask},
		"two of two are open":                                  {repeat(2, open.with(func(r *report) { r.Spans = saw(0, 0).Spans })), 2, false, trip},
		"busy: two of three are open, the third saw one":       {[]report{tripped, tripped, busy(1)}, 3, false, trip},
		"busy: ... and nobody knows of the third":              {[]report{tripped, tripped}, 3, false, ask},
		"busy: ... and the third is well":                      {[]report{tripped, tripped, busy(0)}, 3, false, ask},
		"busy: one of three is open":                           {[]report{tripped, busy(0), busy(0)}, 3, true, ask},
		"busy: ... and one other's probe was bad":              {[]report{tripped, busy(0), busy(0).with(probed)}, 3, true, ask},
		"busy: ... and two others' probes were bad":            {[]report{tripped, busy(0).with(probed), busy(0).with(probed)}, 3, true, trip},
		"busy: one of two is open, the other's probe was bad":  {[]report{tripped, busy(0).with(probed)}, 2, true, trip},
		"busy: one of two is open, the other's probe was good": {[]report{tripped, busy(0).with(func(r *report) { r.Probed = probedGood })}, 2, true, ask},
		"busy: one of twelve is open, two probes were bad":     {append([]report{tripped, busy(0).with(probed), busy(0).with(probed)}, repeat(9, busy(0))...), 12, true, ask},
		"busy: one is open, the others have had accidents":     {[]report{tripped, busy(2), busy(1)}, 3, true, ask},
		"busy: none is open, all have had accidents":           {[]report{busy(2), busy(2), busy(2)}, 3, true, no},
		"busy: none is open yet":                               {[]report{busy(4), busy(4), busy(4)}, 3, true, no},
	} {
		rule := Config{}.WithDefaults().Rule
		got := no
		switch v := rule.judge(c.reports, c.live, c.asked); {
		case v.trip:
			got = trip
		case v.ask:
			got = ask
		}
		if got != c.want {
			t.Errorf("%s: %d, want %d", name, got, c.want)
		}
	}
}

// A single node never trips a fleet in which others have calls, whatever it has seen.
func TestJudgeOneNode(t *testing.T) {
	rule := Config{}.WithDefaults().Rule
	for bad := uint64(0); bad < 1e6; bad = bad*2 + 1 {
		for others := range 10 {
			all := append(repeat(others+1, saw(3, 0)), saw(0, bad))
			for _, asked := range []bool{false, true} {
				if v := rule.judge(all, 50, asked); v.trip {
					t.Fatalf("%d bad calls of one node among %d trip: %+v", bad, others+2, v)
				}
			}
		}
	}
}

func TestSpans(t *testing.T) {
	for window, want := range map[time.Duration][]time.Duration{
		time.Minute:      {time.Minute, 2 * time.Minute, 4 * time.Minute, 8 * time.Minute, 16 * time.Minute, 30 * time.Minute},
		10 * time.Minute: {10 * time.Minute, 20 * time.Minute, 30 * time.Minute},
	} {
		if got := (&Rule{Window: window}).spans(); !slices.Equal(got, want) {
			t.Errorf("%s: %v", window, got)
		}
	}
}

func TestTail(t *testing.T) {
	for _, c := range []struct {
		n, k int
		f    float64
		want float64
	}{
		{5, 5, 0.1, 1e-5},
		{1, 1, 0.25, 0.25},
		{2, 1, 0.5, 0.75},
		{10, 0, 0.5, 1},
		{3, 4, 0.5, 0},
		{3, 1, 0, 0},
		{3, 3, 1, 1},
		{100, 50, 0.5, 0.5397946},
		{1_000_000, 1, 1e-9, 1 - math.Exp(-1e-3)},
		{100_000, 60_000, 0.5, 0},
	} {
		if got := tail(c.n, c.k, c.f); math.Abs(got-c.want) > 1e-6*max(c.want, 1e-3) {
			t.Errorf("at least %d of %d at %g: %g, want %g", c.k, c.n, c.f, got, c.want)
		}
	}
}

func TestTally(t *testing.T) {
	var y tally
	now := epoch
	const window = time.Minute
	y.add(count{Good: 3}, window, now)
	y.add(count{Bad: 1}, window, now.Add(time.Second))
	now = now.Add(30 * time.Second)
	y.add(count{Bad: 2}, window, now)
	for d, want := range map[time.Duration]count{
		0: {0, 2}, 29 * time.Second: {0, 2}, 30 * time.Second: {3, 3}, window: {3, 3},
	} {
		if got := y.in(d, now); got != want {
			t.Errorf("in %s: %v, want %v", d, got, want)
		}
	}
	y.forgive(10*time.Second, now)
	if want := (count{3, 1}); y.was != want {
		t.Errorf("was %v, want %v", y.was, want)
	}
	y.clear()
	if got := y.in(longest, now); got != (count{}) {
		t.Errorf("after clear: %v", got)
	}
}

// Whatever comes for however long, it takes little room, and says no more and not
// much less than there was.
func TestTallyForLong(t *testing.T) {
	var y tally
	var at []time.Time
	now := epoch
	for range 50_000 {
		now = now.Add(300 * time.Millisecond)
		y.add(count{Good: 1}, time.Minute, now)
		at = append(at, now)
	}
	if len(y.buckets) > 100 {
		t.Errorf("%d buckets", len(y.buckets))
	}
	for _, d := range (&Rule{Window: time.Minute}).spans() {
		i, _ := slices.BinarySearchFunc(at, now.Add(-d), time.Time.Compare)
		exact, got := len(at)-i, int(y.in(d, now).Good)
		if got > exact || got < exact*85/100 {
			t.Errorf("in %s: %d of %d", d, got, exact)
		}
	}
	if y.was.Good != 50_000 {
		t.Errorf("was %d", y.was.Good)
	}
}
