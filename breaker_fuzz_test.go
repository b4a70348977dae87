package recloser

import (
	"math"
	"reflect"
	"testing"
	"time"
)

// FuzzPermitMisuse ends calls twice, in any order, and tells of them what
// cannot be: the counts still add up. A byte is a call (its low bits) and what
// happens to it.
func FuzzPermitMisuse(f *testing.F) {
	f.Add([]byte{})
	f.Add([]byte{0x00, 0x30, 0x30, 0x40, 0x00, 0x50, 0x30})             // ended twice, and by each way
	f.Add([]byte{0x00, 0x01, 0x02, 0x31, 0x32, 0x30, 0x01, 0x31, 0x30}) // in another order; twice again
	f.Add([]byte{0x00, 0x20, 0x20, 0x10, 0x90, 0x80, 0x20, 0x30, 0x20}) // answered twice, sent after that, answered after the end
	f.Add([]byte{0x00, 0x40, 0x40, 0x40, 0xff, 0xff, 0xff, 0x00, 0x30, 0x00, 0x01, 0x40, 0x31})
	f.Add([]byte{0x00, 0x80, 0xff, 0x90, 0xff, 0x30, 0x00, 0x80, 0xf3, 0x40, 0x90})
	f.Fuzz(func(t *testing.T, ops []byte) {
		s := newSim(t, Config{SlowCall: 50 * time.Millisecond, MinCalls: 3, OpenFor: 20 * time.Millisecond, CancelOnTrip: true})
		var permits [16]*Permit
		var running [16]bool
		var admitted, refused, taken uint64
		for i, op := range ops[:min(len(ops), 300)] {
			n := op & 15
			p, ends := permits[n], false
			switch op >> 4 {
			case 0:
				if running[n] {
					break // it would be lost, which no test can tell from a call that runs
				}
				next, err := s.b.Allow(t.Context())
				if err != nil {
					refused++
					break
				}
				admitted++
				permits[n], running[n] = &next, true
			case 15:
				s.advance(time.Duration(n) * 7 * time.Millisecond)
			default:
				if p == nil {
					p = &Permit{}
				}
				ends = misuse(p, op>>4)
			}
			if ends && running[n] {
				running[n] = false
				if op>>4 == 5 {
					taken++
				}
			}
			left := 0
			for _, r := range running {
				if r {
					left++
				}
			}
			st := s.b.Stats()
			if st.InFlight != left || admitted != st.Success+st.Failed+st.Slow+st.Ignored+taken+uint64(left) {
				t.Fatalf("after step %d (%#x): %d admitted, %d of them taken back, %d run: %+v", i, op, admitted, taken, left, st)
			}
			if st.Overdue < 0 || st.Overdue > st.InFlight {
				t.Fatalf("after step %d (%#x): %d overdue of %d", i, op, st.Overdue, st.InFlight)
			}
		}
	})
}

// misuse does something to a permit in whatever state it is, and reports whether
// that ends a call.
func misuse(p *Permit, what byte) (ends bool) {
	switch what {
	case 1:
		_, _, _ = p.Trial(), p.Released().Done(), p.Released().Err()
	case 2:
		p.Answered()
	case 3:
		p.Done(nil)
		return true
	case 4:
		p.Done(errDown)
		return true
	case 5:
		p.Cancel()
		return true
	case 6:
		p.End(Ignored)
		return true
	case 7:
		p.End(Outcome(200))
		return true
	case 8:
		p.Sending()
	case 9:
		p.Sent()
	}
	return false
}

// FuzzConfigValidate never makes a breaker of settings that are wrong, and one
// that works of all others.
func FuzzConfigValidate(f *testing.F) {
	f.Add(int64(0), 0, 0.0, 0, int64(0), int64(0), int64(0), int64(0), 0.0, int64(0), 0, int64(0), int64(0), int64(0), false)
	f.Add(int64(-1), -1, -1.0, -1, int64(-1), int64(-1), int64(-1), int64(-1), -1.0, int64(-1), -1, int64(-1), int64(-1), int64(-1), true)
	f.Add(int64(1e8), 1, 1e-6, 1, int64(1e6), int64(1e6), int64(1e6), int64(3600e9), 0.5, int64(1e6), 100, int64(1e6), int64(1e6), int64(1e6), true)
	f.Add(int64(3600e9), 1_000_000, 1.0, 1000, int64(60e9), int64(3600e9), int64(3600e9), int64(3600e9), 1e-300, int64(86400e9), 1, int64(86400e9), int64(3600e9), int64(86400e9), false)
	f.Add(int64(math.MinInt64), math.MaxInt, math.NaN(), math.MinInt, int64(math.MaxInt64), int64(1), int64(math.MaxInt64), int64(1), math.Inf(1), int64(1), 101, int64(1), int64(1), int64(1), false)
	f.Fuzz(func(t *testing.T, window int64, minCalls int, rate float64, consecutive int, spread, slow, openFor, maxOpenFor int64,
		jitter float64, resetAfter int64, trials int, trialTimeout, ramp, retryAfterMax int64, cancel bool,
	) {
		cfg := Config{
			Window: time.Duration(window), MinCalls: minCalls, FailureRate: rate, Consecutive: consecutive, Spread: time.Duration(spread),
			SlowCall: time.Duration(slow), OpenFor: time.Duration(openFor), MaxOpenFor: time.Duration(maxOpenFor), Jitter: jitter,
			ResetAfter: time.Duration(resetAfter), Trials: trials, TrialTimeout: time.Duration(trialTimeout), Ramp: time.Duration(ramp),
			RetryAfterMax: time.Duration(retryAfterMax), CancelOnTrip: cancel,
		}
		err := cfg.Validate()
		once := cfg.WithDefaults()
		if twice := once.WithDefaults(); rate == rate && jitter == jitter && !reflect.DeepEqual(twice, once) { // NaN equals nothing
			t.Errorf("defaults of defaults: %+v, before: %+v", twice, once)
		}
		if (once.Validate() == nil) != (err == nil) {
			t.Errorf("%v, but with defaults filled in %v", err, once.Validate())
		}
		ticks := newTicks()
		b, made := New(ticks.on(cfg))
		if (made == nil) != (err == nil) || (b == nil) != (err != nil) {
			t.Fatalf("made: %v, valid: %v", made, err)
		}
		if b != nil {
			outage(t, b, ticks)
		}
	})
}

// outage leads a breaker through calls that fail, hang and end well again.
func outage(t *testing.T, b *Breaker, ticks ticks) {
	t.Helper()
	for i := range 60 {
		p, err := b.Allow(t.Context())
		if err == nil {
			q, err := b.Allow(t.Context())
			ticks.Add(int64(b.Config().Window) / 7)
			if err == nil {
				defer q.Done(nil)
			}
			if i < 30 {
				p.Done(errDown)
			} else {
				p.Done(nil)
			}
		}
		st := b.Stats()
		if st.State == Open && (st.OpenFor <= 0 || st.OpenFor > b.Config().MaxOpenFor || st.Until.Sub(st.Since) != st.OpenFor) {
			t.Fatalf("open for %s, settings %+v", st.OpenFor, b.Config())
		}
		ticks.Add(int64(time.Second))
	}
	ticks.Add(int64(48 * time.Hour))
	if left := b.Stats().InFlight; left < 0 {
		t.Fatalf("%d calls run", left)
	}
}

// listed is a call as the plain list of FuzzWindow keeps it.
type listed struct {
	slice    int
	admitted int64
	kind     byte // good, failed, slow
	n        uint64
}

// FuzzWindow compares the window with a plain list of calls, each with the
// number of the slice that ran when it was judged.
func FuzzWindow(f *testing.F) {
	f.Add(uint8(20), []byte{})
	f.Add(uint8(247), []byte("0\xce\xce\xce\xce\xce\xce\xc7\xce\xc7\xc7\xce"))
	f.Add(uint8(1), []byte{0, 1, 2, 3, 200, 0, 0, 200, 201, 255, 0, 1})
	f.Add(uint8(30), []byte{1, 1, 1, 180, 180, 1, 255, 255, 255, 2, 40, 255, 0})
	f.Fuzz(func(t *testing.T, minCalls uint8, steps []byte) {
		w := newWindowed(Config{MinCalls: int(max(minCalls, 1))})
		starts, calls := []int64{0}, []listed(nil)
		lookAt := int64(time.Second)
		for _, step := range steps[:min(len(steps), 300)] {
			switch kind, arg := step>>6, int64(step&63); kind {
			case 0, 1, 2:
				n := uint64(1)
				if kind == 2 {
					n = uint64(arg) + 1
				}
				calls = append(calls, listed{len(starts) - 1, w.now - arg, kind, n})
				switch kind {
				case 0:
					w.good++
				default:
					w.book(w.now-arg, uint32(n), kind == 1)
				}
			case 3:
				w.now += (arg*arg*arg + 1) * int64(10*time.Millisecond) // up to 40 min
				w.look()
				// The same by the list.
				judged := uint64(0)
				for _, c := range calls {
					if c.slice == len(starts)-1 {
						judged += c.n
					}
				}
				start := starts[len(starts)-1]
				switch {
				case w.now < lookAt:
				case judged >= (uint64(max(minCalls, 1))+9)/10 || w.now-start >= int64(3*time.Minute):
					starts, lookAt = append(starts, w.now), w.now+int64(time.Second)
				default:
					lookAt = min(w.now+int64(time.Second)/8, start+int64(3*time.Minute))
				}
			}
			if got, want := w.sums(), sumOfList(starts, calls, w.now); got != want {
				t.Fatalf("at %s after %d steps: %+v, want %+v", time.Duration(w.now), len(steps), got, want)
			}
		}
	})
}

func sumOfList(starts []int64, calls []listed, now int64) (s sums) {
	oldest := max(0, len(starts)-11)
	for oldest < len(starts) && starts[oldest] < now-int64(30*time.Minute) {
		oldest++
	}
	for _, c := range calls {
		if c.slice < oldest {
			continue
		}
		switch c.kind {
		case 0:
			s.good += c.n
			continue
		case 1:
			s.failed += c.n
		case 2:
			s.slow += c.n
		}
		if s.bad() == c.n {
			s.first, s.last = c.admitted, c.admitted
		}
		s.first, s.last = min(s.first, c.admitted), max(s.last, c.admitted)
	}
	return s
}
