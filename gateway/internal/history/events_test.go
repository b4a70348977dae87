package history

import (
	"fmt"
	"reflect"
	"sync"
	"testing"
	"time"

	"github.com/recloser-go/recloser/internal/eventually"
)

func TestEventIsKeptWhole(t *testing.T) {
	h := openOn(t, inFolder(t))
	want := Event{
		At: noon.Add(7 * time.Millisecond), Dependency: "hotel-1", Kind: KindTransition, From: "closed", To: "open", Reason: "run",
		By: "by", Note: "note", Cause: "cause", OpenFor: 1500 * time.Millisecond, Step: 2, Good: 3, Failed: 4, Slow: 5, Run: 6, Text: "text", Key: "p7",
	}
	want.ID = h.Record(want)
	events, err := h.Events(t.Context(), EventQuery{})
	if err != nil || len(events) != 1 || !reflect.DeepEqual(events[0], want) {
		t.Errorf("%+v %v, want %+v", events, err, want)
	}
}

// An id is known at once and never comes again, even if the file is lost or the
// clock is put back.
func TestIDsGrow(t *testing.T) {
	in := func(d time.Duration) func() time.Time { return func() time.Time { return time.Now().Add(d) } }
	path := inFolder(t)
	last := int64(0)
	for round, options := range []func(*Options){
		func(o *Options) {},
		func(o *Options) { o.Now = func() time.Time { return noon } }, // years ago
		func(o *Options) { o.Path, o.Now = "", in(time.Second) },
		func(o *Options) { o.Path, o.Now = path+".other", in(2*time.Second) },
	} {
		h := openOn(t, path, options)
		for range 3 {
			id := h.Record(Event{Kind: KindProbe})
			if id <= last {
				t.Errorf("round %d: %d after %d", round, id, last)
			}
			last = id
		}
		_ = h.Close(t.Context())
	}
}

// Nobody reads or closes: what was recorded is on disk by itself.
func TestEventsGetToDisk(t *testing.T) {
	path := inFolder(t)
	h := openOn(t, path)
	id := h.Record(Event{Kind: KindTransition, To: "open"})
	db, err := connect(uri(path), 1)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	eventually.True(t, 10*time.Second, func() bool {
		var n int
		return db.QueryRowContext(t.Context(), `SELECT count(*) FROM event WHERE id = ?`, id).Scan(&n) == nil && n == 1
	}, "the event in the file")
}

// While the disk is busy events wait, not callers, and there is an end to what
// waits.
func TestRecordNeverWaits(t *testing.T) {
	h := openOn(t, inFolder(t))
	<-h.turn // as if something were being written
	for range queued + 10 {
		h.Record(Event{Kind: KindProbe})
	}
	if s := h.Status(); s.Lost != 10 {
		t.Errorf("lost %d, want 10", s.Lost)
	}
	h.give()
}

func TestFollow(t *testing.T) {
	h := openOn(t, inFolder(t))
	first := h.Record(Event{Text: "first"})
	for i := range 50 {
		h.Record(Event{Text: fmt.Sprint(i)})
	}
	var writers, readers sync.WaitGroup
	for range 2 {
		writers.Go(func() {
			for i := range 80 {
				h.Record(Event{Text: fmt.Sprint(i)})
			}
		})
	}
	const all = 50 + 2*80
	for range 3 {
		readers.Go(func() {
			backlog, live, stop := h.Follow(first)
			defer stop()
			last, n := first, 0
			see := func(e Event) {
				if e.ID <= last {
					t.Errorf("%d after %d", e.ID, last)
				}
				last = e.ID
				n++
			}
			for _, e := range backlog {
				see(e)
			}
			for n < all {
				select {
				case e, ok := <-live:
					if !ok {
						t.Error("closed")
						return
					}
					see(e)
				case <-time.After(10 * time.Second):
					t.Errorf("%d of %d events came", n, all)
					return
				}
			}
		})
	}
	writers.Wait()
	readers.Wait()
}

func TestFollowEnds(t *testing.T) {
	h := openOn(t, inFolder(t))
	h.Record(Event{})
	backlog, slow, _ := h.Follow(0)
	if len(backlog) != 0 {
		t.Errorf("after 0 there is a backlog: %v", backlog)
	}
	_, stopped, stop := h.Follow(0)
	stop()
	stop()
	for range behind + 1 {
		h.Record(Event{})
	}
	if n := len(h.readers); n != 0 {
		t.Errorf("%d are followed still", n)
	}
	_, atEnd, _ := h.Follow(0)
	closed(t, h)
	_, late, _ := h.Follow(0)
	for what, c := range map[string]<-chan Event{"slow": slow, "stopped": stopped, "closed": atEnd, "after": late} {
		n := 0
		for range c { // ends only if it is closed
			n++
		}
		if want := map[string]int{"slow": behind}[what]; n != want {
			t.Errorf("%s: %d events, want %d", what, n, want)
		}
	}
}
