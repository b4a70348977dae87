package sharing

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/recloser-go/recloser/fleet"
	"github.com/recloser-go/recloser/gateway/internal/history"
)

// link is a node's way to the store, which may be cut.
type link struct {
	fleet.Store

	mu  sync.Mutex
	cut error
	end context.CancelCauseFunc // of the watch that runs
}

func (l *link) set(cut error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.cut = cut
	if cut != nil && l.end != nil {
		l.end(cut)
	}
}

func (l *link) err() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.cut
}

func (l *link) Load(ctx context.Context) ([]fleet.Doc, uint64, error) {
	if err := l.err(); err != nil {
		return nil, 0, err
	}
	return l.Store.Load(ctx)
}

func (l *link) Put(ctx context.Context, expect fleet.Rev, next fleet.Doc) (fleet.Doc, error) {
	if err := l.err(); err != nil {
		return fleet.Doc{}, err
	}
	return l.Store.Put(ctx, expect, next)
}

func (l *link) Watch(ctx context.Context, after uint64, f func(fleet.Doc)) error {
	ctx, cancel := context.WithCancelCause(ctx)
	l.mu.Lock()
	l.end = cancel
	l.mu.Unlock()
	err := l.Store.Watch(ctx, after, f)
	if cause := context.Cause(ctx); cause != nil {
		return cause
	}
	return err
}

// parks returns a store that a node of the fleet of that name has taken.
func parks(t *testing.T) fleet.Store {
	t.Helper()
	store := fleet.NewMemory()
	take(t, store, fleet.Rev{}, 1, "parks")
	return store
}

func take(t *testing.T, store fleet.Store, expect fleet.Rev, epoch uint64, name string) {
	t.Helper()
	d := fleet.Doc{Key: "about", Rev: fleet.Rev{Epoch: epoch, ID: epoch}, Data: fmt.Appendf(nil, `{"schema":1,"fleet":%q}`, name)}
	if _, err := store.Put(t.Context(), expect, d); err != nil {
		t.Fatal(err)
	}
}

type node struct {
	*Sharing
	h    *history.History
	link *link
	told []string
}

func start(t *testing.T, store fleet.Store) *node {
	t.Helper()
	n := &node{link: &link{Store: store}}
	n.h = history.Open(history.Options{Fleet: func() { n.Wake() }})
	n.Sharing = New(Options{
		Store: n.link, Fleet: "parks", History: n.h, Log: slog.New(slog.DiscardHandler),
		Changed: func(s history.Shared) { n.told = append(n.told, s.Kind+" "+s.ID) },
	})
	n.Start()
	return n
}

func (n *node) end(t *testing.T) {
	t.Helper()
	n.Stop(t.Context())
	if err := n.h.Close(context.WithoutCancel(t.Context())); err != nil {
		t.Error(err)
	}
}

func (n *node) put(t *testing.T, id, value string) {
	t.Helper()
	change := history.DeleteDependency(id)
	if value != "" {
		change = history.PutDependency(id, []byte(value))
	}
	if err := n.h.Commit(t.Context(), history.Act{}, change); err != nil {
		t.Fatal(err)
	}
}

// has returns what is in force: "a=1 b=2".
func (n *node) has(t *testing.T) string {
	t.Helper()
	all, err := n.h.Dependencies(t.Context())
	if err != nil {
		t.Error(err)
	}
	var s []string
	for _, d := range all {
		s = append(s, d.ID+"="+string(d.Definition))
	}
	return strings.Join(s, " ")
}

func alike(t *testing.T, want string, nodes ...*node) {
	t.Helper()
	pass(2 * longestPause)
	for i, n := range nodes {
		if got := n.has(t); got != want {
			t.Errorf("node %d has %q, want %q", i, got, want)
		}
	}
}

func TestShares(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := parks(t)
		a, b := start(t, store), start(t, store)
		a.put(t, "x", "1")
		b.put(t, "y", "1")
		alike(t, "x=1 y=1", a, b)
		b.put(t, "x", "2")
		a.put(t, "y", "")
		alike(t, "x=2", a, b)
		c := start(t, store)
		alike(t, "x=2", c)
		for _, n := range []*node{a, b, c} {
			n.end(t)
		}
		if want := []string{"dependency x", "dependency y"}; !slices.Equal(b.told, want) {
			t.Errorf("b was told of %q, want %q", b.told, want)
		}
	})
}

// What is done while the store is away is shared when it is back, and the last one wins.
func TestStoreIsAway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := parks(t)
		a, b := start(t, store), start(t, store)
		a.put(t, "x", "1")
		alike(t, "x=1", a, b)
		away := errors.New("connection refused")
		a.link.set(away)
		pass(time.Minute)
		if err := a.Fault(); !errors.Is(err, away) {
			t.Errorf("its fault is %v", err)
		}
		a.put(t, "x", "of a")
		a.put(t, "z", "1")
		b.put(t, "x", "of b")
		b.put(t, "y", "1")
		alike(t, "x=of b y=1", b)
		alike(t, "x=of a z=1", a)
		a.link.set(nil)
		alike(t, "x=of a y=1 z=1", a, b)
		if err := a.Fault(); err != nil {
			t.Errorf("its fault is %v", err)
		}
		a.end(t)
		b.end(t)
	})
}

// A node that was away learns what is no more; it does not bring it back.
func TestDeletedWhileAway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := parks(t)
		a, b := start(t, store), start(t, store)
		a.put(t, "x", "1")
		alike(t, "x=1", a, b)
		b.link.set(errors.New("cut off"))
		a.put(t, "x", "")
		pass(time.Hour)
		b.link.set(nil)
		alike(t, "", a, b)
		a.end(t)
		b.end(t)
	})
}

// A store that has lost everything, or its last writes, gets them again.
func TestStoreLosesThings(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		before, after := parks(t), parks(t)
		a := start(t, before)
		a.put(t, "x", "1")
		a.put(t, "w", "1")
		alike(t, "w=1 x=1", a)
		docs, _, err := before.Load(t.Context())
		if err != nil || len(docs) != 3 { // one says whose they are
			t.Fatal(docs, err)
		}
		for _, d := range docs { // the other server has an old version of x and no w
			if d.Key == keyOf(history.Shared{Kind: "dependency", ID: "x"}) {
				if _, err := after.Put(t.Context(), fleet.Rev{}, d); err != nil {
					t.Fatal(err)
				}
			}
		}
		a.put(t, "x", "2")
		alike(t, "w=1 x=2", a)
		a.link.mu.Lock()
		a.link.Store = after
		a.link.mu.Unlock()
		a.link.set(fleet.ErrResync)
		a.link.set(nil)
		b := start(t, after)
		alike(t, "w=1 x=2", a, b)
		a.end(t)
		b.end(t)
	})
}

// What nodes disagree about while each reaches the store now and then comes to the same.
func TestConverges(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := parks(t)
		nodes := []*node{start(t, store), start(t, store), start(t, store)}
		for i := range 300 {
			n := nodes[i*7%3]
			value := fmt.Sprint(i)
			if i%11 == 0 {
				value = ""
			}
			n.put(t, string(rune('a'+i%5)), value)
			if i%13 == 0 {
				n.link.set(errors.New("cut off"))
			}
			if i%17 == 0 {
				for _, n := range nodes {
					n.link.set(nil)
				}
				pass(time.Duration(i) * 100 * time.Millisecond)
			}
		}
		for _, n := range nodes {
			n.link.set(nil)
		}
		pass(time.Minute)
		alike(t, nodes[0].has(t), nodes...)
		for _, n := range nodes {
			n.end(t)
		}
	})
}

// What alerts keep goes from one node to the other as it is.
func TestAlertsAreShared(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := parks(t)
		a, b := start(t, store), start(t, store)
		if err := a.h.Commit(t.Context(), history.Act{}, history.PutIncident("h", json.RawMessage(`{"n":1}`)), history.PutDelivery("00/1", json.RawMessage(`"d"`))); err != nil {
			t.Fatal(err)
		}
		pass(time.Second)
		incidents, err := b.h.Incidents(t.Context())
		deliveries, err2 := b.h.Deliveries(t.Context())
		if err != nil || err2 != nil || fmt.Sprintf("%s %s", incidents, deliveries) != `[{h {"n":1}}] [{00/1 "d"}]` {
			t.Errorf("got %s, %s, %v, %v", incidents, deliveries, err, err2)
		}
		a.end(t)
		b.end(t)
	})
}

// What is no more is known until the store has forgotten it, and not for ever: messages are
// many.
func TestForgets(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := parks(t)
		a, b := start(t, store), start(t, store)
		keep := func(value json.RawMessage) {
			t.Helper()
			for i := range 100 {
				if err := a.h.Commit(t.Context(), history.Act{}, history.PutDelivery(fmt.Sprint(i), value)); err != nil {
					t.Fatal(err)
				}
			}
			pass(time.Minute)
		}
		known := func(want int) {
			t.Helper()
			for i, n := range []*node{a, b} {
				if all, err := n.h.AllShared(t.Context()); err != nil || len(all) != want {
					t.Errorf("node %d knows of %d, %v; want %d", i, len(all), err, want)
				}
			}
		}
		keep(json.RawMessage(`"d"`))
		keep(nil)
		known(100)
		pass(2*anew + time.Minute)
		known(0)
		if err := a.Fault(); err != nil {
			t.Errorf("its fault is %v", err)
		}
		a.end(t)
		b.end(t)
	})
}

func pass(d time.Duration) { <-time.After(d) }
