package recloser_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/recloser-go/recloser"
)

const thresholds = "docs/guides/choosing-thresholds.md"

// ofCalls returns how likely exactly k of n calls are bad.
func ofCalls(n, k int, p float64) float64 {
	a, _ := math.Lgamma(float64(n + 1))
	b, _ := math.Lgamma(float64(k + 1))
	c, _ := math.Lgamma(float64(n - k + 1))
	return math.Exp(a - b - c + float64(k)*math.Log(p) + float64(n-k)*math.Log1p(-p))
}

// countBetween returns how many calls are between two false trips of the rule
// "k of the last n bad": this call is bad, the one that leaves is not, and k-1 of
// the others are.
func countBetween(k, n int, p float64) float64 { return 1 / (p * (1 - p) * ofCalls(n-1, k-1, p)) }

// runBetween is the same for the rule "length bad in a row".
func runBetween(length int, p float64) float64 { return (math.Pow(p, -float64(length)) - 1) / (1 - p) }

// runLength returns how long a run must be that trips, with a share f of bad
// calls before it.
func runLength(f float64, consecutive int) int {
	if f == 0 {
		return consecutive
	}
	return max(consecutive, int(math.Ceil(math.Log(1e-7)/math.Log(f)-1e-9)))
}

// improbableBetween is runBetween for a run that must be improbable, and at least
// shortest calls long. The n calls before it say what is usual.
func improbableBetween(n, shortest int, p float64) float64 {
	perCall := 0.0
	for bad := range n { // one of the n was good, or the run would be longer
		length := runLength(float64(bad)/float64(n), shortest)
		perCall += ofCalls(n-1, bad, p) * math.Pow(p, float64(length)) * (1 - p)
	}
	return 1 / perCall
}

var bases = []float64{0.001, 0.01, 0.05, 0.1, 0.2, 0.3}

func TestGuideFalseTrips(t *testing.T) {
	rows := [][]string{{"bad calls", "5 in a row", "5 of 10", "10 of 20", "50 of 100", "Recloser's run, 20 calls before", "the same, 200 before"}}
	for _, p := range bases {
		rows = append(rows, []string{
			percent(p), number(runBetween(5, p)), number(countBetween(5, 10, p)), number(countBetween(10, 20, p)), number(countBetween(50, 100, p)),
			number(improbableBetween(20, 5, p)), number(improbableBetween(200, 5, p)),
		})
	}
	mustShow(t, thresholds, rows)
}

// The formulas are those of the engine: what it does with random calls is near
// what they say.
func TestGuideFormulasHold(t *testing.T) {
	between := func(cfg recloser.Config, p float64, calls int) float64 {
		r := newRig(t, cfg)
		random := rand.New(rand.NewPCG(1, 2))
		trips, warm := 0, 0
		for made := 0; made < calls; {
			r.clock.Advance(10 * time.Second) // so the window holds as few calls as it may
			r.call(random.Float64() < p)
			if warm++; warm > 30 {
				made++
			}
			if r.b.State() == recloser.Open {
				if warm > 30 {
					trips++
					warm = 0
				}
				r.b.Reset("test", "to count the next one")
			}
		}
		return float64(calls) / float64(trips)
	}
	run := between(recloser.Config{Consecutive: 5, FailureRate: recloser.Off}, 0.5, 30_000)
	within(t, "5 in a row at 50 %", run, runBetween(5, 0.5), 0.8, 1.25)
	improbable := between(recloser.Config{Consecutive: 2, Spread: recloser.Off, FailureRate: 1, MinCalls: 10}, 0.3, 50_000)
	within(t, "a run that must be improbable", improbable, improbableBetween(10, 2, 0.3), 0.7, 1.4)
	rate := between(recloser.Config{Consecutive: recloser.Off}, 0.4, 10_000)
	within(t, "10 of 20 at 40 %", rate, countBetween(10, 20, 0.4), 1, 3) // the window holds up to 22
}

func TestGuideRunLength(t *testing.T) {
	head, lengths := []string{"bad before the run"}, []string{"a run that trips"}
	for _, f := range []float64{0, 0.03, 0.05, 0.08, 0.12, 0.15, 0.25, 0.3, 0.4} {
		r := newRig(t, recloser.Config{FailureRate: 1})
		r.steady(f, 10*time.Millisecond, 2000)
		seen := 0
		for ; r.b.State() == recloser.Closed; seen++ {
			r.clock.Advance(100 * time.Millisecond) // so that the length decides, and not Spread
			r.call(true)
		}
		if want := runLength(f, 5); seen != want {
			t.Errorf("after %g bad a run of %d tripped, want %d", f, seen, want)
		}
		head, lengths = append(head, percent(f)), append(lengths, fmt.Sprint(seen))
	}
	mustShow(t, thresholds, [][]string{head, lengths})
}

func TestGuideDetection(t *testing.T) {
	rows := [][]string{{"bad before", "bad from then on", "W(T-p)/(q-p)", "the engine, rate rule", "both rules"}}
	for _, p := range []float64{0, 0.1} {
		for _, q := range []float64{0.55, 0.6, 0.8, 1} {
			formula := 10 * (0.5 - p) / (q - p)
			cells := []string{percent(p), percent(q), fmt.Sprintf("%.1f s", formula)}
			for _, consecutive := range []int{recloser.Off, 0} {
				r := newRig(t, recloser.Config{Consecutive: consecutive})
				r.steady(p, 10*time.Millisecond, 3000)
				took := r.steady(q, 10*time.Millisecond, 3000)
				if consecutive == recloser.Off {
					within(t, "the rate rule", took.Seconds(), formula, 1, 1.11) // the window reaches back 10 to 11 s
				}
				cells = append(cells, fmt.Sprintf("%.1f s", took.Seconds()))
			}
			rows = append(rows, cells)
		}
	}
	mustShow(t, thresholds, rows)
}

// A dependency that is half sick, and stays so: what share of the calls that it
// would answer well the breaker lets through.
func TestGuideHalfSick(t *testing.T) {
	limits := []float64{0.25, 0.5, 0.8}
	rows := [][]string{{"bad calls"}}
	for _, limit := range limits {
		rows[0] = append(rows[0], "limit "+percent(limit))
	}
	for _, q := range []float64{0.1, 0.2, 0.3, 0.4, 0.6} {
		row := []string{percent(q)}
		for _, limit := range limits {
			r := newRig(t, recloser.Config{FailureRate: limit, Jitter: recloser.Off})
			random := rand.New(rand.NewPCG(1, 2))
			good, answered := 0, 0
			for range 20 * 60 * 20 {
				r.clock.Advance(50 * time.Millisecond)
				bad := random.Float64() < q
				admitted := r.call(bad)
				if !bad {
					good++
					if admitted {
						answered++
					}
				}
			}
			if margin := q + 5*math.Sqrt(q*(1-q)/200); limit >= margin && answered < good {
				t.Errorf("with %g bad and a limit of %g, %d of %d good calls got through", q, limit, answered, good)
			}
			row = append(row, percent(math.Round(100*float64(answered)/float64(good))/100))
		}
		rows = append(rows, row)
	}
	mustShow(t, thresholds, rows)
}

func TestGuideWorkedExamples(t *testing.T) {
	table := [][]string{
		{"", "a turnstile, 1 call/min", "a park, 20 calls/s", "a gateway, 1000 calls/s"},
		{"the window holds"},
		{"all calls fail: cut off after"},
		{"calls that got through until then"},
		{"all calls hang, `SlowCall` 0.8 s: cut off after"},
		{"calls that got through until then"},
		{"three of four calls fail: cut off after"},
		{"a false trip with 1 % bad calls, each"},
		{"with 5 %"},
		{"with 10 %"},
		{"with 10 %, `Consecutive` 8, `Spread` 0.3 s"},
		{"with 1 %, `Consecutive` 3, so no `Spread`"},
	}
	put := func(row int, format string, args ...any) {
		table[row] = append(table[row], fmt.Sprintf(format, args...))
	}
	for _, gap := range []time.Duration{time.Minute, 50 * time.Millisecond, time.Millisecond} {
		window := max(20, int(10*time.Second/gap))
		put(1, "%s calls, %s", twoDigits(float64(window)), long((time.Duration(window) * gap).Seconds()))

		for row, hangs := range map[int]bool{2: false, 4: true} {
			r := newRig(t, recloser.Config{SlowCall: 800 * time.Millisecond})
			r.steady(0, gap, 2*window)
			began, calls := r.clock.Now(), 0
			for wait := gap; r.b.State() == recloser.Closed; {
				pause := min(wait, 50*time.Millisecond)
				r.clock.Advance(pause)
				if wait -= pause; wait > 0 {
					continue // State looks at the running calls
				}
				wait = gap
				p, err := r.b.Allow(t.Context())
				if err != nil {
					break
				}
				if calls++; !hangs {
					p.Done(errDown)
				}
			}
			put(row, "%s", long(r.clock.Now().Sub(began).Seconds()))
			put(row+1, "%s", twoDigits(float64(calls)))
		}

		r := newRig(t, recloser.Config{})
		r.steady(0, gap, 2*window)
		put(6, "%s", long(r.steady(0.75, gap, 3*window).Seconds()))

		falseTrip := func(row, consecutive int, spread time.Duration, p float64) {
			shortest := max(consecutive, int(spread/gap)+1)
			perCall := 1/improbableBetween(window, shortest, p) + 1/countBetween(window/2, window, p)
			put(row, "%s", long(gap.Seconds()/perCall))
		}
		const spread = 300 * time.Millisecond
		falseTrip(7, 5, spread, 0.01)
		falseTrip(8, 5, spread, 0.05)
		falseTrip(9, 5, spread, 0.1)
		falseTrip(10, 8, spread, 0.1)
		falseTrip(11, 3, 0, 0.01)
	}
	mustShow(t, thresholds, table)
}

// One call in five hangs for 30 s: no rule trips, and calls pile up.
func TestGuideHangs(t *testing.T) {
	r := newRig(t, recloser.Config{SlowCall: 2 * time.Second})
	var hanging []*recloser.Permit
	for i := range 20 * 60 * 5 {
		r.clock.Advance(50 * time.Millisecond)
		p, err := r.b.Allow(t.Context())
		if err != nil {
			t.Fatalf("call %d: %v", i, err)
		}
		if i%5 > 0 {
			p.Done(nil)
			continue
		}
		if hanging = append(hanging, &p); len(hanging) > 120 { // 30 s ago
			hanging[0].Done(errDown)
			hanging = hanging[1:]
		}
	}
	if got := r.b.Stats().InFlight; got != 120 {
		t.Errorf("%d calls are on their way, and the guide says 120", got)
	}
}
