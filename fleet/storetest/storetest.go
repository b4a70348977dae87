// Package storetest holds the tests that every fleet.Store must pass. A store's own
// tests call Run.
package storetest

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/recloser-go/recloser/fleet"
	"github.com/recloser-go/recloser/internal/eventually"
)

// A Harness is how the tests reach the store under test and its server. What a store
// cannot do is nil, and Missing says why.
type Harness struct {
	// New returns a client; those of one prefix see the same, those of others nothing of
	// it. The tests close it. A prefix is up to 60 letters, digits and :-_ .
	New func(t testing.TB, prefix string) fleet.Store

	// Skewed returns a client like those of New, whose machine's clock is off.
	Skewed func(t testing.TB, prefix string, by time.Duration) fleet.Store

	// Quiet returns a client like those of New, whose pushes are lost: it changes
	// documents, and nobody hears of it.
	Quiet func(t testing.TB, prefix string) fleet.Store

	// Pause makes the server hang, as SIGSTOP does; Resume lets it go on.
	Pause, Resume func(t testing.TB)

	// Restart kills the server and starts it again. What it kept is there; clients
	// find it by themselves.
	Restart func(t testing.TB)

	// Flush makes the server forget everything.
	Flush func(t testing.TB)

	// Drop ends all connections of clients, at the server.
	Drop func(t testing.TB)

	// Connections returns how many clients' connections the server has.
	Connections func(t testing.TB) int

	// Patience is how long anything may take that must happen; 0: 10 s.
	Patience time.Duration

	// Missing says for each of the functions above that is nil why the store has no such
	// thing, by the function's name; Pause stands for Resume too. A function that is nil
	// without a reason is a failure.
	Missing map[string]string
}

// Run runs all tests, each as a subtest of its own with a harness that open returns for
// it, and says which do not apply.
func Run(t *testing.T, open func(t *testing.T) Harness) {
	for _, c := range cases() {
		t.Run(c.name, func(t *testing.T) {
			h := open(t)
			if err := h.check(); err != nil {
				t.Fatal(err)
			}
			if why := h.Missing[c.needs]; why != "" {
				t.Logf("NOT APPLICABLE to this store: it has no %s: %s", c.needs, why)
				return
			}
			if h.Patience == 0 {
				h.Patience = 10 * time.Second
			}
			c.run(&test{T: t, Harness: h, prefix: fmt.Sprintf("storetest-%x", rand.Uint64())})
		})
	}
}

type testCase struct {
	name  string
	run   func(*test)
	needs string // a function of the Harness that not every store has
}

func cases() []testCase {
	return slices.Concat(documents(), names(), watches(), rows(), leases(), elections(), faults(), closes())
}

// check reports a function that is neither there nor missing for a reason.
func (h *Harness) check() error {
	has := map[string]bool{
		"New": h.New != nil, "Skewed": h.Skewed != nil, "Quiet": h.Quiet != nil, "Pause": h.Pause != nil && h.Resume != nil,
		"Restart": h.Restart != nil, "Flush": h.Flush != nil, "Drop": h.Drop != nil, "Connections": h.Connections != nil,
	}
	for name := range h.Missing {
		if _, known := has[name]; !known {
			return fmt.Errorf("a Harness has no function %s, and Missing names it", name)
		}
	}
	for name, there := range has {
		if there == (h.Missing[name] != "") {
			return fmt.Errorf("a Harness must have a function %s, or else a reason under Missing[%q]: there %v, reason %q", name, name, there, h.Missing[name])
		}
	}
	return nil
}

type test struct {
	*testing.T
	Harness
	prefix string
}

// client returns a client of the test's own prefix.
func (t *test) client() fleet.Store {
	t.Helper()
	return t.closing(t.New(t.T, t.prefix))
}

func (t *test) clients(n int) []fleet.Store {
	t.Helper()
	all := make([]fleet.Store, n)
	for i := range all {
		all[i] = t.client()
	}
	return all
}

// closing has the client closed when the test ends.
func (t *test) closing(s fleet.Store) fleet.Store {
	t.Helper()
	if s == nil {
		t.Fatal("the harness returned no client")
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
	})
	return s
}

// eventually waits until cond holds.
func (t *test) eventually(cond func() bool, what string) {
	t.Helper()
	eventually.True(t.T, t.Patience, cond, what)
}

// ctx returns a context that ends with the test, or when all should be done.
func (t *test) ctx() context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), t.Patience)
	t.Cleanup(cancel)
	return ctx
}

// rev returns a new version.
func rev(epoch uint64) fleet.Rev { return fleet.Rev{Epoch: epoch, ID: rand.Uint64() | 1} }

// after returns a new version that may replace r.
func after(r fleet.Rev) fleet.Rev { return rev(r.Epoch + 1) }

// put puts a document that must be taken.
func (t *test) put(s fleet.Store, expect fleet.Rev, next fleet.Doc) fleet.Doc {
	t.Helper()
	d, err := s.Put(t.ctx(), expect, next)
	if err != nil {
		t.Fatalf("Put of %q: %v", next.Key, err)
	}
	t.same("what Put returned", d, next)
	return d
}

// create puts a new document under key.
func (t *test) create(s fleet.Store, key string, slots int) fleet.Doc {
	t.Helper()
	return t.put(s, fleet.Rev{}, fleet.Doc{Key: key, Rev: rev(1), Slots: slots, Data: []byte("of " + key)})
}

// load returns the documents by key.
func (t *test) load(s fleet.Store) (map[string]fleet.Doc, uint64) {
	t.Helper()
	docs, at, err := s.Load(t.ctx())
	if err != nil {
		t.Fatalf("Load: %v", err)
	}
	byKey := map[string]fleet.Doc{}
	for _, d := range docs {
		if _, twice := byKey[d.Key]; twice {
			t.Fatalf("Load returned %q twice", d.Key)
		}
		byKey[d.Key] = d
	}
	return byKey, at
}

// same fails unless got is want, but for its age.
func (t *test) same(what string, got, want fleet.Doc) {
	t.Helper()
	if !alike(got, want) {
		t.Fatalf("%s:\n got %s\nwant %s", what, show(got), show(want))
	}
}

func alike(a, b fleet.Doc) bool {
	return a.Key == b.Key && a.Rev == b.Rev && a.Slots == b.Slots && string(a.Data) == string(b.Data) && a.TTL == b.TTL
}

func show(d fleet.Doc) string {
	return fmt.Sprintf("%q rev %d/%x slots %d ttl %s data %.100q", d.Key, d.Rev.Epoch, d.Rev.ID, d.Slots, d.TTL, d.Data)
}
