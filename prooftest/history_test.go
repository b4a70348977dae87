package prooftest

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"
	"github.com/recloser-go/recloser/fleet"
)

var errLost = errors.New("the answer got lost")

func TestHistoryOfMemory(t *testing.T) {
	var all [][]porcupine.Operation
	for range 20 {
		store := fleet.NewMemory()
		all = append(all, record(t, func() fleet.Store { return store.Share() }))
	}
	mustBeExplained(t, all...)
}

// Answers that get lost, of what was done and of what was not.
func TestHistoryWithLostAnswers(t *testing.T) {
	var all [][]porcupine.Operation
	for range 20 {
		store := fleet.NewMemory()
		var n atomic.Int64
		all = append(all, record(t, func() fleet.Store { return &bad{Store: store, loses: &n} }))
	}
	mustBeExplained(t, all...)
}

// A store that does any of this is found out, most times at once.
func TestBadStoresAreFoundOut(t *testing.T) {
	for name, is := range map[string]bad{
		"Put does not compare":               {blind: true},
		"Put says no after it was done":      {denies: true},
		"Load says what was there before":    {old: &atomic.Pointer[[]fleet.Doc]{}},
		"Acquire knows no bound":             {generous: true},
		"Acquire takes a slot and says no":   {greedy: true},
		"a verdict is counted twice":         {twice: true},
		"everybody is elected":               {flatters: true},
		"who is not elected is so next time": {forgets: true},
	} {
		t.Run(name, func(t *testing.T) {
			for range 20 {
				store := fleet.NewMemory()
				fault, err := explain(record(t, func() fleet.Store {
					is.Store = store
					own := is
					return &own
				}))
				if err != nil {
					t.Fatal(err)
				}
				if fault != "" {
					t.Log(fault)
					return
				}
			}
			t.Error("all that it said could be explained")
		})
	}
}

// bad is a store that is not as it should be.
type bad struct {
	fleet.Store
	loses                                                     *atomic.Int64 // every 25th answer
	old                                                       *atomic.Pointer[[]fleet.Doc]
	blind, denies, generous, greedy, twice, flatters, forgets bool
}

// lost reports whether the next answer gets lost, and whether what was asked is done.
func (b *bad) lost() (lost, done bool) {
	if b.loses == nil {
		return false, true
	}
	n := b.loses.Add(1)
	return n%25 == 0, n%50 == 0 || n%25 != 0
}

func (b *bad) Put(ctx context.Context, expect fleet.Rev, next fleet.Doc) (d fleet.Doc, err error) {
	lost, done := b.lost()
	if done {
		d, err = b.Store.Put(ctx, expect, next)
	}
	switch {
	case lost:
		return fleet.Doc{}, errLost
	case err != nil && b.blind:
		next.Rev.Epoch = d.Rev.Epoch + 1
		return b.Store.Put(ctx, d.Rev, next)
	case err == nil && b.denies && d.Rev.ID%4 == 1:
		return fleet.Doc{}, fleet.ErrConflict
	}
	return d, err
}

func (b *bad) Load(ctx context.Context) ([]fleet.Doc, uint64, error) {
	docs, at, err := b.Store.Load(ctx)
	if b.old == nil {
		return docs, at, err
	}
	if before := b.old.Swap(&docs); before != nil {
		return *before, at, err
	}
	return docs, at, err
}

func (b *bad) Acquire(ctx context.Context, key string, rev fleet.Rev, node string, ttl time.Duration) (l fleet.Lease, t fleet.Tally, err error) {
	lost, done := b.lost()
	if done {
		l, t, err = b.Store.Acquire(ctx, key, rev, node, ttl)
	}
	switch {
	case lost:
		return fleet.Lease{}, fleet.Tally{}, errLost
	case b.generous && errors.Is(err, fleet.ErrNoSlot):
		t.Running++
		return fleet.Lease{Key: key, Rev: rev, Token: 1, TTL: ttl}, t, nil
	case b.greedy && err == nil && l.Token%2 == 0:
		t.Running--
		return fleet.Lease{}, t, fleet.ErrNoSlot
	}
	return l, t, err
}

func (b *bad) Finish(ctx context.Context, l fleet.Lease, r fleet.Result) (t fleet.Tally, err error) {
	lost, done := b.lost()
	if done {
		t, err = b.Store.Finish(ctx, l, r)
	}
	switch {
	case lost:
		return fleet.Tally{}, errLost
	case b.twice && errors.Is(err, fleet.ErrStale):
		return t, nil
	}
	return t, err
}

func (b *bad) Elect(ctx context.Context, role, node string, ttl time.Duration) (holder string, err error) {
	lost, done := b.lost()
	if done {
		holder, err = b.Store.Elect(ctx, role, node, ttl)
	}
	switch {
	case lost:
		return "", errLost
	case b.flatters && ttl > 0:
		return node, err
	case b.forgets && ttl > 0 && err == nil && holder != node:
		_, err = b.Store.Elect(ctx, role, holder, 0)
	}
	return holder, err
}
