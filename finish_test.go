package recloser

import (
	"testing"
	"time"
)

// A caller is held up between reading the clock, just in time, and saying that
// its call was answered; meanwhile the call became overdue.
func TestOverdueCallIsNotBookedAgainAsGood(t *testing.T) {
	cfg := byRate(20)
	cfg.SlowCall = 800 * time.Millisecond
	s := newSim(t, cfg)
	held := s.allow()
	s.advance(time.Second)
	for range 9 {
		s.ok() // far from any limit, good ends are plain again
	}
	s.mustHave(Counts{Good: 9, Slow: 1})
	s.b.answer(&held.call, int64(799*time.Millisecond))
	held.Done(nil)
	s.mustHave(Counts{Good: 9, Slow: 1})
	if st := s.b.Stats(); st.Success != 9 || st.Slow != 1 || st.InFlight != 0 {
		t.Errorf("%d good, %d slow, %d running", st.Success, st.Slow, st.InFlight)
	}
}
