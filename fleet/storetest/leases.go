package storetest

import (
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/recloser-go/recloser/fleet"
)

func leases() []testCase {
	return []testCase{
		{name: "SlotsUnder50Askers", run: slotsUnder50},
		{name: "SlotsWhileTheyComeAndGo", run: slotsComeAndGo},
		{name: "ResultsAndSlots", run: resultsAndSlots},
		{name: "LeaseRunsOutOnce", run: runsOutOnce},
		{name: "ResultsOutliveLeases", run: resultsOutlive},
		{name: "TokenFence", run: tokenFence},
		{name: "FinishOnce", run: finishOnce},
		{name: "PutEndsLeases", run: putEndsLeases},
	}
}

// acquire takes a lease that must be free, and checks the tally that comes with it.
func (t *test) acquire(s fleet.Store, d fleet.Doc, ttl time.Duration, want fleet.Tally) fleet.Lease {
	t.Helper()
	l, tally, err := s.Acquire(t.ctx(), d.Key, d.Rev, "n", ttl)
	if err != nil || tally != want {
		t.Fatalf("Acquire: %+v, %v; want %+v", tally, err, want)
	}
	if l.Key != d.Key || l.Rev != d.Rev || l.TTL != ttl {
		t.Fatalf("Acquire returned %+v for %s, with a ttl of %s", l, show(d), ttl)
	}
	return l
}

// refused asks for a lease that there must not be.
func (t *test) refused(s fleet.Store, key string, rev fleet.Rev, want error, tally fleet.Tally) {
	t.Helper()
	l, got, err := s.Acquire(t.ctx(), key, rev, "n", time.Minute)
	if !errors.Is(err, want) || got != tally {
		t.Fatalf("Acquire: %+v %+v, %v; want %v and %+v", l, got, err, want, tally)
	}
}

// finish ends a lease that must be held.
func (t *test) finish(s fleet.Store, l fleet.Lease, r fleet.Result, want fleet.Tally) {
	t.Helper()
	if got, err := s.Finish(t.ctx(), l, r); err != nil || got != want {
		t.Fatalf("Finish: %+v, %v; want %+v", got, err, want)
	}
}

// stale ends a lease that must not be held any more, or never was.
func (t *test) stale(s fleet.Store, l fleet.Lease, what string) {
	t.Helper()
	for _, r := range []fleet.Result{fleet.Good, fleet.Bad, fleet.Unused} {
		if _, err := s.Finish(t.ctx(), l, r); !errors.Is(err, fleet.ErrStale) {
			t.Fatalf("Finish of %s: %v, want ErrStale", what, err)
		}
	}
}

func slotsUnder50(t *test) {
	const askers, slots = 50, 3
	all := t.clients(10)
	d := t.create(all[0], "k", slots)
	for range 4 {
		var mu sync.Mutex
		var group sync.WaitGroup
		var held []fleet.Lease
		tokens := map[uint64]bool{}
		start := make(chan struct{})
		for i := range askers {
			group.Go(func() {
				<-start
				l, tally, err := all[i%len(all)].Acquire(t.ctx(), d.Key, d.Rev, "n", time.Minute)
				mu.Lock()
				defer mu.Unlock()
				switch {
				case err == nil:
					held = append(held, l)
					tokens[l.Token] = true
				case !errors.Is(err, fleet.ErrNoSlot):
					t.Errorf("Acquire: %v, want a lease or ErrNoSlot", err)
				case tally != fleet.Tally{Running: slots}:
					t.Errorf("a tally of %+v came with ErrNoSlot", tally)
				}
			})
		}
		close(start)
		group.Wait()
		if len(held) != slots || len(tokens) != slots {
			t.Fatalf("%d askers got %d leases with %d tokens, want %d", askers, len(held), len(tokens), slots)
		}
		for i, l := range held {
			t.finish(all[0], l, fleet.Unused, fleet.Tally{Running: slots - 1 - i})
		}
	}
}

// slotsComeAndGo looks at how many hold a lease at a time, while all that get one give
// it back.
func slotsComeAndGo(t *test) {
	const slots, times = 2, 30
	all := t.clients(5)
	d := t.create(all[0], "k", slots)
	var holders, got atomic.Int32
	var group sync.WaitGroup
	for i := range 10 {
		s := all[i%len(all)]
		group.Go(func() {
			for range times {
				l, _, err := s.Acquire(t.ctx(), d.Key, d.Rev, "n", time.Minute)
				if err != nil {
					if !errors.Is(err, fleet.ErrNoSlot) {
						t.Errorf("Acquire: %v", err)
					}
					continue
				}
				got.Add(1)
				if n := holders.Add(1); n > slots {
					t.Errorf("%d hold a lease at once, of %d slots", n, slots)
				}
				pass(time.Millisecond)
				holders.Add(-1) // before, so that none is counted who has given it back
				if _, err := s.Finish(t.ctx(), l, []fleet.Result{fleet.Bad, fleet.Unused}[got.Load()%2]); err != nil {
					t.Errorf("Finish: %v", err)
				}
			}
		})
	}
	group.Wait()
	if got.Load() < slots {
		t.Errorf("all asked %d times and got %d leases", 10*times, got.Load())
	}
}

func resultsAndSlots(t *test) {
	s, other := t.client(), t.client()
	d := t.create(s, "k", 2)
	a := t.acquire(s, d, time.Minute, fleet.Tally{Running: 1})
	b := t.acquire(other, d, time.Minute, fleet.Tally{Running: 2})
	t.refused(s, d.Key, d.Rev, fleet.ErrNoSlot, fleet.Tally{Running: 2})
	t.finish(other, a, fleet.Unused, fleet.Tally{Running: 1})
	a = t.acquire(s, d, time.Minute, fleet.Tally{Running: 2})
	t.finish(s, a, fleet.Bad, fleet.Tally{Running: 1, Bad: 1})
	a = t.acquire(s, d, time.Minute, fleet.Tally{Running: 2, Bad: 1})
	t.finish(s, a, fleet.Good, fleet.Tally{Running: 1, Bad: 1, Good: 1})
	t.refused(s, d.Key, d.Rev, fleet.ErrNoSlot, fleet.Tally{Running: 1, Bad: 1, Good: 1})
	t.finish(s, b, fleet.Good, fleet.Tally{Bad: 1, Good: 2})
	t.refused(other, d.Key, d.Rev, fleet.ErrNoSlot, fleet.Tally{Bad: 1, Good: 2})

	t.refused(s, "nothing", rev(1), fleet.ErrConflict, fleet.Tally{})
	t.refused(s, "nothing", fleet.Rev{}, fleet.ErrConflict, fleet.Tally{})
	t.refused(s, d.Key, after(d.Rev), fleet.ErrConflict, fleet.Tally{})
	t.refused(s, d.Key, fleet.Rev{Epoch: d.Rev.Epoch, ID: d.Rev.ID + 1}, fleet.ErrConflict, fleet.Tally{})
	t.refused(s, d.Key, fleet.Rev{}, fleet.ErrConflict, fleet.Tally{})
	none := t.create(s, "none", 0)
	t.refused(s, none.Key, none.Rev, fleet.ErrNoSlot, fleet.Tally{})
	t.acquire(s, t.create(s, "separate", 1), time.Minute, fleet.Tally{Running: 1})
}

// runsOutOnce leaves a lease, and has many look at what becomes of it.
func runsOutOnce(t *test) {
	const ttl = 150 * time.Millisecond
	all := t.clients(4)
	d := t.create(all[0], "k", 2)
	var left fleet.Lease
	kept := t.acquire(all[0], d, time.Minute, fleet.Tally{Running: 1})
	done := during(func() { left = t.acquire(all[0], d, ttl, fleet.Tally{Running: 2}) })
	t.vanishes("the lease", done, ttl, func() bool {
		l, tally, err := all[1].Acquire(t.ctx(), d.Key, d.Rev, "m", time.Minute)
		if err == nil {
			t.finish(all[1], l, fleet.Unused, fleet.Tally{Running: 1, Bad: 1})
		} else if !errors.Is(err, fleet.ErrNoSlot) || tally != (fleet.Tally{Running: 2}) {
			t.Fatalf("Acquire while the lease runs: %+v, %v; want ErrNoSlot and two that run", tally, err)
		}
		return err != nil
	})
	var group sync.WaitGroup
	for i := range 20 {
		group.Go(func() {
			_, tally, err := all[i%len(all)].Acquire(t.ctx(), d.Key, d.Rev, "m", time.Minute)
			if err != nil && !errors.Is(err, fleet.ErrNoSlot) || tally != (fleet.Tally{Running: 2, Bad: 1}) {
				t.Errorf("Acquire afterwards: %+v, %v; want one bad and two that run", tally, err)
			}
		})
	}
	group.Wait()
	t.stale(all[0], left, "a lease that ran out")
	t.finish(all[2], kept, fleet.Good, fleet.Tally{Running: 1, Bad: 1, Good: 1})

	// Nobody looked in between: two that ran out are two.
	d = t.put(all[0], d.Rev, fleet.Doc{Key: "k", Rev: after(d.Rev), Slots: 3})
	t.acquire(all[0], d, 10*time.Millisecond, fleet.Tally{Running: 1})
	late, _, err := all[1].Acquire(t.ctx(), d.Key, d.Rev, "m", 10*time.Millisecond)
	if err != nil {
		t.Fatal(err)
	}
	pass(60 * time.Millisecond)
	if _, err := all[1].Finish(t.ctx(), late, fleet.Good); !errors.Is(err, fleet.ErrStale) {
		t.Fatalf("Finish of a lease that ran out: %v, want ErrStale", err)
	}
	t.acquire(all[2], d, time.Minute, fleet.Tally{Running: 1, Bad: 2})
}

// resultsOutlive waits until the leases that had results would have run out.
func resultsOutlive(t *test) {
	const ttl = 100 * time.Millisecond
	s := t.client()
	d := t.create(s, "k", 4)
	for _, r := range []fleet.Result{fleet.Good, fleet.Bad, fleet.Unused} {
		began := time.Now()
		l, _, err := s.Acquire(t.ctx(), d.Key, d.Rev, "n", ttl)
		if err == nil {
			_, err = s.Finish(t.ctx(), l, r)
		}
		if late := time.Since(began) > ttl; errors.Is(err, fleet.ErrStale) && late {
			resultsOutlive(&test{T: t.T, Harness: t.Harness, prefix: t.prefix + "-"}) // the machine was too busy to be in time
			return
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	pass(3 * ttl)
	t.acquire(s, d, time.Minute, fleet.Tally{Good: 1, Bad: 1, Running: 1})
}

func tokenFence(t *test) {
	s, other := t.client(), t.client()
	d := t.create(s, "k", 2)
	held := t.acquire(s, d, time.Minute, fleet.Tally{Running: 1})
	for _, c := range []struct {
		what string
		l    fleet.Lease
	}{
		{"another token", fleet.Lease{Key: held.Key, Rev: held.Rev, Token: held.Token + 1, TTL: held.TTL}},
		{"another version", fleet.Lease{Key: held.Key, Rev: after(held.Rev), Token: held.Token, TTL: held.TTL}},
		{"another id", fleet.Lease{Key: held.Key, Rev: fleet.Rev{Epoch: held.Rev.Epoch, ID: held.Rev.ID + 1}, Token: held.Token, TTL: held.TTL}},
		{"another document", fleet.Lease{Key: "other", Rev: held.Rev, Token: held.Token, TTL: held.TTL}},
	} {
		t.stale(other, c.l, "a lease with "+c.what)
	}
	t.finish(other, held, fleet.Bad, fleet.Tally{Bad: 1}) // it is the token that counts, not who has it
	t.stale(s, held, "a lease that is finished")

	// Who comes late takes nothing from who came after him.
	held = t.acquire(s, d, 10*time.Millisecond, fleet.Tally{Running: 1, Bad: 1})
	pass(60 * time.Millisecond)
	next := t.acquire(other, d, time.Minute, fleet.Tally{Running: 1, Bad: 2})
	t.stale(s, held, "a lease that ran out")
	t.finish(other, next, fleet.Good, fleet.Tally{Good: 1, Bad: 2})
}

// finishOnce has the same lease finished from many places at once.
func finishOnce(t *test) {
	all := t.clients(4)
	d := t.create(all[0], "k", 1000)
	for i := range 5 {
		l, _, err := all[0].Acquire(t.ctx(), d.Key, d.Rev, "n", time.Minute)
		if err != nil {
			t.Fatal(err)
		}
		var won atomic.Int32
		var group sync.WaitGroup
		for j := range 20 {
			group.Go(func() {
				_, err := all[j%len(all)].Finish(t.ctx(), l, fleet.Good)
				switch {
				case err == nil:
					won.Add(1)
				case !errors.Is(err, fleet.ErrStale):
					t.Errorf("Finish: %v, want ErrStale", err)
				}
			})
		}
		group.Wait()
		if won.Load() != 1 {
			t.Fatalf("a lease was finished %d times", won.Load())
		}
		probe := t.acquire(all[1], d, time.Minute, fleet.Tally{Good: i + 1, Running: 1})
		t.finish(all[2], probe, fleet.Unused, fleet.Tally{Good: i + 1})
	}
}

func putEndsLeases(t *test) {
	s, other := t.client(), t.client()
	d := t.create(s, "k", 2)
	good := t.acquire(s, d, time.Minute, fleet.Tally{Running: 1})
	t.finish(s, good, fleet.Good, fleet.Tally{Good: 1})
	left := t.acquire(s, d, 10*time.Millisecond, fleet.Tally{Good: 1, Running: 1})
	next := t.put(other, d.Rev, fleet.Doc{Key: "k", Rev: after(d.Rev), Slots: 1})
	t.stale(s, left, "a lease of the version before")
	moved := left
	moved.Rev = next.Rev
	t.stale(s, moved, "a lease of the version before, as one of the next")
	t.refused(s, "k", d.Rev, fleet.ErrConflict, fleet.Tally{})
	pass(60 * time.Millisecond) // it would have run out
	l := t.acquire(other, next, time.Minute, fleet.Tally{Running: 1})
	t.refused(s, "k", next.Rev, fleet.ErrNoSlot, fleet.Tally{Running: 1})

	// A Put that was refused ends nothing.
	if _, err := s.Put(t.ctx(), d.Rev, fleet.Doc{Key: "k", Rev: after(d.Rev)}); !errors.Is(err, fleet.ErrConflict) {
		t.Fatal(err)
	}
	t.finish(s, l, fleet.Good, fleet.Tally{Good: 1})
}
