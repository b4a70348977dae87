package probe

import (
	"testing"
	"time"

	"github.com/recloser-go/recloser"
)

// G08: nobody calls when the outage ends. A probe alone brings half-open, and only
// real calls close.
func TestG08_ProbeAloneBringsHalfOpen(t *testing.T) {
	const ends = 4 * time.Minute
	c := newTown(t, 1, recloser.Config{OpenFor: time.Hour, MaxOpenFor: time.Hour})
	c.every = rarely
	h := c.hotels[0]
	h.calls = during(0, ends, down)
	h.pings = h.calls
	for range 8 {
		c.v.Run(100 * time.Millisecond)
		c.visit(h)
	}
	c.v.Run(ends - c.at())
	c.mustBe(h, recloser.Open)
	c.v.Run(10 * time.Second)
	c.mustBe(h, recloser.HalfOpen)
	if s := h.dep.Breaker.Stats(); s.Reason != recloser.ReasonEarly || s.Began.By != Who {
		t.Errorf("half-open by %q for %q", s.Began.By, s.Reason)
	}
	if c.said(h, ReasonEarly) != 1 {
		t.Errorf("events: %+v", c.events)
	}
	c.v.Run(10 * time.Minute)
	c.mustBe(h, recloser.HalfOpen)
	for range 2 {
		c.visit(h)
		c.v.Run(time.Second)
	}
	c.mustBe(h, recloser.Closed)
}

// G09: the health check says 200 and calls fail, for ten minutes.
func TestG09_ProbeGoodTrafficBad(t *testing.T) {
	c := newTown(t, 1, recloser.Config{})
	c.every = rarely
	h := c.hotels[0]
	h.calls = down
	c.guests(h, 20*60)
	c.v.Run(10 * time.Minute)
	s := h.dep.Breaker.Stats()
	if n := s.Transitions[recloser.TransitionKey{To: recloser.Closed, Reason: recloser.ReasonTrialsGood}]; n != 0 {
		t.Errorf("it closed %d times", n)
	}
	if n := s.Transitions[recloser.TransitionKey{To: recloser.HalfOpen, Reason: recloser.ReasonEarly}]; n != 1 {
		t.Errorf("trials began early %d times, want once", n)
	}
	if n := c.said(h, ReasonTrafficBad); n != 1 {
		t.Errorf("%q was told %d times, want once: %+v", ReasonTrafficBad, n, c.events)
	}
}

// G32: the probe always says 200 while calls fail for 30 s.
func TestG32_ProbeThatLies(t *testing.T) {
	const begins, lasts = 20 * time.Second, 30 * time.Second
	c := newTown(t, 1, recloser.Config{})
	h := c.hotels[0]
	h.calls = during(begins, begins+lasts, down)
	c.guests(h, 20*60)
	c.v.Run(begins)
	before := h.reached
	c.v.Run(lasts)
	reached := h.reached - before
	var full time.Duration
	for full < time.Minute {
		asked, good := h.asked, h.good
		c.v.Run(time.Second)
		if full += time.Second; h.good-good >= h.asked-asked-1 {
			break
		}
	}
	t.Logf("%d calls reached it, full traffic after %s", reached, full)
	if reached > 12 {
		t.Errorf("%d calls reached it, want 12 at most", reached)
	}
	if full > 15*time.Second {
		t.Errorf("full traffic after %s, want 15s at most", full)
	}
}

// G32: an honest probe, and 2 s up, 2 s down.
func TestG32_ProbeThatIsHonest(t *testing.T) {
	for _, offset := range []time.Duration{0, 500, 1000, 1500, 2000, 3000} {
		c := newTown(t, 1, recloser.Config{})
		h := c.hotels[0]
		h.calls = func(at time.Duration) (time.Duration, error) {
			if at > 20*time.Second && (at+offset*time.Millisecond)%(4*time.Second) >= 2*time.Second {
				return usual, errDown
			}
			return usual, nil
		}
		h.pings = h.calls
		c.guests(h, 20*60)
		c.v.Run(20 * time.Second)
		asked, good := h.asked, h.good
		c.v.Run(30 * time.Second)
		share := float64(h.good-good) / float64(h.asked-asked)
		t.Logf("offset %d ms: %.0f %% of calls succeed", offset, 100*share)
		if share < 0.3 {
			t.Errorf("offset %d ms: %.0f %% of calls succeed, want 30 %%", offset, 100*share)
		}
	}
}
