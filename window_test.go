package recloser

import (
	"math"
	"testing"
	"time"
)

// windowed drives a window alone: look is what every look at the breaker does.
type windowed struct {
	window
	r    *rules
	good uint64
	now  int64
}

func newWindowed(cfg Config) *windowed {
	w := &windowed{r: &rules{cfg: cfg.WithDefaults()}}
	w.begin(w.r, 0, 0)
	return w
}

func (w *windowed) look() {
	if w.now >= w.rollAt {
		w.roll(w.r, w.now, w.good)
	}
}

func (w *windowed) sums() sums { return w.sum(w.r, w.now, w.good) }

// drive has a call end at each interval, for d.
func (w *windowed) drive(interval, d time.Duration, end func()) {
	for until := w.now + int64(d); w.now < until; w.now += int64(interval) {
		w.look()
		end()
	}
}

func (w *windowed) ok()   { w.good++ }
func (w *windowed) fail() { w.book(w.now, 1, true) }

// How much the window holds, by the rate of calls.
func TestWindowReach(t *testing.T) {
	for _, c := range []struct {
		name      string
		cfg       Config
		interval  time.Duration
		low, high uint64 // calls in it after an hour and more
	}{
		{"1000/s: Window", Config{}, time.Millisecond, 10_000, 11_200},
		{"10/s: Window", Config{}, 100 * time.Millisecond, 100, 112},
		{"1/s: MinCalls", Config{}, time.Second, 20, 22},
		{"one a minute: MinCalls", Config{}, time.Minute, 20, 22},
		{"one in 2 min: 30 min", Config{}, 2 * time.Minute, 13, 15},
		{"one an hour: nothing but the last", Config{}, time.Hour, 0, 1},
		{"MinCalls 1", Config{MinCalls: 1}, time.Minute, 10, 11},
		{"MinCalls 101 takes 11 a slice", Config{MinCalls: 101}, time.Second, 110, 121},
		{"Window 1 h", Config{Window: time.Hour}, time.Minute, 60, 67},
		{"Window 100 ms", Config{Window: 100 * time.Millisecond}, time.Millisecond, 100, 112},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWindowed(c.cfg)
			d := 3 * time.Hour
			if c.interval < time.Second {
				d = 2 * time.Minute
			}
			w.drive(c.interval, d, w.ok)
			low, high := uint64(math.MaxUint64), uint64(0)
			for range 200 {
				w.drive(c.interval, c.interval, w.ok)
				w.look()
				n := w.sums().good
				low, high = min(low, n), max(high, n)
			}
			if low < c.low || high > c.high {
				t.Errorf("holds %d to %d calls, want %d to %d", low, high, c.low, c.high)
			}
		})
	}
}

func TestWindowForgetsTheOldest(t *testing.T) {
	w := newWindowed(Config{})
	w.drive(time.Second, time.Second, w.fail)
	w.drive(500*time.Millisecond, 9*time.Second, w.ok)
	if s := w.sums(); s.failed != 1 || s.good != 18 {
		t.Errorf("after 10 s: %+v", s)
	}
	w.drive(500*time.Millisecond, 3*time.Second, w.ok)
	if s := w.sums(); s.failed != 0 || s.first != 0 || s.last != 0 || s.good < 20 {
		t.Errorf("after 13 s: %+v", s)
	}
}

func TestWindowKeepsWhenBadCallsWereAdmitted(t *testing.T) {
	w := newWindowed(Config{})
	for _, admitted := range []int64{70, 50, 90} {
		w.now += int64(3 * time.Second)
		w.drive(time.Second, 3*time.Second, w.ok)
		w.book(admitted, 2, admitted == 50)
	}
	s := w.sums()
	if s.first != 50 || s.last != 90 || s.failed != 2 || s.slow != 4 {
		t.Errorf("%+v", s)
	}
}

func TestWindowCountsDoNotWrap(t *testing.T) {
	w := newWindowed(Config{})
	for range 5 {
		w.book(1, math.MaxUint32/2, true)
		w.book(1, math.MaxUint32/2, false)
	}
	if s := w.sums(); s.failed != math.MaxUint32 || s.slow != math.MaxUint32 || s.bad() != 2*math.MaxUint32 {
		t.Errorf("%+v", s)
	}
	w.good += 3 * math.MaxUint32
	if s := w.sums(); s.good != 3*math.MaxUint32 {
		t.Errorf("in the running slice: %+v", s)
	}
	w.now += int64(2 * time.Second)
	w.look()
	w.ok()
	if s := w.sums(); s.good != math.MaxUint32+1 {
		t.Errorf("in a full slice: %+v", s)
	}
}
