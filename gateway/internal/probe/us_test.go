package probe

import (
	"testing"
	"time"

	"github.com/recloser-go/recloser"
	"github.com/recloser-go/recloser/gateway/internal/suspect"
)

const slowCall = 2 * time.Second

func hang(time.Duration) (time.Duration, error) { return timeout, errDown }

// newSuspiciousTown is a town whose breakers also suspect: with learned limits,
// witnesses and an Uplink, wired as in the gateway.
func newSuspiciousTown(t *testing.T, n int) *town {
	t.Helper()
	uplink := &suspect.Uplink{}
	c := newTown(t, n, recloser.Config{HoldSuspicion: uplink.Us})
	learned := map[*hotel]*suspect.Latency{}
	lifted := map[*hotel]uint64{} // the transition that lifted it last
	for _, h := range c.hotels {
		learned[h] = suspect.NewLatency(c.v.Now())
	}
	var seen []suspect.Seen
	c.look = func(h *hotel, s recloser.Stats) {
		now, l := c.v.Now(), learned[h]
		if b := s.Began; b.Reason == recloser.ReasonWitness && b.Seq != lifted[h] {
			lifted[h] = b.Seq
			l.Lift(b.Lifted)
		}
		l.Tick(now, s)
		h.dep.Breaker.SetSuspect(l.Limit(slowCall, now).Value)
		if seen = append(seen, suspect.See(now, s)); len(seen) == n {
			uplink.Observe(now, seen)
			seen = seen[:0]
		}
	}
	c.heard = func(h *hotel, _ *recloser.Permit, took time.Duration) { learned[h].Good(took) }
	c.runsOn = func(p *recloser.Permit) bool { return p.Witness() }
	return c
}

// firstRefusal runs until each of the hotels has refused a guest, and returns how
// long that took for each.
func (c *town) firstRefusals(hotels []*hotel, within time.Duration) []time.Duration {
	c.Helper()
	began := c.at()
	first := make([]time.Duration, len(hotels))
	before := make([]uint64, len(hotels))
	refused := func(h *hotel) (n uint64) {
		for _, r := range h.dep.Breaker.Stats().Refused {
			n += r
		}
		return n
	}
	for i, h := range hotels {
		before[i] = refused(h)
	}
	for left := len(hotels); left > 0 && c.at()-began < within; {
		c.v.Run(10 * time.Millisecond)
		for i, h := range hotels {
			if first[i] == 0 && refused(h) > before[i] {
				first[i] = c.at() - began
				left--
			}
		}
	}
	return first
}

// G31: however many really hang, each is cut off as fast as one alone, as long as
// somebody answers.
func TestG31_ManyReallyHang(t *testing.T) {
	for _, tt := range []struct{ bad, of int }{{1, 10}, {6, 10}, {9, 10}, {3, 4}} {
		c := newSuspiciousTown(t, tt.of)
		const begins = 15 * time.Second
		for i, h := range c.hotels {
			if i < tt.bad {
				h.calls = during(begins, 2*begins, hang)
				h.pings = h.calls
			}
			c.guests(h, 20*60)
		}
		c.v.Run(begins)
		bad := c.hotels[:tt.bad]
		for i, after := range c.firstRefusals(bad, 5*time.Second) {
			if after == 0 || after > 800*time.Millisecond {
				t.Errorf("%d of %d hang: %s refuses after %s, want 800ms at most", tt.bad, tt.of, bad[i].dep.ID, after)
			}
		}
		c.v.Run(2*begins - c.at())
		for _, h := range bad {
			if h.waited > 6 {
				t.Errorf("%d of %d hang: %d guests of %s wait for more than %s, want 6 at most", tt.bad, tt.of, h.waited, h.dep.ID, patience)
			}
		}
		for _, h := range c.hotels[tt.bad:] {
			if h.good < h.asked-1 || h.waited > 0 {
				t.Errorf("%d of %d hang: %d of %d guests of %s are served", tt.bad, tt.of, h.good, h.asked, h.dep.ID)
			}
		}
		c.v.Run(3 * time.Second)
		for _, h := range bad {
			if s := h.dep.Breaker.State(); s != recloser.Closed {
				t.Errorf("%d of %d hang: 3 s later %s is %s", tt.bad, tt.of, h.dep.ID, s)
			}
		}
	}
}

// G31: our own uplink is dead for 20 s. Nobody is cut off on mere suspicion, every
// trip says that it may be us, and all come back together.
func TestG31_OurOwnUplink(t *testing.T) {
	const begins, lasts = 15 * time.Second, 20 * time.Second
	c := newSuspiciousTown(t, 10)
	for _, h := range c.hotels {
		h.calls = during(begins, begins+lasts, hang)
		h.pings = h.calls
		c.guests(h, 20*60)
	}
	c.v.Run(begins)
	for i, after := range c.firstRefusals(c.hotels, 5*time.Second) {
		if after < 1500*time.Millisecond || after > 2500*time.Millisecond {
			t.Errorf("%s refuses after %s", c.hotels[i].dep.ID, after)
		}
	}
	for _, h := range c.hotels {
		if s := h.dep.Breaker.Stats(); s.Began.Reason != recloser.ReasonUs || s.Step != 0 {
			t.Errorf("%s: %q, step %d", h.dep.ID, s.Began.Reason, s.Step)
		}
	}
	c.v.Run(begins + lasts - c.at())
	back := make([]time.Duration, len(c.hotels))
	for c.at() < begins+lasts+10*time.Second {
		c.v.Run(50 * time.Millisecond)
		for i, h := range c.hotels {
			if back[i] == 0 && h.dep.Breaker.State() != recloser.Open {
				back[i] = c.at() - begins - lasts
			}
		}
	}
	t.Logf("on trial %v after it", back)
	for i, h := range c.hotels {
		if back[i] != back[0] || back[i] == 0 || back[i] > 3*time.Second {
			t.Errorf("%s is on trial after %s, want it to be so together with the others", h.dep.ID, back[i])
		}
		c.mustBe(h, recloser.Closed)
	}
}

// G30: a dependency moves from 3 ms to something longer for good.
func TestG30_SlowerForGood(t *testing.T) {
	for _, tt := range []struct {
		to   time.Duration
		lost float64
	}{{400 * time.Millisecond, 0.005}, {1200 * time.Millisecond, 0.02}} {
		const begins, lasts = 5 * time.Minute, 10 * time.Minute
		c := newSuspiciousTown(t, 1)
		c.every = rarely
		h := c.hotels[0]
		h.calls = during(begins, time.Hour, func(time.Duration) (time.Duration, error) { return tt.to, nil })
		c.guests(h, 20*60)
		c.v.Run(begins)
		asked, before := h.asked, h.lost
		c.v.Run(lasts)
		lost := float64(h.lost-before) / float64(h.asked-asked)
		t.Logf("to %s: %.2f %% are lost", tt.to, 100*lost)
		if lost > tt.lost {
			t.Errorf("to %s: %.2f %% are lost, want %.2f %% at most", tt.to, 100*lost, 100*tt.lost)
		}
	}
}

// G34: one call a minute, a hang of 20 minutes, an honest probe.
func TestG34_FewGuestsAndALongHang(t *testing.T) {
	for _, begins := range []time.Duration{10 * time.Minute, 45 * time.Minute} { // before and after a limit is learned
		const lasts = 20 * time.Minute
		begins += 13 * time.Second
		c := newSuspiciousTown(t, 1)
		c.every = rarely
		h := c.hotels[0]
		h.calls = during(begins, begins+lasts, hang)
		h.pings = h.calls
		c.guests(h, 1)
		c.v.Run(begins + time.Minute)
		if s := h.dep.Breaker.Stats(); s.State != recloser.Open || s.Reason != recloser.ReasonProbe {
			t.Errorf("after the first guest it is %s for %q", s.State, s.Reason)
		}
		c.v.Run(lasts + 10*time.Minute)
		t.Logf("a hang after %s: %d guests wait, %d probes", begins, h.waited, c.pinged[h.dep.ID])
		if h.waited > 4 {
			t.Errorf("a hang after %s: %d guests wait for more than %s, want 4 at most", begins, h.waited, patience)
		}
		if c.most > 1 {
			t.Errorf("%d probes at once", c.most)
		}
		c.mustBe(h, recloser.Closed)
	}
}

// A good call that ended while the third bad probe was on its way counts more.
func TestGoodCallAtTheLastMoment(t *testing.T) {
	for _, call := range []bool{false, true} {
		c := newTown(t, 1, recloser.Config{})
		h := c.hotels[0]
		h.pings = func(at time.Duration) (time.Duration, error) {
			if call && c.pinged[h.dep.ID] == 3 {
				c.v.After(19*time.Millisecond, func() { c.visit(h) })
			}
			return 20 * time.Millisecond, errDown
		}
		h.calls = func(time.Duration) (time.Duration, error) { return 0, nil }
		c.v.Run(150 * time.Second)
		trips := h.dep.Breaker.Stats().Transitions[recloser.TransitionKey{To: recloser.Open, Reason: recloser.ReasonProbe}]
		if (trips == 0) != call {
			t.Errorf("with a good call: %v, and it tripped %d times", call, trips)
		}
	}
}
