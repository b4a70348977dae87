package recloser

import (
	"context"
	"math"
	"strings"
	"testing"
	"time"
)

func TestC40_NineInTenFailForASecond(t *testing.T) {
	s := newSim(t, byRate(20))
	for range 10_000 {
		s.ok()
		s.advance(time.Millisecond)
	}
	for i := range 1000 {
		if i%10 == 0 {
			s.ok()
		} else {
			s.fail()
		}
		s.advance(time.Millisecond)
	}
	s.mustBe(Closed)
	if rate, ok := s.b.Stats().BadRatio(); !ok || rate < 0.08 || rate > 0.095 {
		t.Errorf("rate %.3f, want about 0.09", rate)
	}
}

// The window is the last 10 s, and not more than a slice longer.
func TestC40_WhatIsOlderThanTheWindowIsForgotten(t *testing.T) {
	s := newSim(t, byRate(20))
	for second := range 30 {
		for range 1000 {
			if second < 10 {
				s.ok()
			} else if s.fail(); s.b.State() == Open {
				if second < 14 || second > 15 {
					t.Errorf("open after %d s of failures, want half a window", second-10)
				}
				return
			}
			s.advance(time.Millisecond)
		}
	}
	t.Error("never opened")
}

func TestC41_OpenExactlyAtMinCalls(t *testing.T) {
	cfg := byRate(10)
	cfg.Window, cfg.OpenFor = 10*time.Second, time.Minute
	s := newSim(t, cfg)
	for n := 1; n <= 20; n++ {
		if n > 10 {
			s.mustRefuse(ReasonOpen)
		} else {
			s.fail()
		}
		if n == 9 {
			s.mustBe(Closed)
			if text := s.b.Explain(); !strings.Contains(text, "9 of 10") {
				t.Errorf("Explain says %q, want 9 of 10", text)
			}
		}
		if n == 10 {
			s.mustTrip(ReasonRate)
		}
		s.advance(500 * time.Millisecond)
	}
}

func TestC42_LimitsAreExact(t *testing.T) {
	t.Run("100 %", func(t *testing.T) {
		cfg := byRate(10)
		cfg.FailureRate = 1
		s := newSim(t, cfg)
		for range 9 {
			s.fail()
		}
		s.mustBe(Closed)
		s.fail()
		s.mustBe(Open)

		s = newSim(t, cfg)
		s.ok()
		for range 1000 {
			s.fail()
		}
		s.mustBe(Closed)
	})
	t.Run("each of 1 to 100 %", func(t *testing.T) {
		for percent := 1; percent <= 100; percent++ {
			cfg := byRate(100)
			cfg.FailureRate = float64(percent) / 100
			// calls makes 100, of which bad fail: the first or the last of them.
			calls := func(bad int, first bool) *sim {
				s := newSim(t, cfg)
				for i := range 100 {
					if i == 99 {
						s.mustBe(Closed)
					}
					if first && i < bad || !first && i >= 100-bad {
						s.fail()
					} else {
						s.ok()
					}
				}
				return s
			}
			for _, first := range []bool{false, true} {
				calls(percent-1, first).mustBe(Closed)
				s := calls(percent, first)
				s.mustBe(Open)
				counts := s.mustTrip(ReasonRate).Counts
				mustEqual(t, "bad", counts.Bad(), uint64(percent))
				mustEqual(t, "judged", counts.Judged(), 100)
			}
		}
	})
}

func TestC43_RunsOfBadCalls(t *testing.T) {
	for name, cfg := range map[string]Config{"by hand": {Consecutive: 5, OpenFor: time.Hour}, "with spread": {OpenFor: time.Hour}} {
		t.Run("45 s apart, "+name, func(t *testing.T) {
			s := newSim(t, cfg)
			for n := 1; n <= 20; n++ {
				if n > 5 {
					s.mustRefuse(ReasonOpen)
				} else {
					s.mustBe(Closed)
					s.fail()
				}
				s.advance(45 * time.Second)
			}
			mustEqual(t, "run", s.mustTrip(ReasonRun).Counts.Run, 5)
		})
	}
	t.Run("broken by good calls", func(t *testing.T) {
		cfg := strict()
		cfg.Consecutive = 2
		s := newSim(t, cfg)
		s.fail()
		for range 10_000 {
			s.ok()
		}
		s.fail()
		s.mustBe(Closed)
		s.fail()
		s.mustBe(Open)
	})
	t.Run("broken by one good end, whenever it began", func(t *testing.T) {
		cfg := strict()
		cfg.Consecutive = 3
		s := newSim(t, cfg)
		old := s.allow()
		s.advance(time.Second)
		s.fail()
		s.fail()
		old.Done(nil)
		s.fail()
		s.fail()
		s.mustBe(Closed)
		s.fail()
		s.mustBe(Open)
	})
	for before := range 3 { // with a run that the good call breaks, and without
		t.Run("not of calls that began before the last good one", func(t *testing.T) {
			cfg := strict()
			cfg.Consecutive = 3
			s := newSim(t, cfg)
			old := s.allowed(10)
			s.advance(time.Second)
			for range before {
				s.fail()
			}
			s.ok()
			for _, p := range old {
				p.Done(errDown)
			}
			s.mustBe(Closed)
			s.mustHave(Counts{Good: 1, Failed: uint64(before + 10)})
		})
	}
}

// The longer a run must be, the more calls were bad before it.
func TestC43_ImprobableRuns(t *testing.T) {
	for _, c := range []struct {
		bad, length int
		rate        float64
	}{{0, 5, 0}, {3, 5, 0}, {5, 6, 0}, {12, 8, 0}, {30, 14, 0}, {30, 5, Off}} {
		bad, length := c.bad, c.length
		s := newSim(t, Config{Consecutive: 5, FailureRate: c.rate, OpenFor: time.Minute})
		for i := range 100 { // evenly, and the last one good
			if (99-i)*bad/100 != (100-i)*bad/100 {
				s.fail()
			} else {
				s.ok()
			}
		}
		before := s.b.Stats().Window
		mustEqual(t, "bad before", before.Bad(), uint64(bad))
		for n := 1; n <= length; n++ {
			s.mustBe(Closed)
			s.fail()
		}
		if s.b.State() != Open {
			t.Errorf("closed after %d bad in a row, %d of %d bad before", length, before.Bad(), before.Judged())
		}
	}
}

// Callers who gave up count for that, though not in the rate.
func TestC43_GivenUpCallsMakeRunsLessImprobable(t *testing.T) {
	for gaveUp, length := range map[int]int{0: 5, 12: 8} {
		s := newSim(t, Config{Consecutive: 5, Window: time.Hour, SlowCall: 2 * time.Second, OpenFor: time.Hour})
		for i := range 100 {
			s.advance(time.Millisecond)
			if (99-i)*gaveUp/100 == (100-i)*gaveUp/100 {
				s.ok()
				continue
			}
			ctx, cancel := context.WithCancel(t.Context())
			_ = s.b.Do(ctx, func(ctx context.Context) error {
				s.advance(1500 * time.Millisecond)
				cancel()
				return ctx.Err()
			})
		}
		s.mustHave(Counts{Good: uint64(100 - gaveUp)})
		for n := 1; n <= length; n++ {
			s.mustBe(Closed)
			s.fail()
		}
		s.mustBe(Open)
	}
}

func TestC44_LittleTraffic(t *testing.T) {
	t.Run("idle for an hour, then one failure", func(t *testing.T) {
		for _, before := range []int{0, 4} {
			s := newSim(t, Config{MinCalls: 5})
			for range before {
				s.fail()
				s.advance(100 * time.Millisecond)
			}
			s.advance(time.Hour)
			s.fail()
			s.mustBe(Closed)
			s.mustHave(Counts{Failed: 1, Run: 1})
		}
	})
	t.Run("one call a minute, all fail", func(t *testing.T) {
		s := newSim(t, Config{OpenFor: time.Hour})
		for range 5 {
			s.mustBe(Closed)
			s.fail()
			s.advance(time.Minute)
		}
		mustEqual(t, "run", s.mustTrip(ReasonRun).Counts.Run, 5)
	})
	t.Run("one call a minute, half of them fail", func(t *testing.T) {
		cfg := byRate(20)
		cfg.OpenFor = time.Hour
		s := newSim(t, cfg)
		for i := range 20 {
			s.mustBe(Closed)
			if i%2 == 0 {
				s.ok()
			} else {
				s.fail()
			}
			s.advance(time.Minute)
		}
		mustEqual(t, "judged", s.mustTrip(ReasonRate).Counts.Judged(), 20)
	})
}

func TestC46_CountsNearTheirMaximum(t *testing.T) {
	t.Run("good calls", func(t *testing.T) {
		s := newSim(t, byRate(20))
		s.b.good[0].Store(math.MaxUint64 - 50)
		s.b.Reset("test", "")
		for range 100 {
			s.ok()
			s.advance(100 * time.Millisecond)
		}
		s.mustHave(Counts{Good: 100})
		for range 99 {
			s.fail()
		}
		s.mustBe(Closed)
		s.mustHave(Counts{Good: 100, Failed: 99, Run: 99})
		s.fail()
		s.mustBe(Open)
	})
	t.Run("bad calls", func(t *testing.T) {
		cfg := byRate(20)
		cfg.Window, cfg.SlowCall = time.Hour, time.Second
		s := newSim(t, cfg)
		s.b.good[0].Store(3 * math.MaxUint32)
		p := s.b.cur.Load()
		slice := p.window.badOf()
		slice.failed, slice.slow = math.MaxUint32-10, math.MaxUint32-10
		before := s.b.Stats().Window
		s.allowed(20)
		s.advance(2 * time.Second)
		for range 20 {
			s.fail()
		}
		s.mustBe(Closed)
		if after := s.b.Stats().Window; after.Slow < before.Slow || after.Failed < before.Failed {
			t.Errorf("wrapped: %+v, before %+v", after, before)
		}
	})
	t.Run("largest settings", func(t *testing.T) {
		s := newSim(t, Config{Consecutive: 1000, MinCalls: 1e6, FailureRate: 1, Window: time.Hour, OpenFor: time.Hour})
		for range 999 {
			s.fail()
		}
		s.mustBe(Closed)
		s.fail()
		s.mustBe(Open)
	})
}

func TestC47_CallsLongerThanTheWindow(t *testing.T) {
	for name, cfg := range map[string]Config{
		"run rule off": byRate(20),
		"with spread":  {MinCalls: 20, Consecutive: Off, Spread: 300 * time.Millisecond},
	} {
		for rate, interval := range map[string]time.Duration{"1/s": time.Second, "100/s": 10 * time.Millisecond} {
			t.Run(name+", "+rate, func(t *testing.T) {
				cfg.Window, cfg.OpenFor = 10*time.Second, time.Hour
				s := newSim(t, cfg)
				l := s.offer(interval, 2*time.Minute, hangFor(time.Minute))
				s.run(2 * time.Minute)
				trip := s.mustTrip(ReasonRate)
				enough := uint64(20)
				if s.b.rules().spread() > 0 {
					enough = max(enough, uint64(s.b.rules().spread()/int64(interval))+1)
				}
				mustEqual(t, "ended", trip.Counts.Judged(), enough)
				mustEqual(t, "tripped at", s.at(trip), time.Minute+time.Duration(enough-1)*interval)
				if l.refused == 0 {
					t.Error("nobody was refused")
				}
			})
		}
	}
}
