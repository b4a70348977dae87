package fleet

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/recloser-go/recloser"
)

// blocked is a store whose every method blocks for ever.
type blocked struct{ forEver chan struct{} }

func (b blocked) Caps() Caps { return Caps{Name: "blocked"} }
func (b blocked) Load(context.Context) ([]Doc, uint64, error) {
	<-b.forEver
	return nil, 0, ErrClosed
}

func (b blocked) Watch(context.Context, uint64, func(Doc)) error {
	<-b.forEver
	return ErrClosed
}

func (b blocked) Put(context.Context, Rev, Doc) (Doc, error) {
	<-b.forEver
	return Doc{}, ErrClosed
}

func (b blocked) Say(context.Context, []Row, time.Duration) error {
	<-b.forEver
	return ErrClosed
}

func (b blocked) Said(context.Context, string) ([]Row, error) {
	<-b.forEver
	return nil, ErrClosed
}

func (b blocked) Acquire(context.Context, string, Rev, string, time.Duration) (Lease, Tally, error) {
	<-b.forEver
	return Lease{}, Tally{}, ErrClosed
}

func (b blocked) Finish(context.Context, Lease, Result) (Tally, error) {
	<-b.forEver
	return Tally{}, ErrClosed
}

func (b blocked) Elect(context.Context, string, string, time.Duration) (string, error) {
	<-b.forEver
	return "", ErrClosed
}
func (b blocked) Close() error { return nil }

func newBreaker(t testing.TB, name string) *recloser.Breaker {
	t.Helper()
	b, err := recloser.New(recloser.Config{Name: name, SlowCall: 2 * time.Second, Jitter: recloser.Off, Ramp: recloser.Off})
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// startNode starts a node with one breaker, and ends it with the test.
func startNode(t *testing.T, cfg Config, store Store, names ...string) (*Node, []*recloser.Breaker) {
	t.Helper()
	n, err := New(cfg, store)
	if err != nil {
		t.Fatal(err)
	}
	var all []*recloser.Breaker
	for _, name := range names {
		all = append(all, newBreaker(t, name))
	}
	if err := n.Join(all...); err != nil {
		t.Fatal(err)
	}
	if err := n.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(n.Close)
	return n, all
}

func fail(ctx context.Context, b *recloser.Breaker) error {
	return b.Do(ctx, func(context.Context) error { return errDown })
}

func succeed(ctx context.Context, b *recloser.Breaker) error {
	return b.Do(ctx, func(context.Context) error { return nil })
}

// With a store that never answers everything goes on as without one.
func TestBlockedStore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := blocked{make(chan struct{})}
		defer close(store.forEver)
		n, all := startNode(t, Config{Fleet: "town", Node: "a"}, store, "hotel")
		b := all[0]
		began := time.Now()
		for range 5 {
			<-time.After(100 * time.Millisecond)
			_ = fail(t.Context(), b)
		}
		if b.State() != recloser.Open {
			t.Fatal(b.Explain())
		}
		if err := n.Isolate("hotel", "ann", "fire", time.Time{}); err != nil || b.State() != recloser.Isolated {
			t.Fatal(err, b.Explain())
		}
		s := n.Status()
		if s.Mode != Alone || !errors.Is(s.Err, errHung) || s.Breakers[0].NotShared == nil || n.Holds("sender") {
			t.Errorf("%+v", s)
		}
		if ok, err := n.Release("hotel", "ann", "out"); !ok || err != nil || b.State() != recloser.HalfOpen {
			t.Error(ok, err, b.Explain())
		}
		if took := time.Since(began); took != 500*time.Millisecond {
			t.Errorf("acts took %s", took-500*time.Millisecond)
		}
		for range 2 {
			if err := succeed(t.Context(), b); err != nil {
				t.Error(err)
			}
		}
		if b.State() != recloser.Closed {
			t.Error(b.Explain())
		}
		began = time.Now()
		n.Close()
		if took := time.Since(began); took > time.Second/2 {
			t.Errorf("Close took %s", took)
		}
	})
}

// late is a store that does what it is asked, but answers a Put of a breaker only when it is told
// to, whatever becomes of the context.
type late struct {
	*Memory
	asked, answer chan struct{}
}

func (l late) Put(ctx context.Context, expect Rev, next Doc) (Doc, error) {
	if _, ok := nameOf(next.Key, breakerKey); ok {
		close(l.asked)
		<-l.answer
		ctx = context.WithoutCancel(ctx)
	}
	return l.Memory.Put(ctx, expect, next)
}

// After Close nothing of the fleet is in force, though the store answers late, and no role is held.
func TestCloseIsTheEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := late{NewMemory(), make(chan struct{}), make(chan struct{})}
		defer store.Close()
		n, all := startNode(t, Config{Fleet: "town", Node: "a"}, store, "hotel")
		if err := n.Seek("sender"); err != nil {
			t.Fatal(err)
		}
		<-time.After(10 * time.Second)
		if !n.Holds("sender") {
			t.Fatal("it has not got the role")
		}
		if ok, err := n.TripNow("hotel", "probe", "why"); !ok || err != nil {
			t.Fatal(ok, err)
		}
		<-store.asked
		n.Close()
		if n.Holds("sender") {
			t.Error("it holds a role that another may have by now")
		}
		if _, err := n.TryNow("hotel", "ann", "why"); !errors.Is(err, ErrNotJoined) {
			t.Errorf("an act that nobody will hear of: %v", err)
		}
		close(store.answer)
		synctest.Wait()
		if all[0].Report().Led {
			t.Errorf("the fleet decides after Close: %s", all[0].Explain())
		}
	})
}

// Two nodes of one process on the memory store: what one is told, the other does.
func TestNodes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := NewMemory()
		defer store.Close()
		a, ofA := startNode(t, Config{Fleet: "town", Node: "a", Version: "v1"}, store, "hotel", "inn")
		_, ofB := startNode(t, Config{Fleet: "town", Node: "b"}, store, "hotel", "inn")
		both := func(b int, want recloser.State) {
			t.Helper()
			if x, y := ofA[b].State(), ofB[b].State(); x != want || y != want {
				t.Fatalf("%s and %s, want %s: %s", x, y, want, ofB[b].Explain())
			}
		}
		<-time.After(10 * time.Second)
		if s := a.Status(); s.Mode != Shared || len(s.Nodes) != 2 || s.Nodes[0].Version != "v1" || s.Err != nil || s.Store != "memory" {
			t.Fatalf("%+v", s)
		}
		if err := a.Isolate("hotel", "ann", "fire", time.Now().Add(time.Minute)); err != nil {
			t.Fatal(err)
		}
		<-time.After(time.Second / 2)
		both(0, recloser.Isolated)
		both(1, recloser.Closed)
		if o := ofB[0].Stats().Override; o == nil || o.By != "ann" || o.Why != "fire" || o.Until.IsZero() {
			t.Errorf("%+v", o)
		}
		<-time.After(7 * time.Second)
		if b := a.Status().Breakers[0]; len(b.Views) != 2 || b.Views[1] != (View{Node: "b", State: recloser.Isolated}) || b.NotShared != nil || b.Record.State != recloser.Isolated {
			t.Errorf("%+v", b)
		}
		<-time.After(53 * time.Second) // its end has passed
		both(0, recloser.HalfOpen)
		_ = succeed(t.Context(), ofB[0]) // refused: somebody wants to try
		for range 10 {
			<-time.After(time.Second)
			_ = succeed(t.Context(), ofB[0])
		}
		both(0, recloser.Closed)
	})
}

func TestNoStore(t *testing.T) {
	if _, err := New(Config{Fleet: "town", Node: "a"}, nil); err == nil || !strings.Contains(err.Error(), "no store") {
		t.Error(err)
	}
}

func TestUpdate(t *testing.T) {
	n, err := New(Config{Fleet: "town", Node: "a"}, NewMemory())
	if err != nil {
		t.Fatal(err)
	}
	if n.Update(Config{Rule: Rule{Rate: 2}}) == nil || n.c.cfg.Rule.Rate != 0.5 {
		t.Error("wrong settings were put in force")
	}
	if err := n.Update(Config{Fleet: "port", Node: "b", Settings: 7}); err != nil || n.c.cfg.Settings != 7 || n.c.cfg.Fleet != "town" || n.c.cfg.Node != "a" || n.c.cfg.Rule.Failures != 5 {
		t.Errorf("%v: %+v", err, n.c.cfg)
	}
}

func TestJoin(t *testing.T) {
	n, err := New(Config{Fleet: "town", Node: "a"}, NewMemory())
	if err != nil {
		t.Fatal(err)
	}
	b := newBreaker(t, "hotel")
	for name, wrong := range map[string][]*recloser.Breaker{
		"no name": {newBreaker(t, "")}, "control character": {newBreaker(t, "a\nb")}, "twice": {b, newBreaker(t, "hotel")},
	} {
		if n.Join(wrong...) == nil || len(n.Status().Breakers) > 0 {
			t.Errorf("%s: joined", name)
		}
	}
	if err := n.Join(b); err != nil {
		t.Fatal(err)
	}
	if n.Join(newBreaker(t, "hotel")) == nil {
		t.Error("a second one of that name joined")
	}
	if n.Isolate("inn", "ann", "why", time.Time{}) == nil {
		t.Error("a breaker was isolated that has not joined")
	}
	n.Leave("hotel")
	if len(n.Status().Breakers) != 0 {
		t.Error("it did not leave")
	}
}
