package storetest

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/recloser-go/recloser/fleet"
)

func watches() []testCase {
	return []testCase{
		{name: "WatchSeesTheLastVersion", run: watchSeesTheLast},
		{name: "WatchFromAPosition", run: watchFromAPosition},
		{name: "WatchEndsWithItsContext", run: watchEndsWithContext},
		{name: "WatchAfterALostPush", run: watchAfterALostPush, needs: "Quiet"},
		{name: "WatchAfterLostConnections", run: watchAfterLostConnections, needs: "Drop"},
	}
}

// A view is what somebody knows who loads and watches, and loads again when the watch
// ends, as a node does.
type view struct {
	mu     sync.Mutex
	docs   map[string]fleet.Doc
	loads  int
	calls  int
	faults []string
	inside atomic.Int32
}

// follow keeps a view of the store until the test ends.
func (t *test) follow(s fleet.Store) *view {
	t.Helper()
	v := &view{}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	t.Cleanup(func() {
		cancel()
		<-ended
		v.mu.Lock()
		defer v.mu.Unlock()
		for _, fault := range v.faults {
			t.Error(fault)
		}
	})
	go func() {
		defer close(ended)
		for ctx.Err() == nil {
			docs, at, err := s.Load(ctx)
			if err != nil {
				continue
			}
			v.loaded(docs)
			err = s.Watch(ctx, at, v.changed)
			if err == nil {
				v.fault("Watch returned nil")
			}
		}
	}()
	t.eventually(func() bool { return v.times() > 0 }, "a first Load")
	return v
}

func (v *view) loaded(docs []fleet.Doc) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.loads++
	v.docs = map[string]fleet.Doc{}
	for _, d := range docs {
		v.docs[d.Key] = d
	}
}

func (v *view) changed(d fleet.Doc) {
	if v.inside.Add(1) != 1 {
		v.fault("Watch called f while f ran")
	}
	defer v.inside.Add(-1)
	pass(100 * time.Microsecond) // for another to come
	v.mu.Lock()
	defer v.mu.Unlock()
	v.calls++
	if before := v.docs[d.Key]; before.Rev.Epoch > d.Rev.Epoch {
		v.faults = append(v.faults, "Watch showed "+show(d)+" after "+show(before))
	}
	v.docs[d.Key] = d
}

func (v *view) fault(s string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.faults = append(v.faults, s)
}

func (v *view) times() int {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.loads
}

// is reports whether these are the documents that the view has.
func (v *view) is(docs map[string]fleet.Doc) bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	return maps.EqualFunc(v.docs, docs, alike)
}

// sees waits until the view is what is there.
func (t *test) sees(v *view, s fleet.Store, what string) {
	t.Helper()
	docs, _ := t.load(s)
	t.eventually(func() bool { return v.is(docs) }, what)
}

// churn changes n documents many times from all clients at once.
func (t *test) churn(all []fleet.Store, n, times int) {
	t.Helper()
	var group sync.WaitGroup
	for i, s := range all {
		group.Go(func() {
			now := map[string]fleet.Rev{}
			for j := range times {
				key := "k" + strconv.Itoa((i+j)%n)
				d, err := s.Put(t.ctx(), now[key], fleet.Doc{Key: key, Rev: after(now[key]), Slots: i, Data: []byte(strconv.Itoa(j))})
				if err != nil && !errors.Is(err, fleet.ErrConflict) {
					t.Errorf("Put: %v", err)
					return
				}
				now[key] = d.Rev
			}
		})
	}
	group.Wait()
}

// watchSeesTheLast watches from three places, two of them of one client.
func watchSeesTheLast(t *test) {
	all := t.clients(3)
	views := []*view{t.follow(all[0]), t.follow(all[0]), t.follow(all[1])}
	for range 3 {
		t.churn(all, 7, 40)
		for i, v := range views {
			t.sees(v, all[2], "watcher "+strconv.Itoa(i)+" to see the last version of each")
		}
	}
	for i, v := range views {
		if v.times() != 1 {
			t.Errorf("watcher %d had to load %d times, and nothing was wrong", i, v.times())
		}
		if v.calls < 7 {
			t.Errorf("watcher %d heard of %d changes", i, v.calls)
		}
	}
}

// watchFromAPosition loads while others change documents, and watches from there: what
// comes in between must not be missed.
func watchFromAPosition(t *test) {
	all := t.clients(3)
	t.create(all[0], "before", 1)
	var views []*view
	var group sync.WaitGroup
	group.Go(func() { t.churn(all[:2], 5, 60) })
	for range 8 {
		views = append(views, t.follow(all[2]))
	}
	group.Wait()
	for _, v := range views {
		t.sees(v, all[0], "somebody who began to watch meanwhile to see the last version of each")
	}

	// Each change after the position comes, although nobody watched then.
	docs, at := t.load(all[0])
	want := map[string]fleet.Rev{}
	for _, key := range []string{"k0", "k1", "new"} {
		d := t.put(all[1], docs[key].Rev, fleet.Doc{Key: key, Rev: after(docs[key].Rev)})
		want[key] = d.Rev
	}
	got := map[string]fleet.Rev{}
	ctx, cancel := context.WithCancel(t.ctx())
	defer cancel()
	err := all[2].Watch(ctx, at, func(d fleet.Doc) {
		got[d.Key] = d.Rev
		if maps.Equal(got, want) {
			cancel()
		}
	})
	if !maps.Equal(got, want) {
		t.Fatalf("Watch showed changes of %q and ended with %v; want %q", slices.Sorted(maps.Keys(got)), err, slices.Sorted(maps.Keys(want)))
	}
}

// watching watches until the store or the test ends it, and returns where it says why.
func (t *test) watching(s fleet.Store, after uint64) <-chan error {
	ended := make(chan error, 1)
	go func() { ended <- s.Watch(t.Context(), after, func(fleet.Doc) {}) }()
	return ended
}

// ends waits until a Watch ends, and fails unless it says so for that reason.
func (t *test) ends(watched <-chan error, when string, want error) {
	t.Helper()
	select {
	case err := <-watched:
		if !errors.Is(err, want) {
			t.Fatalf("Watch returned %v %s, want %v", err, when, want)
		}
	case <-time.After(t.Patience):
		t.Fatalf("Watch does not end %s", when)
	}
}

func watchEndsWithContext(t *test) {
	s := t.client()
	_, at := t.load(s)
	for _, end := range []error{context.Canceled, context.DeadlineExceeded} {
		ctx, cancel := context.WithCancel(t.Context())
		if errors.Is(end, context.DeadlineExceeded) {
			ctx, cancel = context.WithTimeout(t.Context(), 50*time.Millisecond)
		}
		got := make(chan error, 1)
		go func() { got <- s.Watch(ctx, at, func(fleet.Doc) {}) }()
		if errors.Is(end, context.Canceled) {
			pass(20 * time.Millisecond)
			cancel()
		}
		t.ends(got, "with its context", end)
		cancel()
	}
}

// watchAfterALostPush changes a document without anybody hearing of it. The change
// must be seen, if later, and although nothing else changes.
func watchAfterALostPush(t *test) {
	s := t.client()
	quiet := t.closing(t.Quiet(t.T, t.prefix))
	v := t.follow(s)
	t.create(quiet, "k", 1)
	t.sees(v, quiet, "a document that was not pushed to be seen")
	t.put(quiet, v.docs["k"].Rev, fleet.Doc{Key: "k", Rev: after(v.docs["k"].Rev)})
	t.sees(v, quiet, "a change that was not pushed to be seen")
}

func watchAfterLostConnections(t *test) {
	s, other := t.client(), t.client()
	v := t.follow(s)
	d := t.create(other, "k", 1)
	t.sees(v, other, "a document to be seen")
	for range 3 {
		t.Drop(t.T)
		t.eventually(func() bool { _, _, err := other.Load(t.Context()); return err == nil }, "the store to be found again")
		d = t.put(other, d.Rev, fleet.Doc{Key: "k", Rev: after(d.Rev)})
		t.sees(v, other, "a change after connections were lost to be seen")
	}
}
