package series

import (
	"context"
	"errors"
	"net/url"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"
	"unsafe"

	"github.com/recloser-go/recloser"
	"github.com/recloser-go/recloser/gateway/internal/config"
	"github.com/recloser-go/recloser/gateway/internal/dependency"
	"github.com/recloser-go/recloser/gateway/internal/history"
)

var errDown = errors.New("down")

// shelf is a store that can fail.
type shelf struct {
	mu     sync.Mutex
	points []history.Point
	err    error
	calls  int
}

func (s *shelf) AddPoints(_ context.Context, points []history.Point) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls++
	if s.err != nil {
		return s.err
	}
	s.points = append(s.points, points...)
	return nil
}

func (s *shelf) Points(_ context.Context, id string, from, to time.Time, _ time.Duration) ([]history.Point, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []history.Point
	for _, p := range s.points {
		if p.Dependency == id && !p.At.Before(from) && p.At.Before(to) {
			out = append(out, p)
		}
	}
	return out, s.err
}

func (s *shelf) fail(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.err = err
}

// bench is a Series that runs over the bubble's time.
type bench struct {
	*Series
	t     *testing.T
	list  *dependency.List
	store *shelf
	start time.Time
}

// in runs f in a bubble with a Series of these dependencies.
func in(t *testing.T, ids []string, f func(b *bench)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		var all []config.Dependency
		for _, id := range ids {
			all = append(all, definition(id))
		}
		list, err := dependency.Maker{}.NewList(all)
		if err != nil {
			t.Fatal(err)
		}
		b := &bench{t: t, list: list, store: &shelf{}, start: time.Now()}
		b.Series = New(Options{Dependencies: list.All, Store: b.store})
		ctx, cancel := context.WithCancel(t.Context())
		var wg sync.WaitGroup
		wg.Go(func() { b.Run(ctx) })
		defer wg.Wait()
		defer cancel()
		f(b)
	})
}

func definition(id string) config.Dependency {
	return config.Dependency{
		ID: id, URL: &url.URL{Scheme: "http", Host: "127.0.0.1:1"}, Timeout: time.Second, AttemptTimeout: time.Second,
		Settings: recloser.Config{Jitter: recloser.Off, SlowCall: 2 * time.Second, Consecutive: 3},
	}
}

// pass lets time pass, and what is due in it happen.
func pass(d time.Duration) {
	<-time.After(d)
	synctest.Wait()
}

// call makes a call that takes so long.
func (b *bench) call(id string, takes time.Duration, end error) {
	b.t.Helper()
	d, _ := b.list.Get(id)
	if err := d.Breaker.Do(b.t.Context(), func(context.Context) error {
		<-time.After(takes)
		return end
	}); !errors.Is(err, end) && !errors.Is(err, recloser.ErrOpen) {
		b.t.Fatal(err)
	}
}

// waiting returns how many points the store has not taken yet.
func (b *bench) waiting() int {
	b.mu.RLock()
	defer b.mu.RUnlock()
	return len(b.pending)
}

func (b *bench) known() int {
	b.mu.RLock()
	defer b.mu.RUnlock()
	return len(b.tracks)
}

func (b *bench) points(id string, step time.Duration) []history.Point {
	b.t.Helper()
	points, err := b.Points(b.t.Context(), id, b.start.Add(-time.Hour), time.Now().Add(time.Hour), step)
	if err != nil {
		b.t.Fatal(err)
	}
	return points
}

func TestEachSecond(t *testing.T) {
	in(t, []string{"hotel-1", "hotel-2"}, func(b *bench) {
		pass(time.Second) // the first sample is what the others are counted from
		for range 3 {
			b.call("hotel-1", 3*time.Millisecond, nil)
		}
		b.call("hotel-1", 3*time.Millisecond, errDown)
		pass(time.Second - 12*time.Millisecond)
		b.call("hotel-1", 0, context.Canceled)
		b.call("hotel-1", 0, nil)
		pass(time.Second)
		for range 3 {
			b.call("hotel-1", 0, errDown)
		}
		b.call("hotel-1", 0, nil) // refused
		pass(time.Second)

		got := b.points("hotel-1", Fine)
		if len(got) != 3 {
			t.Fatalf("%d points, want 3: %+v", len(got), got)
		}
		for i, p := range got {
			if want := b.start.Add(time.Duration(i+1) * time.Second); !p.At.Equal(want) || p.Dependency != "hotel-1" {
				t.Errorf("point %d is of %s at %s, want %s", i, p.Dependency, p.At, want)
			}
		}
		p := got[0]
		if p.Good != 3 || p.Failed != 1 || p.Slow+p.Ignored+p.Refused != 0 || p.State != "closed" {
			t.Errorf("%+v", p)
		}
		// All four lie in the bucket up to 4.2 ms, of an octave.
		if p.P50 < 2*time.Millisecond || p.P50 > p.P95 || p.P95 > 4500*time.Microsecond {
			t.Errorf("p50 %s, p95 %s of calls that took 3 ms", p.P50, p.P95)
		}
		if p := got[1]; p.Ignored != 1 || p.Good != 1 || p.Failed != 0 {
			t.Errorf("%+v", p)
		}
		if p := got[2]; p.Failed != 3 || p.Refused != 1 || p.State != "open" {
			t.Errorf("%+v", p)
		}
		for _, p := range b.points("hotel-2", Fine) {
			if p.Good+p.Failed+p.Refused != 0 {
				t.Errorf("of another dependency: %+v", p)
			}
		}
	})
}

// In shadow mode a dependency is not shown as cut off: its calls pass.
func TestShadowIsAStateOfItsOwn(t *testing.T) {
	in(t, []string{"hotel-1"}, func(b *bench) {
		d, _ := b.list.Get("hotel-1")
		cfg := d.Breaker.Config()
		cfg.Shadow = true
		if err := d.Breaker.Update(cfg); err != nil {
			t.Fatal(err)
		}
		pass(10 * time.Second)
		for range 3 {
			b.call("hotel-1", 0, errDown)
		}
		pass(10 * time.Second)
		for _, step := range []time.Duration{Fine, Coarse} {
			got := b.points("hotel-1", step)
			if last := got[len(got)-1]; last.State != history.Shadowed {
				t.Errorf("each %s: the last one is %s", step, last.State)
			}
		}
		if err := d.Breaker.Isolate("ines", "", time.Time{}); err != nil {
			t.Fatal(err)
		}
		pass(time.Second)
		got := b.points("hotel-1", Fine)
		if last := got[len(got)-1]; last.State != "isolated" {
			t.Errorf("isolated it is %s", last.State)
		}
	})
}

func TestOverdueCallShowsAsSlow(t *testing.T) {
	in(t, []string{"hotel-1"}, func(b *bench) {
		pass(time.Second)
		b.call("hotel-1", 2500*time.Millisecond, nil)
		pass(time.Second)
		var slow uint64
		for _, p := range b.points("hotel-1", Fine) {
			slow += p.Slow
		}
		if slow != 1 {
			t.Errorf("%d slow calls, want 1", slow)
		}
	})
}

func TestRangeIsHalfOpen(t *testing.T) {
	in(t, []string{"hotel-1"}, func(b *bench) {
		pass(20 * time.Second)
		from := b.start.Add(10*time.Second + time.Millisecond)
		got, err := b.Points(t.Context(), "hotel-1", from, b.start.Add(13*time.Second), Fine)
		if err != nil || len(got) != 2 || !got[0].At.Equal(b.start.Add(11*time.Second)) || !got[1].At.Equal(b.start.Add(12*time.Second)) {
			t.Errorf("%+v, %v; want seconds 11 and 12", got, err)
		}
		if got, err := b.Points(t.Context(), "hotel-3", from, time.Now(), Fine); err != nil || len(got) != 0 {
			t.Errorf("of none: %+v, %v", got, err)
		}
	})
}

// A quarter of an hour is kept and no more, and no call of before comes up again.
func TestMemoryIsBounded(t *testing.T) {
	in(t, []string{"hotel-1"}, func(b *bench) {
		pass(time.Second)
		b.call("hotel-1", 0, nil)
		pass(Memory + 5*time.Second)
		got := b.points("hotel-1", Fine)
		if int64(len(got)) != length {
			t.Errorf("%d points, want %d", len(got), length)
		}
		for i, p := range got {
			if p.Good != 0 {
				t.Errorf("%s has a call of a quarter of an hour ago", p.At)
			}
			if i > 0 && p.At.Sub(got[i-1].At) != time.Second {
				t.Errorf("after %s comes %s", got[i-1].At, p.At)
			}
		}
	})
	if size := unsafe.Sizeof(track{}); size > 33_000 {
		t.Errorf("a dependency takes %d bytes", size)
	}
}

func TestCoarsePointsGoToTheStore(t *testing.T) {
	in(t, []string{"hotel-1", "hotel-2"}, func(b *bench) {
		pass(7 * time.Second)
		for range 5 {
			b.call("hotel-1", time.Millisecond, nil)
		}
		pass(10 * time.Second)
		for range 3 {
			b.call("hotel-1", 0, errDown)
		}
		pass(7 * time.Second) // open, on trial, and open no more
		b.call("hotel-1", 0, nil)
		b.call("hotel-1", 0, nil)
		pass(20 * time.Second)
		got := b.points("hotel-1", Coarse)
		if len(got) != 4 {
			t.Fatalf("%d points in 44 s, want 4: %+v", len(got), got)
		}
		var states []string
		var good, failed uint64
		for i, p := range got {
			if want := b.start.Add(time.Duration(i) * Coarse); !p.At.Equal(want) || p.Dependency != "hotel-1" {
				t.Errorf("point %d is at %s, want %s", i, p.At, want)
			}
			states = append(states, p.State)
			good += p.Good
			failed += p.Failed
		}
		if good != 7 || failed != 3 || got[0].Good != 5 || got[0].P50 == 0 {
			t.Errorf("%d good, %d failed, first %+v", good, failed, got[0])
		}
		// The worst of each counts, however short it was.
		if want := []string{"closed", "open", "open", "closed"}; !slices.Equal(states, want) {
			t.Errorf("states %q, want %q", states, want)
		}
		if len(b.points("hotel-2", Coarse)) != 4 {
			t.Error("hotel-2 has not as many")
		}
	})
}

// While the store fails, points are kept for a minute and then are lost, oldest
// first; none is written twice.
func TestStoreThatFails(t *testing.T) {
	in(t, []string{"hotel-1"}, func(b *bench) {
		b.store.fail(errDown)
		pass(35 * time.Second)
		if b.waiting() != 3 {
			t.Errorf("%d points wait, want 3", b.waiting())
		}
		pass(10 * time.Minute)
		if b.waiting() != retries {
			t.Errorf("%d points wait, want %d", b.waiting(), retries)
		}
		b.store.fail(nil)
		pass(30 * time.Second)
		got := b.points("hotel-1", Coarse)
		for i := range got[1:] {
			if d := got[i+1].At.Sub(got[i].At); d != Coarse {
				t.Errorf("%s after %s", got[i+1].At, got[i].At)
			}
		}
		if len(got) < retries || b.waiting() != 0 {
			t.Errorf("%d points came, %d still wait", len(got), b.waiting())
		}
		if n := len(b.points("hotel-1", Fine)); n == 0 {
			t.Error("nothing in memory")
		}
	})
}

// Dependencies come and go; one that is added again has nothing of the old one.
func TestDependenciesComeAndGo(t *testing.T) {
	in(t, []string{"hotel-1"}, func(b *bench) {
		if _, err := b.list.Put(definition("hotel-2")); err != nil {
			t.Fatal(err)
		}
		pass(2 * time.Second)
		b.call("hotel-2", 0, nil)
		pass(2 * time.Second)
		if err := b.list.Remove("hotel-2"); err != nil {
			t.Fatal(err)
		}
		pass(time.Second)
		if got := b.points("hotel-2", Fine); len(got) != 0 || b.known() != 1 {
			t.Errorf("removed: %d points, %d tracks", len(got), b.known())
		}
		if _, err := b.list.Put(definition("hotel-2")); err != nil {
			t.Fatal(err)
		}
		pass(3 * time.Second)
		for _, p := range b.points("hotel-2", Fine) {
			if p.Good != 0 {
				t.Errorf("%+v is of the one before", p)
			}
		}
	})
}

// Also if nobody looked in between.
func TestRemovedAndAddedAtOnce(t *testing.T) {
	in(t, nil, func(b *bench) {
		for range 2 {
			if _, err := b.list.Put(definition("hotel-2")); err != nil {
				t.Fatal(err)
			}
			pass(2 * time.Second)
			for _, p := range b.points("hotel-2", Fine) {
				if p.Good != 0 {
					t.Errorf("%+v is of the one before", p)
				}
			}
			b.call("hotel-2", 0, nil)
			pass(2 * time.Second)
			if err := b.list.Remove("hotel-2"); err != nil {
				t.Fatal(err)
			}
		}
	})
}

func TestWithoutStore(t *testing.T) {
	s := New(Options{Dependencies: func() []*dependency.Dependency { return nil }})
	s.Sample(t.Context(), time.Now())
	if got, err := s.Points(t.Context(), "hotel-1", time.Now().Add(-time.Hour), time.Now(), Coarse); err != nil || len(got) != 0 {
		t.Errorf("%v, %v", got, err)
	}
}
