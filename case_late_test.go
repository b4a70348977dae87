package recloser

import (
	"testing"
	"time"
)

func TestC25_GoodEndFromBeforeTheTrip(t *testing.T) {
	s := newSim(t, strict())
	late := s.allow()
	s.fail()
	late.Done(nil)
	s.mustBe(Open)
	s.mustRefuse(ReasonOpen)
	mustEqual(t, "late", s.b.Stats().Late, 1)
}

func TestC26_BadEndFromBeforeTheTripDuringATrial(t *testing.T) {
	s := newSim(t, strict())
	late := s.allow()
	s.fail()
	s.advance(openFor)
	p := s.trial()
	late.Done(errDown)
	s.mustBe(HalfOpen)
	p.Done(nil)
	s.mustBe(Closed)
	s.mustHave(Counts{})
}

func TestC27_TenCallsInFlightAllFail(t *testing.T) {
	s := newSim(t, strict())
	first := 10 * time.Millisecond
	for _, p := range s.allowed(10) {
		s.advance(first)
		p.Done(errDown)
	}
	trip := s.mustTrip(ReasonRun)
	mustEqual(t, "tripped at", s.at(trip), first)
	mustEqual(t, "until", s.b.Stats().Until.Sub(epoch), first+openFor)
	mustEqual(t, "late", s.b.Stats().Late, 9)
	s.mustBe(Open)
	s.advance(first)
	s.mustBe(HalfOpen)
}

func TestC28_ManyCallsEndDuringHalfOpen(t *testing.T) {
	for name, slow := range map[string]time.Duration{"slow rule off": Off, "slow rule on": time.Minute} {
		t.Run(name, func(t *testing.T) {
			cfg := strict()
			cfg.SlowCall = slow
			s := newSim(t, cfg)
			calls := s.allowed(90)
			s.fail()
			s.advance(openFor)
			end := func(calls []*Permit) {
				for i, p := range calls {
					if i%3 == 0 {
						p.Answered()
					}
					p.Done([]error{nil, errDown}[i%2])
				}
			}
			end(calls[:45])
			s.mustBe(HalfOpen)
			p := s.trial()
			end(calls[45:])
			s.mustBe(HalfOpen)
			s.mustRefuse(ReasonTrialSlots)
			mustEqual(t, "in flight", s.b.Stats().InFlight, 1)
			mustEqual(t, "late", s.b.Stats().Late, 90)
			mustEqual(t, "transitions", len(s.transitions()), 2)
			p.Done(nil)
			s.mustBe(Closed)
			s.mustHave(Counts{})
			end(calls) // a second time
			s.mustHave(Counts{})
		})
	}
}
