package recloser

import (
	"testing"
	"time"
)

// oneMore is the order to let one more trial in.
func (s *sim) oneMore() Order {
	return Order{State: HalfOpen, Trials: s.b.Report().Taken + 1, Grace: 30 * time.Second}
}

func (s *sim) follow(o Order) {
	s.Helper()
	if err := s.b.Follow(o); err != nil {
		s.Fatal(err)
	}
}

var (
	toOpen   = Order{State: Open, For: time.Second, Grace: 30 * time.Second, Cause: "no answer", Note: "5 of 6 calls bad on 3 nodes"}
	toWait   = Order{State: HalfOpen, Grace: 30 * time.Second}
	toClosed = Order{}
)

// What the fleet opened waits for the fleet, and closes at its word.
func TestFollow(t *testing.T) {
	s := newSim(t, strict())
	s.follow(toClosed)
	s.mustBe(Closed)
	s.follow(toOpen)
	e := s.mustTrip(ReasonFleet)
	mustEqual(t, "why", e.Why(), toOpen.Note)
	mustEqual(t, "cause", e.Cause.Error(), toOpen.Cause)
	s.advance(10 * time.Second)
	s.mustBe(Open)
	mustEqual(t, "time left", s.refusal(ReasonOpen).RetryAfter(), 0)
	s.follow(toWait)
	s.mustBe(HalfOpen)
	s.mustRefuse(ReasonTrialSlots)
	s.follow(s.oneMore())
	trial := s.trial()
	s.mustRefuse(ReasonTrialSlots)
	trial.Done(nil)
	s.mustBe(HalfOpen) // although Trials is 1
	s.mustRefuse(ReasonTrialSlots)
	r := s.b.Report()
	mustEqual[uint64](t, "good trials", r.TrialsGood, 1)
	mustEqual[uint64](t, "refused", r.Refused, 4)
	s.follow(s.oneMore())
	s.trial().Done(errDown)
	s.mustBe(Open)
	mustEqual[uint64](t, "bad trials", s.b.Report().TrialsBad, 1)
	s.advance(10 * openFor) // its own open time does not start trials
	s.mustBe(Open)
	s.follow(toClosed)
	s.mustBe(Closed)
	mustEqual(t, "the last reason", s.b.Stats().Reason, ReasonFleet)
	s.ok()
}

// Without another order the breaker decides for itself.
func TestFollowEnds(t *testing.T) {
	s := newSim(t, strict())
	s.follow(toOpen)
	s.advance(31*time.Second - 1)
	s.mustBe(Open)
	s.advance(1)
	s.mustBe(HalfOpen)
	s.trial().Done(nil)
	s.mustBe(Closed)

	s.follow(toWait)
	s.advance(30*time.Second - 1)
	s.mustRefuse(ReasonTrialSlots)
	s.advance(1)
	s.trial().Done(nil)
	s.mustBe(Closed)

	s.follow(toOpen)
	s.follow(Order{State: Open}) // the node leaves the fleet
	s.mustBe(HalfOpen)
	s.trial().Done(nil)
	s.mustBe(Closed)
}

// The strictest of operator, fleet and own rules is in force.
func TestFollowIsNotAlone(t *testing.T) {
	cfg := strict()
	cfg.OpenFor, cfg.MaxOpenFor = time.Minute, time.Minute

	s := newTripped(t, cfg)
	s.follow(toOpen)
	mustEqual(t, "its own verdict", s.b.Report().Own, true)
	s.follow(s.oneMore())
	s.mustRefuse(ReasonOpen)
	s.follow(toClosed)
	s.mustBe(Open)
	s.advance(time.Minute - 1)
	s.mustBe(Open)
	s.advance(1)
	s.mustBe(HalfOpen)

	s = newTripped(t, cfg)
	s.advance(50 * time.Second)
	s.follow(Order{State: Open, For: time.Second, Grace: time.Hour})
	s.advance(10 * time.Second)
	mustEqual(t, "its own verdict", s.b.Report().Own, false)
	s.follow(toClosed)
	s.mustBe(Closed)

	s = newSim(t, cfg)
	s.fail()
	s.follow(toClosed)
	s.mustBe(Open)

	s = newSim(t, cfg)
	if err := s.b.Isolate("ann", "why", s.ticks.Now().Add(time.Minute)); err != nil {
		t.Fatal(err)
	}
	s.follow(toClosed)
	s.follow(s.oneMore())
	s.mustBe(Isolated)
	s.advance(59 * time.Second)
	s.follow(toOpen)
	s.mustBe(Isolated)
	s.advance(time.Second)
	s.mustBe(Open) // no trial of its own
	mustEqual(t, "reason", s.b.Stats().Reason, ReasonExpired)
	s.follow(toClosed)
	s.mustBe(Closed)

	s = newSim(t, cfg)
	if err := s.b.HoldClosed("ann", "why", time.Time{}); err != nil {
		t.Fatal(err)
	}
	s.follow(toOpen)
	s.mustBe(HeldClosed)
	s.ok()
	mustEqual(t, "automatic", s.b.Stats().Automatic, Open)
	s.follow(toClosed)
	s.b.Release("ann", "why")
	s.mustBe(Closed)
}

// A dependency that names a time in a trial of the fleet is left alone for it.
func TestFollowToldToWait(t *testing.T) {
	s := newSim(t, strict())
	s.follow(s.oneMore())
	s.trial().Done(&WaitError{After: 20 * time.Second, Err: errDown})
	s.mustBe(Open)
	mustEqual[uint64](t, "bad trials", s.b.Report().TrialsBad, 1)
	s.follow(toOpen)
	before := s.b.Report().Refused
	s.mustRefuse(ReasonToldToWait)
	mustEqual(t, "refused", s.b.Report().Refused, before+1) // there is somebody to try with
	s.follow(s.oneMore())
	s.mustBe(Open)
	s.advance(20 * time.Second)
	s.follow(s.oneMore())
	s.mustBe(HalfOpen)
}

// A trial that ends without a verdict leaves its place to the fleet.
func TestFollowUnmade(t *testing.T) {
	s := newSim(t, strict())
	s.follow(s.oneMore())
	trial := s.trial()
	mustEqual(t, "running", s.b.Report().Running, 1)
	trial.Cancel()
	r := s.b.Report()
	mustEqual(t, "running and judged", r.Running+int(r.TrialsGood+r.TrialsBad), 0)
	s.mustRefuse(ReasonTrialSlots)
}

// What a report counts once stays counted, and nothing twice.
func TestReportOfBadCalls(t *testing.T) {
	s := newSim(t, Config{SlowCall: time.Second, OpenFor: openFor, Jitter: Off})
	before := s.b.Report()
	mustEqual(t, "of a new breaker", before, Report{})
	hung := s.allow()
	s.ok()
	s.fail()
	s.advance(2 * time.Second)
	r := s.b.Report()
	mustEqual[uint64](t, "good", r.Good, 1)
	mustEqual[uint64](t, "bad", r.Bad, 2)
	hung.Done(errDown)
	mustEqual[uint64](t, "bad when it has ended", s.b.Report().Bad, 2)
	late := s.allow()
	s.follow(toOpen)
	late.Done(errDown)
	mustEqual[uint64](t, "bad after a late end", s.b.Report().Bad, 2)
}

func TestOrdersThatMakeNoSense(t *testing.T) {
	s := newSim(t, strict())
	for _, o := range []Order{
		{State: Isolated}, {State: HeldClosed}, {State: State(9)}, {State: Open, For: -1}, {State: Open, Grace: 25 * time.Hour}, {State: Open, Step: -1},
	} {
		if s.b.Follow(o) == nil {
			t.Errorf("%+v was followed", o)
		}
		s.mustBe(Closed)
	}
}
