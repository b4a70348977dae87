package recloser

import (
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// In these tests a slice lasts 16 ns and the ring goes round in 512 ns.
const ringShift = 4

func TestRing(t *testing.T) {
	const slice, round = int64(1 << ringShift), int64(ringSlices << ringShift)
	r := &ring{shift: ringShift}
	mustBe := func(what string, got, want any) {
		t.Helper()
		if got != want {
			t.Errorf("%s: got %v, want %v", what, got, want)
		}
	}
	if _, ok := r.oldest(); ok {
		t.Error("an empty ring has an oldest call")
	}
	for _, at := range []int64{3, 5, 15, slice, 3*slice + 2} {
		mustBe("enter", r.enter(at), true)
	}
	mustBe("calls", r.calls(), int64(5))
	mustBe("before the slice of 3", r.admittedBefore(3), int64(0))
	mustBe("before the second slice", r.admittedBefore(slice), int64(3))
	mustBe("before the fourth", r.admittedBefore(4*slice-1), int64(4))

	mustBe("leave", r.leave(5), true)
	mustBe("expire", r.expire(0), int64(2))
	mustBe("leave an expired slice", r.leave(3), false)
	mustBe("enter an expired slice", r.enter(7), false)
	mustBe("expire twice", r.expire(0), int64(0))
	start, ok := r.oldest()
	mustBe("oldest", start, slice)
	mustBe("there is one", ok, true)

	// The word of an expired slice serves again one round later, and calls of
	// the one before do not touch it.
	mustBe("enter a round later", r.enter(round+3), true)
	mustBe("leave, a round late", r.leave(3), false)
	mustBe("enter, a round late", r.enter(4), false)
	mustBe("expire, a round late", r.expire(0), int64(0))
	mustBe("calls", r.calls(), int64(3))
	mustBe("leave", r.leave(round+3), true)
	mustBe("leave twice", r.leave(round+3), false)
	// As long as a slice has calls, nobody takes its word.
	mustBe("enter a word that is in use", r.enter(round+slice), false)

	mustBe("seal", r.seal(), int64(2))
	mustBe("calls after the seal", r.calls(), int64(0))
	mustBe("enter after the seal", r.enter(9*round), false)
	mustBe("leave after the seal", r.leave(slice), false)
}

// The ring of every SlowCall has slices of a sixteenth to an eighth of it, and
// is round before a word is needed again.
func TestRingFitsSlowCall(t *testing.T) {
	for d := time.Millisecond; d <= time.Hour; d += d/7 + 1 {
		b, err := New(Config{SlowCall: d})
		if err != nil {
			t.Fatal(err)
		}
		r := b.cur.Load().ring()
		slice := int64(1) << r.shift
		if slice > int64(d)/8 || slice <= int64(d)/16 {
			t.Errorf("SlowCall %s has slices of %s", d, time.Duration(slice))
		}
		if ringLimit(r.limit, never)+2*slice > ringSlices*slice {
			t.Errorf("SlowCall %s: calls are in the ring for longer than it is", d)
		}
	}
}

// The suspect limit may move without a new ring each time, but a ring in use always
// holds calls for as long as the limit says.
func TestRingFitsSuspect(t *testing.T) {
	b, err := New(Config{SlowCall: 10 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	made, last := 0, &ring{}
	for d := 100 * time.Millisecond; d < 9*time.Second; d += d / 50 {
		b.SetSuspect(d)
		r := b.cur.Load().ring()
		if r != last {
			made, last = made+1, r
		}
		slice := int64(1) << r.shift
		if int64(d)+2*slice > ringSlices*slice || slice > int64(d)/6 {
			t.Errorf("a suspect limit of %s has slices of %s", d, time.Duration(slice))
		}
	}
	if made > 7 {
		t.Errorf("%d rings for limits from 0.1 s to 9 s", made)
	}
}

// No call is lost or counted twice, whoever enters, leaves and expires at once.
func TestRingAtOnce(t *testing.T) {
	r := &ring{shift: ringShift}
	var clock, entered, left, expired, late atomic.Int64
	var callers, keeper sync.WaitGroup
	for g := range uint64(8) {
		callers.Go(func() {
			random := rand.New(rand.NewPCG(g, 2))
			var mine []int64
			for range 5000 {
				now := clock.Add(random.Int64N(8))
				if r.enter(now) {
					entered.Add(1)
					mine = append(mine, now)
				}
				for len(mine) > random.IntN(20) {
					i := random.IntN(len(mine))
					if r.leave(mine[i]) {
						left.Add(1)
					} else {
						late.Add(1)
					}
					mine[i] = mine[len(mine)-1]
					mine = mine[:len(mine)-1]
				}
			}
			late.Add(int64(len(mine))) // never leave
		})
	}
	stop := make(chan struct{})
	keeper.Go(func() {
		for {
			select {
			case <-stop:
				return
			default:
			}
			if start, ok := r.oldest(); ok && start+17<<ringShift < clock.Load() {
				expired.Add(r.expire(start))
			}
		}
	})
	callers.Wait()
	close(stop)
	keeper.Wait()
	expired.Add(r.seal())
	if left.Load()+expired.Load() != entered.Load() || late.Load() != expired.Load() {
		t.Errorf("%d calls entered, %d left, %d expired, of which %d learnt", entered.Load(), left.Load(), expired.Load(), late.Load())
	}
	if left.Load() == 0 || expired.Load() == 0 {
		t.Errorf("%d left, %d expired: the test tests nothing", left.Load(), expired.Load())
	}
}
