package storetest

import (
	"context"
	"errors"
	"strconv"
	"time"

	"github.com/recloser-go/recloser/fleet"
)

func faults() []testCase {
	return []testCase{
		{name: "PausedStore", run: pausedStore, needs: "Pause"},
		{name: "CloseOfAPausedStore", run: closePaused, needs: "Pause"},
		{name: "UnclearOutcome", run: unclearOutcome, needs: "Pause"},
		{name: "Restart", run: restart, needs: "Restart"},
		{name: "Flush", run: flush, needs: "Flush"},
		{name: "WatchFromBeforeAFlush", run: watchFromBeforeFlush, needs: "Flush"},
		{name: "SkewedClients", run: skewed, needs: "Skewed"},
	}
}

// methods returns a call of every method that talks to the server.
func methods(s fleet.Store, d fleet.Doc, at uint64) map[string]func(context.Context) error {
	return map[string]func(context.Context) error{
		"Load":  func(ctx context.Context) error { _, _, err := s.Load(ctx); return err },
		"Watch": func(ctx context.Context) error { return s.Watch(ctx, at, func(fleet.Doc) {}) },
		"Put": func(ctx context.Context) error {
			_, err := s.Put(ctx, d.Rev, fleet.Doc{Key: d.Key, Rev: after(d.Rev)})
			return err
		},
		"Say": func(ctx context.Context) error {
			return s.Say(ctx, []fleet.Row{{Key: "k", Node: "n", Start: 1, Seq: 1}}, time.Minute)
		},
		"Said": func(ctx context.Context) error { _, err := s.Said(ctx, "k"); return err },
		"Acquire": func(ctx context.Context) error {
			_, _, err := s.Acquire(ctx, d.Key, d.Rev, "n", time.Minute)
			return err
		},
		"Finish": func(ctx context.Context) error {
			_, err := s.Finish(ctx, fleet.Lease{Key: d.Key, Rev: d.Rev, Token: 1, TTL: time.Minute}, fleet.Good)
			return err
		},
		"Elect": func(ctx context.Context) error { _, err := s.Elect(ctx, "r", "n", time.Minute); return err },
	}
}

// pause makes the server hang until the function it returns is called, or the test ends.
func (t *test) pause() (resume func()) {
	t.Helper()
	t.Pause(t.T)
	paused := true
	resume = func() {
		if paused {
			paused = false
			t.Resume(t.T)
		}
	}
	t.Cleanup(resume)
	return resume
}

// pausedStore calls every method while the server hangs: each must end with its
// context, whether that runs out or is cancelled.
func pausedStore(t *test) {
	const most = 50 * time.Millisecond
	warm, cold, other := t.client(), t.client(), t.client()
	d := t.create(warm, "k", 1)
	_, at := t.load(warm)
	v := t.follow(other)
	resume := t.pause()
	for what, s := range map[string]fleet.Store{"used before": warm, "not used before": cold} {
		for name, f := range methods(s, d, at) {
			for way, with := range map[string]func() (context.Context, func()){
				"a deadline": func() (context.Context, func()) {
					ctx, cancel := context.WithTimeout(t.Context(), 40*time.Millisecond)
					return ctx, func() { <-ctx.Done(); cancel() }
				},
				"being cancelled": func() (context.Context, func()) {
					ctx, cancel := context.WithCancel(t.Context())
					return ctx, func() { pass(20 * time.Millisecond); cancel() }
				},
			} {
				late := t.lateness(f, with)
				if late > most {
					t.Errorf("%s of a client %s returned %s after %s ended its context, want at most %s", name, what, late, way, most)
				}
			}
		}
	}
	resume()
	for _, s := range []fleet.Store{warm, cold} {
		t.works(s, "after a pause")
	}
	t.sees(v, warm, "changes after a pause to be seen")
}

// lateness returns how long after its context's end a method returns, which it must do
// with an error. It is the best of five: a busy machine makes anything late, but not
// each time.
func (t *test) lateness(f func(context.Context) error, with func() (context.Context, func())) time.Duration {
	t.Helper()
	late := t.Patience
	for range 5 {
		ctx, end := with()
		ended, returned := make(chan time.Time, 1), make(chan time.Time, 1)
		go func() { end(); ended <- time.Now() }()
		go func() {
			if err := f(ctx); err == nil {
				t.Error("a method returned without an error while the store hangs")
			}
			returned <- time.Now()
		}()
		was := <-ended
		select {
		case at := <-returned:
			late = min(late, at.Sub(was))
		case <-time.After(t.Patience):
			return late
		}
		if late <= 50*time.Millisecond {
			break
		}
	}
	return late
}

// works waits until all methods of a client work.
func (t *test) works(s fleet.Store, when string) {
	t.Helper()
	var err error
	t.eventually(func() bool { _, _, err = s.Load(t.ctx()); return err == nil }, "Load to work "+when)
	key := "works-" + strconv.FormatUint(rev(0).ID, 16)
	d := t.create(s, key, 1)
	l := t.acquire(s, d, time.Minute, fleet.Tally{Running: 1})
	t.finish(s, l, fleet.Good, fleet.Tally{Good: 1})
	t.say(s, time.Minute, row(key, "n", 1))
	t.hears(s, key, row(key, "n", 1))
	t.elect(s, key, "n", time.Minute, "n")
}

func closePaused(t *test) {
	s, cold := t.client(), t.client()
	t.create(s, "k", 1)
	_, at := t.load(s)
	watched := t.watching(s, at)
	pass(20 * time.Millisecond)
	resume := t.pause()
	closed := make(chan error, 2)
	for _, c := range []fleet.Store{s, cold} {
		go func() { closed <- c.Close() }()
	}
	for range 2 {
		select {
		case err := <-closed:
			if err != nil {
				t.Errorf("Close: %v", err)
			}
		case <-t.ctx().Done():
			t.Fatal("Close hangs with the store")
		}
	}
	select {
	case err := <-watched:
		if err == nil {
			t.Error("Watch of a closed store returned nil")
		}
	case <-t.ctx().Done():
		t.Fatal("Watch of a closed store hangs with the store")
	}
	resume()
}

// unclearOutcome puts while the server hangs. Nobody can know whether it was done,
// until it is looked at: then it was done once, or not at all.
func unclearOutcome(t *test) {
	s, other := t.client(), t.client()
	now := t.create(s, "k", 1)
	for i := range 3 {
		unclear := fleet.Doc{Key: "k", Rev: after(now.Rev), Data: []byte("unclear")}
		clearly := fleet.Doc{Key: "k", Rev: rev(now.Rev.Epoch + 2), Data: []byte("clear")}
		resume := t.pause()
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		_, err := s.Put(ctx, now.Rev, unclear)
		cancel()
		if err == nil || errors.Is(err, fleet.ErrConflict) {
			t.Fatalf("Put while the store hangs: %v, want another error", err)
		}
		resume()
		t.eventually(func() bool { _, _, err = other.Load(t.ctx()); return err == nil }, "Load to work after a pause")
		docs, _ := t.load(other)
		seen := docs["k"]
		if seen.Rev != now.Rev && seen.Rev != unclear.Rev {
			t.Fatalf("after a Put whose outcome is unclear there is %s", show(seen))
		}
		got, err := other.Put(t.ctx(), seen.Rev, clearly)
		if errors.Is(err, fleet.ErrConflict) && seen.Rev == now.Rev && got.Rev == unclear.Rev {
			got, err = other.Put(t.ctx(), got.Rev, clearly) // it came late
		}
		if err != nil {
			t.Fatalf("Put after one whose outcome is unclear: %v with %s", err, show(got))
		}
		for range 10 { // nothing may come later still
			pass(20 * time.Millisecond)
			docs, _ = t.load(s)
			t.same("after round "+strconv.Itoa(i), docs["k"], clearly)
		}
		now = got
	}
}

func restart(t *test) {
	s, other := t.client(), t.client()
	v := t.follow(other)
	d := t.create(s, "k", 1)
	d = t.put(s, d.Rev, fleet.Doc{Key: "k", Rev: after(d.Rev), Slots: 2, Data: []byte("latest")})
	long := t.put(s, fleet.Rev{}, fleet.Doc{Key: "long", Rev: rev(1), TTL: time.Hour, Data: make([]byte, fleet.MaxData)})
	short := during(func() { t.put(s, fleet.Rev{}, fleet.Doc{Key: "short", Rev: rev(1), TTL: 30 * time.Millisecond}) })
	t.vanishes("a document", short, 30*time.Millisecond, func() bool { docs, _ := t.load(s); return docs["short"].Key != "" })
	for range 2 {
		t.Restart(t.T)
		for _, c := range []fleet.Store{s, other} {
			t.works(c, "after a restart")
		}
		docs, _ := t.load(s)
		if s.Caps().Durable {
			t.same("what was put last", docs["k"], d)
			t.same("what was put with a ttl", docs["long"], long)
			if docs["short"].Key != "" {
				t.Fatal("a document that had vanished is there again")
			}
		} else if k := docs["k"]; k.Key != "" {
			t.same("what was not lost", k, d)
		}
		t.sees(v, s, "what is there after a restart to be seen")
		d = t.put(other, docs["k"].Rev, fleet.Doc{Key: "k", Rev: rev(d.Rev.Epoch + 1), Slots: 1})
		t.sees(v, s, "a change after a restart to be seen")
	}
}

func flush(t *test) {
	s, other := t.client(), t.client()
	v := t.follow(other)
	d := t.create(s, "k", 2)
	l := t.acquire(s, d, time.Minute, fleet.Tally{Running: 1})
	t.say(s, time.Hour, row("k", "n", 5))
	t.elect(s, "r", "a", time.Hour, "a")
	_, at := t.load(s)
	watched := t.watching(s, at)
	pass(50 * time.Millisecond)
	t.Flush(t.T)
	t.ends(watched, "when its store lost everything", fleet.ErrResync)
	t.sees(v, s, "that nothing is left")
	if docs, _ := t.load(s); len(docs) != 0 {
		t.Fatalf("%d documents are left", len(docs))
	}
	if got, err := s.Put(t.ctx(), d.Rev, fleet.Doc{Key: "k", Rev: after(d.Rev)}); !errors.Is(err, fleet.ErrConflict) || got.Key != "" {
		t.Fatalf("Put on what was lost: %s, %v; want none and ErrConflict", show(got), err)
	}
	t.refused(s, "k", d.Rev, fleet.ErrConflict, fleet.Tally{})
	t.stale(s, l, "a lease that was lost")
	t.hears(s, "k")
	t.say(s, time.Hour, row("k", "n", 1))
	t.hears(other, "k", row("k", "n", 1))
	t.elect(other, "r", "b", time.Hour, "b")
	t.create(other, "k", 1)
	t.sees(v, s, "a change after everything was lost to be seen")
}

// watchFromBeforeFlush watches from a position that means something else, or nothing,
// in the store's next life.
func watchFromBeforeFlush(t *test) {
	s := t.client()
	_, empty := t.load(s)
	for i := range 3 {
		t.create(s, strconv.Itoa(i), 1)
	}
	_, three := t.load(s)
	for _, puts := range []int{0, 1, 3, 20} {
		t.Flush(t.T)
		for i := range puts {
			t.create(s, strconv.Itoa(i), 1)
		}
		docs, _ := t.load(s)
		for _, at := range []uint64{empty, three} {
			if at == empty && puts == 0 {
				continue // nothing was lost, nothing is there
			}
			seen := map[string]bool{}
			ctx, cancel := context.WithTimeout(t.Context(), t.Patience)
			err := s.Watch(ctx, at, func(d fleet.Doc) {
				if seen[d.Key] = true; len(seen) == len(docs) {
					cancel()
				}
			})
			cancel()
			if !errors.Is(err, fleet.ErrResync) && (puts == 0 || len(seen) < puts) {
				t.Errorf("Watch from before a flush showed %d of %d documents and ended with %v; want all, or ErrResync", len(seen), len(docs), err)
			}
		}
	}
}

// skewed has clients whose clocks are wrong use what others see.
func skewed(t *test) {
	const ttl = 100 * time.Millisecond
	for i, by := range []time.Duration{time.Hour, -time.Hour} {
		prefix := t.prefix
		t.prefix += strconv.Itoa(i)
		right, wrong := t.client(), t.closing(t.Skewed(t.T, t.prefix, by))
		t.documentAges(wrong, right)
		t.rowAges(wrong, right)
		d := t.create(wrong, "leases", 1)
		done := during(func() { t.acquire(wrong, d, ttl, fleet.Tally{Running: 1}) })
		t.vanishes("the lease", done, ttl, func() bool {
			_, _, err := right.Acquire(t.ctx(), "leases", d.Rev, "n", time.Minute)
			return err != nil
		})
		done = during(func() { t.say(wrong, ttl, row("short", "n", 1)) })
		t.vanishes("the row", done, ttl, func() bool { return len(t.said(right, "short")) > 0 })
		t.say(right, time.Minute, row("long", "n", 1))
		t.hears(wrong, "long", row("long", "n", 1))
		done = during(func() { t.elect(wrong, "r", "a", ttl, "a") })
		t.runsOut(right, "a", "b", done, ttl)
		t.elect(wrong, "r", "a", ttl, "b")
		t.prefix = prefix
	}
}
