package recloser_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/recloser-go/recloser"
)

const openTimes = "docs/guides/choosing-open-times.md"

// outage has a dependency that is well go down for d, with 20 calls a second. It
// returns how long after its end the breaker closed, and how many trials the
// dependency had while it was down.
func (r *rig) outage(d time.Duration) (lost time.Duration, trials int) {
	const gap = 50 * time.Millisecond
	r.steady(0, gap, 100)
	ends := r.clock.Now().Add(d)
	for {
		r.clock.Advance(gap)
		state := r.b.State()
		if state == recloser.Open {
			r.clock.Advance(r.b.Stats().Until.Sub(r.clock.Now()))
			state = r.b.State()
		}
		down := r.clock.Now().Before(ends)
		switch {
		case down && state == recloser.HalfOpen:
			trials++
		case !down && state == recloser.Closed:
			return r.clock.Now().Sub(ends), trials
		}
		r.call(down)
	}
}

// ways are settings of OpenFor and MaxOpenFor.
type way struct{ first, longest time.Duration }

func (w way) String() string { return unit(w.first) + ", " + unit(w.longest) }

func (w way) outage(t *testing.T, d time.Duration) (lost time.Duration, trials int) {
	return newRig(t, recloser.Config{OpenFor: w.first, MaxOpenFor: w.longest, Jitter: recloser.Off}).outage(d)
}

func TestGuideTimeLost(t *testing.T) {
	lengths := []time.Duration{3 * time.Second, 30 * time.Second, 5 * time.Minute, time.Hour}
	rows := [][]string{{"`OpenFor`, `MaxOpenFor`"}}
	for _, d := range lengths {
		rows[0] = append(rows[0], "down for about "+unit(d))
	}
	for _, w := range []way{
		{5 * time.Second, 5 * time.Second},
		{5 * time.Second, 30 * time.Second},
		{5 * time.Second, 5 * time.Minute},
		{30 * time.Second, 30 * time.Second},
		{5 * time.Minute, 5 * time.Minute},
	} {
		row := []string{w.String()}
		for _, d := range lengths {
			const times = 10
			random := rand.New(rand.NewPCG(1, 2))
			var lost time.Duration
			trials := 0
			for i := range times { // from half of d to one and a half, evenly and yet by chance
				l, n := w.outage(t, time.Duration((0.5+(float64(i)+random.Float64())/times)*float64(d)))
				lost, trials = lost+l, trials+n
			}
			row = append(row, fmt.Sprintf("%s, %s", long(lost.Seconds()/times), trialsOf(float64(trials)/times)))
		}
		rows = append(rows, row)
	}
	mustShow(t, openTimes, rows)
}

func TestGuideNineOutages(t *testing.T) {
	outages := []time.Duration{
		4 * time.Second, 8 * time.Second, 15 * time.Second, 40 * time.Second, time.Minute,
		90 * time.Second, 4 * time.Minute, 12 * time.Minute, 45 * time.Minute,
	}
	rows := [][]string{{"`OpenFor`, `MaxOpenFor`", "time lost", "trials in vain"}}
	for _, w := range []way{
		{4 * time.Second, 4 * time.Second},
		{4 * time.Second, time.Minute},
		{4 * time.Second, 45 * time.Minute},
		{time.Minute, time.Minute},
		{5 * time.Second, 30 * time.Second},
	} {
		var lost time.Duration
		trials := 0
		for _, d := range outages {
			l, n := w.outage(t, d)
			lost, trials = lost+l, trials+n
			if w.first < w.longest && l > d+w.first {
				t.Errorf("%s: %s were lost after an outage of %s", w, l, d)
			}
		}
		rows = append(rows, []string{w.String(), long(lost.Seconds()), fmt.Sprint(trials)})
	}
	mustShow(t, openTimes, rows)
}

// Where a guest comes once a minute, open times below that send every one of them
// to a dependency that is down.
func TestGuideLittleTraffic(t *testing.T) {
	rows := [][]string{{"`MaxOpenFor`"}, {"guests who waited in vain"}}
	for _, longest := range []time.Duration{30 * time.Second, 2 * time.Minute, 5 * time.Minute, 15 * time.Minute} {
		r := newRig(t, recloser.Config{MaxOpenFor: longest, Jitter: recloser.Off})
		r.steady(0, time.Minute, 20)
		waited := 0
		for range 60 {
			r.clock.Advance(time.Minute)
			if r.call(true) {
				waited++
			}
		}
		rows[0], rows[1] = append(rows[0], unit(longest)), append(rows[1], fmt.Sprintf("%d of 60", waited))
	}
	mustShow(t, openTimes, rows)
}

func trialsOf(n float64) string {
	switch {
	case n < 0.5:
		return "no trial"
	case n < 1.5:
		return "1 trial"
	}
	return twoDigits(math.Round(n)) + " trials"
}

func unit(d time.Duration) string {
	switch {
	case d%time.Hour == 0:
		return fmt.Sprintf("%d h", d/time.Hour)
	case d%time.Minute == 0:
		return fmt.Sprintf("%d min", d/time.Minute)
	}
	return fmt.Sprintf("%d s", d/time.Second)
}
