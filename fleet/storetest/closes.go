package storetest

import (
	"context"
	"errors"
	"runtime"
	"sync"
	"time"

	"github.com/recloser-go/recloser/fleet"
)

func closes() []testCase {
	return []testCase{
		{name: "Close", run: closeTwice},
		{name: "CloseWhileInUse", run: closeWhileInUse},
		{name: "NoGoroutineIsLeft", run: noGoroutineIsLeft},
		{name: "NoConnectionIsLeft", run: noConnectionIsLeft, needs: "Connections"},
	}
}

func closeTwice(t *test) {
	s, other := t.client(), t.client()
	d := t.create(s, "k", 1)
	v := t.follow(other)
	_, at := t.load(s)
	watched := t.watching(s, at)
	pass(50 * time.Millisecond)
	for range 3 {
		if err := s.Close(); err != nil {
			t.Fatalf("Close: %v", err)
		}
	}
	t.ends(watched, "when its store is closed", fleet.ErrClosed)
	for name, f := range methods(s, d, at) {
		if err := f(t.ctx()); !errors.Is(err, fleet.ErrClosed) {
			t.Errorf("%s of a closed store: %v, want ErrClosed", name, err)
		}
	}
	if s.Caps() != other.Caps() {
		t.Errorf("a closed store can %+v, others %+v", s.Caps(), other.Caps())
	}
	// The others go on, and what was put stays.
	t.put(other, d.Rev, fleet.Doc{Key: "k", Rev: after(d.Rev)})
	t.sees(v, other, "a change after another client was closed to be seen")
}

// closeWhileInUse closes a store from several sides while all its methods are in use.
func closeWhileInUse(t *test) {
	keep := t.client()
	d := t.create(keep, "k", 1)
	_, at := t.load(keep)
	for range 5 {
		s := t.client()
		var group, begun sync.WaitGroup
		for name, f := range methods(s, d, at) {
			begun.Add(1)
			group.Go(func() {
				began := sync.OnceFunc(begun.Done)
				end := t.ctx()
				for {
					ctx, cancel := context.WithTimeout(end, 100*time.Millisecond)
					err := f(ctx)
					cancel()
					began()
					if errors.Is(err, fleet.ErrClosed) {
						return
					}
					if end.Err() != nil {
						t.Errorf("%s after Close: %v, want ErrClosed", name, err)
						return
					}
				}
			})
		}
		begun.Wait()
		for range 2 {
			group.Go(func() {
				if err := s.Close(); err != nil {
					t.Errorf("Close: %v", err)
				}
			})
		}
		group.Wait()
		if t.Failed() {
			return
		}
	}
}

// use opens clients, uses them and closes them.
func (t *test) use(n int) {
	t.Helper()
	for range n {
		s := t.New(t.T, t.prefix)
		docs, at := t.load(s)
		t.put(s, docs["k"].Rev, fleet.Doc{Key: "k", Rev: after(docs["k"].Rev)})
		ctx, cancel := context.WithCancel(t.ctx())
		seen := make(chan error, 1)
		go func() { seen <- s.Watch(ctx, at, func(fleet.Doc) { cancel() }) }()
		watched := t.watching(s, at)
		t.ends(seen, "when it has seen a change", context.Canceled)
		if err := s.Close(); err != nil {
			t.Fatalf("Close: %v", err)
		}
		t.ends(watched, "when its store is closed", fleet.ErrClosed)
	}
}

func noGoroutineIsLeft(t *test) {
	t.use(1)
	before := runtime.NumGoroutine()
	t.use(10)
	t.eventually(func() bool { return runtime.NumGoroutine() <= before }, "goroutines of closed stores to end")
}

func noConnectionIsLeft(t *test) {
	s := t.client()
	t.create(s, "open", 1)
	open := t.Connections(t.T)
	if open == 0 {
		t.Fatal("the server has no connection with a client that uses it")
	}
	_ = s.Close()
	t.use(10)
	t.eventually(func() bool { return t.Connections(t.T) < open }, "connections of closed stores to be closed")
}
