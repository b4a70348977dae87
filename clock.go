package recloser

import (
	"fmt"
	"sync"
	"sync/atomic"
	"time"
)

// A Clock is what breakers read instead of the machine's clock, see
// Config.Clock. There are two kinds: a coarse one, which StartClock starts, and
// one that a test moves by hand, NewManualClock. All methods are safe for
// concurrent use.
type Clock struct {
	word     atomic.Int64 // the time in ns, doubled; the lowest bit asks the next reader to say that he read it
	manual   bool
	breakers atomic.Uint32 // that a manual clock has: the seeds of their jitter
	tick     time.Duration
	wake     chan struct{} // has room for one
	stop     chan struct{}

	mu      sync.Mutex
	at      time.Time // the moment of the last step, by the machine's clock; manual: the wall clock
	steps   int
	asleep  bool // nobody steps it: a reader wakes it
	stopped bool
}

const (
	askReader = 1 // the lowest bit of Clock.word

	// A step of a coarse clock is no longer than mostTicks or mostStep: beyond
	// that it was this process that stood still. A busy process lets a goroutine
	// wait for some time slices of 10 ms; that must not slow the clock down.
	mostTicks = 8
	mostStep  = 100 * time.Millisecond
	// A clock that nobody has read for that long goes to sleep.
	idleTime = time.Second
)

// StartClock starts a coarse clock that moves each tick, from 1 to 100 ms; 1 to 5
// ms suit most. Many breakers can share it. Reading it costs a tenth of reading
// the machine's clock, and it makes breakers immune to standstills of their own
// process: if the clock could not tick for a while (the process was stopped, the
// machine was suspended), no more than 100 ms or eight ticks pass in it, and running
// calls are not taken for slow. In return, times are exact to a tick only.
//
// It takes one goroutine, which sleeps while nobody reads the clock for a second.
// Stop ends it.
func StartClock(tick time.Duration) (*Clock, error) {
	if tick < time.Millisecond || tick > 100*time.Millisecond {
		return nil, fmt.Errorf("recloser: a clock cannot tick each %s: must be from 1ms to 100ms", tick)
	}
	c := &Clock{tick: tick, at: time.Now(), wake: make(chan struct{}, 1), stop: make(chan struct{})}
	go c.run()
	return c, nil
}

// NewManualClock returns a clock that stands at start and moves only by Advance:
// for tests.
func NewManualClock(start time.Time) *Clock {
	return &Clock{manual: true, at: start}
}

// Advance lets d pass on a manual clock. It panics on a coarse one, if d is
// negative, and after 73 years.
func (c *Clock) Advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.manual || d < 0 || int64(d) > int64(maxStep)-c.word.Load()>>1 {
		panic(fmt.Sprintf("recloser: Clock.Advance(%s): only a manual clock can be advanced, only forwards, and 73 years in all", d))
	}
	c.at = c.at.Add(d)
	c.word.Add(int64(d) << 1)
}

// SetWall sets the wall clock of a manual clock to t, as an administrator or NTP
// does. No time passes by it. It panics on a coarse clock.
func (c *Clock) SetWall(t time.Time) {
	if !c.manual {
		panic("recloser: Clock.SetWall: only a manual clock can be set")
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.at = t
}

// Now returns the time that the clock shows.
func (c *Clock) Now() time.Time { return c.timeAt(c.now()) }

// Stop ends the goroutine of a coarse clock. Breakers go on: from then on the
// clock reads the machine's, and takes as long.
func (c *Clock) Stop() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.manual || c.stopped || c.stop == nil {
		return
	}
	c.stopped = true
	close(c.stop)
}

// now returns how much time has passed since the clock was made.
func (c *Clock) now() int64 {
	if w := c.word.Load(); w&askReader == 0 {
		return w >> 1
	}
	return c.noteReader()
}

// noteReader is for the reader who is asked to say that he is there.
func (c *Clock) noteReader() int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.stopped:
		c.step(time.Now(), maxStep)
		return c.word.Load() >> 1
	case c.asleep:
		c.asleep = false
		c.step(time.Now(), maxStep) // it slept, and so did everybody else
		c.wake <- struct{}{}
	}
	return c.word.And(^askReader) >> 1
}

const maxStep = time.Duration(never >> 2)

// step lets the time pass that it is since the last step, but no more than most.
func (c *Clock) step(now time.Time, most time.Duration) {
	if now.Before(c.at) {
		return // read before another step
	}
	c.word.Add(int64(min(now.Sub(c.at), most)) << 1)
	c.at = now
}

// run steps a coarse clock.
func (c *Clock) run() {
	ticker := time.NewTicker(c.tick)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
			if !c.ticked(time.Now()) {
				continue
			}
			ticker.Stop()
			select {
			case <-c.wake:
				ticker.Reset(c.tick)
			case <-c.stop:
			}
		case <-c.stop:
			c.end(time.Now())
			return
		}
	}
}

// ticked steps the clock and reports whether it fell asleep. Every idleTime it
// asks the next reader to say that he is there; if none did until the next time,
// there is none.
func (c *Clock) ticked(now time.Time) (asleep bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.step(now, max(mostTicks*c.tick, mostStep))
	if c.steps++; time.Duration(c.steps)*c.tick < idleTime {
		return false
	}
	c.steps = 0
	c.asleep = c.word.Or(askReader)&askReader != 0
	return c.asleep
}

// end has every reader from now on read the machine's clock.
func (c *Clock) end(now time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	most := max(mostTicks*c.tick, mostStep)
	if c.asleep {
		most = maxStep
	}
	c.step(now, most)
	c.word.Or(askReader)
}

// timeAt returns when it was, or will be, at on the clock, as a time of day.
func (c *Clock) timeAt(at int64) time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.at.Add(time.Duration(at - c.word.Load()>>1))
}

// until returns how long it is from now to t.
func (c *Clock) until(t time.Time) time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	return t.Sub(c.at)
}
