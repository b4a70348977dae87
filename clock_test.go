package recloser

import (
	"testing"
	"testing/synctest"
	"time"
)

// stepped is a coarse clock without its goroutine: the test steps it.
func stepped(tick time.Duration) *Clock {
	return &Clock{tick: tick, at: epoch, wake: make(chan struct{}, 1), stop: make(chan struct{})}
}

// C98: 200 calls/s, healthy, and the process stops for 2.5 s.
func TestC98_OwnStallAgesNothing(t *testing.T) {
	const tick = 2 * time.Millisecond
	for name, limits := range map[string]Config{
		"default rules": {SlowCall: 2 * time.Second},
		"one bad call":  strict(),
	} {
		t.Run(name, func(t *testing.T) {
			limits.SlowCall, limits.Clock = 2*time.Second, stepped(tick)
			b, err := New(limits)
			if err != nil {
				t.Fatal(err)
			}
			now := epoch
			var running []*Permit
			calls := func(d time.Duration) {
				for end := now.Add(d); now.Before(end); now = now.Add(tick) {
					limits.Clock.ticked(now)
					p, err := b.Allow(t.Context())
					if err != nil {
						t.Fatal(err)
					}
					running = append(running, &p)
					if len(running) > 20 {
						running[0].Done(nil)
						running = running[1:]
					}
				}
			}
			calls(5 * time.Second)
			now = now.Add(2500 * time.Millisecond)
			b.Check()
			calls(5 * time.Second)
			if s := b.Stats(); s.State != Closed || s.Slow != 0 {
				t.Errorf("%s, %d slow: %s", s.State, s.Slow, b.Explain())
			}
		})
	}
}

func TestCoarseClock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, err := StartClock(5 * time.Millisecond)
		if err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		off := func() time.Duration { return time.Since(began) - time.Duration(c.now()) }
		for range 100 {
			<-time.After(7 * time.Millisecond)
			if d := off(); d < 0 || d > 5*time.Millisecond {
				t.Fatalf("off by %s", d)
			}
			if d := time.Since(c.Now()); d < 0 || d > 5*time.Millisecond {
				t.Fatalf("the time of day is off by %s", d)
			}
		}
		<-time.After(time.Hour)
		synctest.Wait()
		if !c.asleep {
			t.Error("awake, though nobody reads it")
		}
		if d := off(); d != 0 {
			t.Errorf("off by %s after a sleep", d)
		}
		<-time.After(500 * time.Millisecond)
		if d := off(); d < 0 || d > 5*time.Millisecond {
			t.Errorf("off by %s after it was woken", d)
		}
		c.Stop()
		c.Stop()
		<-time.After(time.Minute)
		if d := off(); d != 0 {
			t.Errorf("off by %s after it was stopped", d)
		}
	})
}

func TestClockStoppedInItsSleep(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, err := StartClock(time.Millisecond)
		if err != nil {
			t.Fatal(err)
		}
		<-time.After(time.Minute)
		c.Stop()
		synctest.Wait() // its goroutine ends, or the bubble complains
		if c.now() != int64(time.Minute) {
			t.Errorf("it shows %s", time.Duration(c.now()))
		}
	})
}

func TestTicksOutOfRange(t *testing.T) {
	for _, tick := range []time.Duration{0, -1, time.Microsecond, time.Second} {
		if c, err := StartClock(tick); err == nil {
			c.Stop()
			t.Errorf("a clock ticks each %s", tick)
		}
	}
}

func TestManualClock(t *testing.T) {
	c := NewManualClock(epoch)
	c.Advance(time.Hour)
	mustEqual(t, "now", c.Now(), epoch.Add(time.Hour))
	c.SetWall(epoch)
	mustEqual(t, "now", c.Now(), epoch)
	mustEqual(t, "passed", time.Duration(c.now()), time.Hour)
	for name, wrong := range map[string]func(){
		"backwards":        func() { c.Advance(-1) },
		"advance a coarse": func() { stepped(1).Advance(1) },
		"set a coarse":     func() { stepped(1).SetWall(epoch) },
	} {
		t.Run(name, func(t *testing.T) {
			defer func() {
				if recover() == nil {
					t.Error("no panic")
				}
			}()
			wrong()
		})
	}
}

// Breakers on a coarse clock go on while it is used by many, and after its end.
func TestBreakersOnACoarseClock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cfg := strict()
		var err error
		if cfg.Clock, err = StartClock(2 * time.Millisecond); err != nil {
			t.Fatal(err)
		}
		s := &sim{TB: t, heard: make(chan Transition, maxQueue)}
		if s.b, err = New(cfg); err != nil {
			t.Fatal(err)
		}
		s.b.Subscribe(func(e Transition) { s.heard <- e })
		s.ticks = ticks{cfg.Clock}
		s.fail()
		s.mustBe(Open)
		if left := time.Until(s.b.Stats().Until); left < openFor-2*time.Millisecond || left > openFor {
			t.Errorf("%s left", left)
		}
		<-time.After(openFor + 4*time.Millisecond)
		s.trial().Done(nil)
		s.mustBe(Closed)
		cfg.Clock.Stop()
		s.fail()
		<-time.After(time.Hour)
		s.mustBe(HalfOpen)
	})
}

// The end of an override is a time of day: a standstill of the process, which a
// coarse clock does not count, does not put it off.
func TestOverrideEndsInTimeAfterAStandstill(t *testing.T) {
	for name, put := range map[string]func(b *Breaker, until time.Time) error{
		"isolated": func(b *Breaker, until time.Time) error { return b.Isolate("ana", "works", until) },
		"held":     func(b *Breaker, until time.Time) error { return b.HoldClosed("ana", "works", until) },
	} {
		t.Run(name, func(t *testing.T) {
			cfg := strict()
			cfg.Clock = stepped(2 * time.Millisecond)
			b, err := New(cfg)
			if err != nil {
				t.Fatal(err)
			}
			cfg.Clock.ticked(epoch)
			if err := put(b, epoch.Add(time.Hour)); err != nil {
				t.Fatal(err)
			}
			now := epoch.Add(59 * time.Minute) // it stood still that long
			for end := now.Add(time.Minute + 2*time.Second); now.Before(end); now = now.Add(10 * time.Millisecond) {
				cfg.Clock.ticked(now)
				b.Check()
			}
			if s := b.Stats(); s.Override != nil {
				t.Errorf("at %s still %s until %s", s.At, s.State, s.Until)
			}
		})
	}
}

func TestClockThatIsNoneOrTooCoarse(t *testing.T) {
	for name, cfg := range map[string]Config{
		"never started":            {Clock: &Clock{}},
		"as coarse as the limit":   {Clock: stepped(100 * time.Millisecond), SlowCall: 100 * time.Millisecond},
		"a third of the slow call": {Clock: stepped(100 * time.Millisecond), SlowCall: 300 * time.Millisecond},
	} {
		if _, err := New(cfg); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	(&Clock{}).Stop() // does nothing
}

func TestClockDoesNotRunBack(t *testing.T) {
	c := stepped(time.Millisecond)
	c.step(epoch.Add(time.Second), maxStep)
	was := c.now()
	c.ticked(epoch.Add(500 * time.Millisecond)) // read before the lock was there
	if c.now() < was {
		t.Errorf("back by %s", time.Duration(was-c.now()))
	}
}

func TestAgeIsByTheBreakersClock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		clock := stepped(2 * time.Millisecond)
		b, err := New(Config{Clock: clock})
		if err != nil {
			t.Fatal(err)
		}
		p, err := b.Allow(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		clock.ticked(epoch.Add(50 * time.Millisecond))
		clock.ticked(epoch.Add(10 * time.Second)) // we stood still
		if got := p.Age(); got != 50*time.Millisecond+mostStep {
			t.Errorf("its age is %s", got)
		}
		p.Done(nil)
		if got := new(Permit).Age(); got != Off {
			t.Errorf("the zero permit's age is %s", got)
		}
	})
}
