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

func documents() []testCase {
	return []testCase{
		{name: "PutAndLoad", run: putAndLoad},
		{name: "LoadInOrder", run: loadInOrder},
		{name: "Data", run: data},
		{name: "OneWinnerOf50", run: oneWinner},
		{name: "CreateRace", run: createRace},
		{name: "NoLostUpdate", run: noLostUpdate},
		{name: "DocumentAge", run: documentAge},
		{name: "DocumentTTL", run: documentTTL},
		{name: "EndedContext", run: endedContext},
	}
}

func putAndLoad(t *test) {
	a, b := t.client(), t.client()
	if docs, _ := t.load(a); len(docs) != 0 {
		t.Fatalf("a new store has documents: %v", docs)
	}
	first := t.create(a, "k", 3)
	docs, _ := t.load(b)
	t.same("what another client loads", docs["k"], first)

	second := t.put(b, first.Rev, fleet.Doc{Key: "k", Rev: after(first.Rev), Slots: 1000, Data: []byte("two"), TTL: time.Hour})
	docs, _ = t.load(a)
	t.same("what the first client loads", docs["k"], second)

	for _, c := range []struct {
		name   string
		expect fleet.Rev
	}{
		{"the version before", first.Rev},
		{"none", fleet.Rev{}},
		{"its epoch with another id", fleet.Rev{Epoch: second.Rev.Epoch, ID: second.Rev.ID + 1}},
		{"its id with another epoch", fleet.Rev{Epoch: second.Rev.Epoch - 1, ID: second.Rev.ID}},
	} {
		got, err := a.Put(t.ctx(), c.expect, fleet.Doc{Key: "k", Rev: rev(9), Data: []byte("three")})
		if !errors.Is(err, fleet.ErrConflict) {
			t.Fatalf("Put that expects %s: %v, want ErrConflict", c.name, err)
		}
		t.same("the document that comes with the conflict", got, second)
	}
	got, err := a.Put(t.ctx(), first.Rev, fleet.Doc{Key: "other", Rev: after(first.Rev)})
	if !errors.Is(err, fleet.ErrConflict) || !alike(got, fleet.Doc{}) {
		t.Fatalf("Put of what is not there: %s, %v; want no document and ErrConflict", show(got), err)
	}
	docs, _ = t.load(b)
	t.same("what is there after the conflicts", docs["k"], second)
	if len(docs) != 1 {
		t.Fatalf("there are %d documents, want 1", len(docs))
	}

	// The epoch may leave numbers out, and an answer that was lost shows as a conflict with oneself.
	third := t.put(a, second.Rev, fleet.Doc{Key: "k", Rev: rev(second.Rev.Epoch + 100), Data: []byte("three")})
	got, err = a.Put(t.ctx(), second.Rev, third)
	if !errors.Is(err, fleet.ErrConflict) || got.Rev != third.Rev {
		t.Fatalf("the same Put again: %s, %v; want ErrConflict with itself", show(got), err)
	}
}

func loadInOrder(t *test) {
	s := t.client()
	keys := []string{"b", "a", "B", "A", "a/b", "a.b", "a b", "ab", "_", "-", "ä", "z", "Z", "é", "e", "10", "9", "日本", "🚂"}
	for _, k := range keys {
		t.create(s, k, 0)
	}
	docs, _, err := s.Load(t.ctx())
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, d := range docs {
		got = append(got, d.Key)
	}
	slices.Sort(keys)
	if !slices.Equal(got, keys) {
		t.Fatalf("Load returned the keys\n     %q\nwant %q", got, keys)
	}
}

func data(t *test) {
	s, other := t.client(), t.client()
	every := make([]byte, 0, 1024)
	for i := range 1024 {
		every = append(every, byte(i))
	}
	long := make([]byte, fleet.MaxData)
	for i := range long {
		long[i] = byte(i * i >> 3)
	}
	for i, b := range [][]byte{nil, {}, {0}, every, long, []byte(`"\'{}$1%s` + "\r\n\x1e")} {
		key := "k" + strconv.Itoa(i)
		in := slices.Clone(b)
		d := t.put(s, fleet.Rev{}, fleet.Doc{Key: key, Rev: fleet.Rev{Epoch: 1 << 63, ID: ^uint64(0) - uint64(i)}, Data: in})
		if len(in) > 0 {
			in[0]++ // theirs, not the store's
			d.Data[0] += 2
		}
		docs, _ := t.load(other)
		if string(docs[key].Data) != string(b) {
			t.Errorf("%d bytes of data came back as other %d", len(b), len(docs[key].Data))
		}
		if docs[key].Rev != d.Rev {
			t.Errorf("version %v came back as %v", d.Rev, docs[key].Rev)
		}
		next := fleet.Rev{Epoch: ^uint64(0), ID: uint64(i) + 1}
		t.put(other, d.Rev, fleet.Doc{Key: key, Rev: next, Data: b})
	}
}

// oneWinner has 50 put at once where the same version is expected.
func oneWinner(t *test) {
	all := t.clients(10)
	now := t.create(all[0], "k", 1)
	for range 5 {
		now = race(t, all, now.Rev)
	}
}

// createRace is the same where there is none.
func createRace(t *test) {
	race(t, t.clients(10), fleet.Rev{})
}

// race has 50 put at once, and returns the document of the only winner.
func race(t *test, all []fleet.Store, expect fleet.Rev) fleet.Doc {
	t.Helper()
	const n = 50
	var docs [n]fleet.Doc
	var errs [n]error
	var group sync.WaitGroup
	start := make(chan struct{})
	for i := range n {
		next := fleet.Doc{Key: "k", Rev: after(expect), Data: []byte(strconv.Itoa(i))}
		group.Go(func() {
			<-start
			docs[i], errs[i] = all[i%len(all)].Put(t.ctx(), expect, next)
		})
	}
	close(start)
	group.Wait()
	loaded, _ := t.load(all[0])
	won := 0
	for i, err := range errs {
		switch {
		case err == nil:
			won++
			if string(docs[i].Data) != strconv.Itoa(i) {
				t.Fatalf("%d won, and was told of %s", i, show(docs[i]))
			}
		case !errors.Is(err, fleet.ErrConflict):
			t.Fatalf("%d lost with %v, want ErrConflict", i, err)
		}
		t.same("what "+strconv.Itoa(i)+" was told", docs[i], loaded["k"])
	}
	if won != 1 {
		t.Fatalf("%d of %d won, want 1", won, n)
	}
	return loaded["k"]
}

// noLostUpdate counts in a document from many places at once.
func noLostUpdate(t *test) {
	const each = 25
	all := t.clients(4)
	t.put(all[0], fleet.Rev{}, fleet.Doc{Key: "n", Rev: rev(1), Data: []byte("0")})
	var failed atomic.Pointer[error]
	var group sync.WaitGroup
	for _, s := range all {
		group.Go(func() {
			for range each {
				if err := count(t.ctx(), s); err != nil {
					failed.Store(&err)
					return
				}
			}
		})
	}
	group.Wait()
	if err := failed.Load(); err != nil {
		t.Fatal(*err)
	}
	docs, _ := t.load(all[0])
	if want := strconv.Itoa(each * len(all)); string(docs["n"].Data) != want || docs["n"].Rev.Epoch != each*uint64(len(all))+1 {
		t.Fatalf("counted to %s, want %s", show(docs["n"]), want)
	}
}

// count adds one to what the document n holds.
func count(ctx context.Context, s fleet.Store) error {
	docs, _, err := s.Load(ctx)
	if err != nil {
		return err
	}
	for now := docs[0]; ; {
		n, err := strconv.Atoi(string(now.Data))
		if err != nil {
			return err
		}
		now, err = s.Put(ctx, now.Rev, fleet.Doc{Key: "n", Rev: after(now.Rev), Data: []byte(strconv.Itoa(n + 1))})
		if !errors.Is(err, fleet.ErrConflict) {
			return err
		}
	}
}

// between is when something happened, by this process's clock: not before the first
// and not after the second.
type between struct{ from, to time.Time }

// during returns when f ran.
func during(f func()) between {
	from := time.Now()
	f()
	return between{from, time.Now()}
}

// age fails unless an age that was asked for during asked can be that of what was done
// during done. Two clocks and their rounding differ by little in so short a time.
func (t *test) age(what string, age time.Duration, done, asked between) {
	t.Helper()
	const little = 5 * time.Millisecond
	least, most := asked.from.Sub(done.to)-little, asked.to.Sub(done.from)+little
	if age < max(0, least) || age > most {
		t.Fatalf("%s is said to be %s old, and is %s to %s", what, age, max(0, least), most)
	}
}

// pass lets real time pass: the servers under test have no other.
func pass(d time.Duration) { <-time.After(d) }

func documentAge(t *test) { t.documentAges(t.client(), t.client()) }

// documentAges looks at ages of documents that a puts and b sees, or the reverse.
func (t *test) documentAges(a, b fleet.Store) {
	t.Helper()
	var d, got fleet.Doc
	var docs map[string]fleet.Doc
	done := during(func() { d = t.create(a, "k", 1) })
	t.age("what Put returned", d.Age, done, done)
	for range 3 {
		pass(30 * time.Millisecond)
		for _, s := range []fleet.Store{a, b} {
			asked := during(func() { docs, _ = t.load(s) })
			t.age("what Load returned", docs["k"].Age, done, asked)
			asked = during(func() { got, _ = s.Put(t.ctx(), fleet.Rev{}, fleet.Doc{Key: "k", Rev: rev(1)}) })
			t.age("what came with a conflict", got.Age, done, asked)
		}
	}
	_, at := t.load(b)
	again := during(func() { d = t.put(b, d.Rev, fleet.Doc{Key: "k", Rev: after(d.Rev), Age: time.Hour}) })
	t.age("what replaced it", d.Age, again, again)
	pass(20 * time.Millisecond)
	asked := during(func() {
		ctx, cancel := context.WithCancel(t.ctx())
		defer cancel()
		_ = a.Watch(ctx, at, func(d fleet.Doc) { got = d; cancel() })
	})
	t.age("what Watch saw", got.Age, again, asked)
}

func documentTTL(t *test) {
	const ttl = 150 * time.Millisecond
	s, other := t.client(), t.client()
	stays := t.create(s, "stays", 1)
	var d fleet.Doc
	done := during(func() { d = t.put(s, fleet.Rev{}, fleet.Doc{Key: "k", Rev: rev(1), Slots: 1, TTL: ttl}) })
	t.vanishes("the document", done, ttl, func() bool { docs, _ := t.load(other); return docs["k"].Key == "k" })
	for _, expect := range []fleet.Rev{d.Rev} {
		if got, err := s.Put(t.ctx(), expect, fleet.Doc{Key: "k", Rev: after(expect)}); !errors.Is(err, fleet.ErrConflict) || got.Rev != (fleet.Rev{}) {
			t.Fatalf("Put where the document had vanished: %s, %v; want ErrConflict and none", show(got), err)
		}
	}
	if _, _, err := s.Acquire(t.ctx(), "k", d.Rev, "n", time.Minute); !errors.Is(err, fleet.ErrConflict) {
		t.Fatalf("Acquire where the document had vanished: %v, want ErrConflict", err)
	}
	for {
		var again fleet.Doc
		done := during(func() { again = t.put(s, fleet.Rev{}, fleet.Doc{Key: "k", Rev: rev(1), TTL: ttl}) })
		_, err := s.Put(t.ctx(), again.Rev, fleet.Doc{Key: "k", Rev: after(again.Rev)})
		if err == nil {
			break
		}
		if time.Since(done.from) < ttl { // else the machine was too busy to be in time
			t.Fatalf("Put on a document with a ttl: %v", err)
		}
	}
	pass(2 * ttl)
	docs, _ := t.load(other)
	if got := slices.Sorted(maps.Keys(docs)); !slices.Equal(got, []string{"k", "stays"}) {
		t.Fatalf("%q are left; want both that have no ttl, k as it was replaced by a version without", got)
	}
	t.same("what has no ttl", docs["stays"], stays)
}

// vanishes waits until something with a ttl is not there any more, which must not be
// before the ttl has passed since it was done.
func (t *test) vanishes(what string, done between, ttl time.Duration, there func() bool) {
	t.Helper()
	const little = 2 * time.Millisecond // rounding
	for {
		var is bool
		asked := during(func() { is = there() })
		switch lived := asked.to.Sub(done.from); {
		case !is && lived < ttl-little:
			t.Fatalf("%s was gone after %s, its ttl is %s", what, lived, ttl)
		case !is:
			return
		case asked.from.Sub(done.to) > ttl+t.Patience:
			t.Fatalf("%s is still there %s after its ttl", what, t.Patience)
		}
		pass(5 * time.Millisecond)
	}
}

// endedContext asks for something when it is too late.
func endedContext(t *test) {
	s := t.client()
	d := t.create(s, "k", 1)
	ctx, cancel := context.WithCancel(t.Context())
	_, at := t.load(s)
	cancel()
	for name, f := range methods(s, d, at) {
		if err := f(ctx); !errors.Is(err, context.Canceled) {
			t.Errorf("%s with an ended context: %v, want its error", name, err)
		}
	}
	docs, _ := t.load(s)
	t.same("the document", docs["k"], d)
}
