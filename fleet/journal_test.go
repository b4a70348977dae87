package fleet_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/recloser-go/recloser/fleet"
)

// rev returns a version whose id can be told from others'.
func rev(epoch uint64) fleet.Rev { return fleet.Rev{Epoch: epoch, ID: epoch<<32 | 7} }

func open(t *testing.T, path string) *fleet.Journal {
	t.Helper()
	j, err := fleet.OpenJournal(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { closeStore(t, j) })
	return j
}

func closeStore(t *testing.T, s fleet.Store) {
	t.Helper()
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}

// put puts a document's version, above what is there.
func put(t *testing.T, s fleet.Store, key string, epoch uint64, data string) fleet.Doc {
	t.Helper()
	d, err := s.Put(t.Context(), load(t, s)[key].Rev, fleet.Doc{Key: key, Rev: rev(epoch), Slots: 3, Data: []byte(data)})
	if err != nil {
		t.Fatalf("Put of %s: %v", key, err)
	}
	return d
}

func load(t *testing.T, s fleet.Store) map[string]fleet.Doc {
	t.Helper()
	docs, _, err := s.Load(t.Context())
	if err != nil {
		t.Fatalf("Load: %v", err)
	}
	byKey := map[string]fleet.Doc{}
	for _, d := range docs {
		byKey[d.Key] = d
	}
	return byKey
}

func alike(a, b fleet.Doc) bool {
	return a.Key == b.Key && a.Rev == b.Rev && a.Slots == b.Slots && a.TTL == b.TTL && bytes.Equal(a.Data, b.Data)
}

func TestJournalRemembers(t *testing.T) {
	path := filepath.Join(t.TempDir(), "journal")
	j := open(t, path)
	first := put(t, j, "a", 1, "one")
	d := put(t, j, "a", 2, "two")
	e := put(t, j, "b", 1, strings.Repeat("x", fleet.MaxData))
	l, _, err := j.Acquire(t.Context(), "a", d.Rev, "n", time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	closeStore(t, j)

	j = open(t, path)
	docs := load(t, j)
	if len(docs) != 2 || !alike(docs["a"], d) || !alike(docs["b"], e) || j.Dropped() != 0 {
		t.Fatalf("after a restart there are %d documents, %d bytes dropped", len(docs), j.Dropped())
	}
	if got, err := j.Put(t.Context(), first.Rev, fleet.Doc{Key: "a", Rev: rev(9)}); !errors.Is(err, fleet.ErrConflict) || !alike(got, d) {
		t.Fatalf("Put on the version before the last: %v %v, want ErrConflict", got, err)
	}
	if _, err := j.Finish(t.Context(), l, fleet.Good); !errors.Is(err, fleet.ErrStale) {
		t.Fatalf("Finish of a lease from before the restart: %v, want ErrStale", err)
	}
	if _, tally, err := j.Acquire(t.Context(), "a", d.Rev, "n", time.Hour); err != nil || tally != (fleet.Tally{Running: 1}) {
		t.Fatalf("Acquire after the restart: %v %v, want the first lease", tally, err)
	}
	d = put(t, j, "a", 3, "three")
	closeStore(t, j)
	if docs := load(t, open(t, path)); !alike(docs["a"], d) {
		t.Fatalf("after another restart there is %v, want %v", docs["a"], d)
	}
}

// A version that reads another schema must know it by the first line, also when there is no other.
func TestJournalSaysItsSchema(t *testing.T) {
	path := filepath.Join(t.TempDir(), "journal")
	for range 2 {
		closeStore(t, open(t, path))
		if text, err := os.ReadFile(path); err != nil || string(text) != fleet.HeadLine(1) {
			t.Errorf("a new journal is %q, %v; want its schema", text, err)
		}
	}
}

// A second that opens the file would write over what the first one wrote.
func TestJournalIsForOne(t *testing.T) {
	path := filepath.Join(t.TempDir(), "journal")
	j := open(t, path)
	if _, err := fleet.OpenJournal(path); err == nil || !strings.Contains(err.Error(), "in use by another process: give each its own file") {
		t.Fatalf("opened a second time: %v", err)
	}
	d := put(t, j, "a", 1, "one")
	closeStore(t, j)
	if docs := load(t, open(t, path)); !alike(docs["a"], d) {
		t.Fatalf("there is %v, want %v", docs["a"], d)
	}
}

func TestJournalCannotBeOpened(t *testing.T) {
	dir := t.TempDir()
	newer := filepath.Join(dir, "newer")
	text := fleet.HeadLine(2) + fleet.Line(fleet.Doc{Key: "a", Rev: rev(1)}, 0)
	if err := os.WriteFile(newer, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	folder := filepath.Join(dir, "folder")
	if err := os.Mkdir(folder, 0o700); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ path, want string }{
		{filepath.Join(dir, "none", "journal"), "there is no folder " + filepath.Join(dir, "none") + ": create it"},
		{newer, "it is of schema 2, and this version reads up to 1: use a newer version, or another file"},
		{folder, "fleet: journal " + folder + ": "},
	} {
		for range 2 { // whoever could not open it does not hold it
			if _, err := fleet.OpenJournal(c.path); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%s: %v, want %q", c.path, err, c.want)
			}
		}
	}
	if after, err := os.ReadFile(newer); err != nil || string(after) != text {
		t.Errorf("the journal of a newer schema was changed: %q, %v", after, err)
	}
}

// Time goes on while the process is away, and a clock that was set makes nothing last
// for longer than its whole length.
func TestJournalAges(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		path := filepath.Join(dir, "journal")
		j := open(t, path)
		put(t, j, "a", 1, "one")
		if _, err := j.Put(t.Context(), fleet.Rev{}, fleet.Doc{Key: "short", Rev: rev(1), TTL: time.Hour}); err != nil {
			t.Fatal(err)
		}
		<-time.After(40 * time.Minute)
		closeStore(t, j)
		j = open(t, path)
		docs := load(t, j)
		if docs["a"].Age != 40*time.Minute || docs["short"].Age != 40*time.Minute {
			t.Fatalf("after 40 minutes the documents are %s and %s old", docs["a"].Age, docs["short"].Age)
		}
		<-time.After(19 * time.Minute)
		closeStore(t, j)
		j = open(t, path)
		if docs := load(t, j); docs["a"].Age != 59*time.Minute || len(docs) != 2 {
			t.Fatalf("after 59 minutes there are %v", docs)
		}
		<-time.After(time.Minute)
		if docs := load(t, j); len(docs) != 1 {
			t.Fatalf("after an hour there are %v, want one that has no ttl", docs)
		}
		closeStore(t, j)
		if docs := load(t, open(t, path)); docs["a"].Age != time.Hour || len(docs) != 1 {
			t.Fatalf("after an hour and a restart there are %v", docs)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		path := filepath.Join(dir, "set back")
		d := fleet.Doc{Key: "a", Rev: rev(1), TTL: time.Hour}
		future := time.Now().Add(1000 * time.Hour).UnixNano()
		if err := os.WriteFile(path, []byte(fleet.HeadLine(1)+fleet.Line(d, future)), 0o600); err != nil {
			t.Fatal(err)
		}
		j := open(t, path)
		if got := load(t, j)["a"]; !alike(got, d) || got.Age != 0 {
			t.Fatalf("put in the future is %v, want an age of 0", got)
		}
		<-time.After(time.Hour)
		if docs := load(t, j); len(docs) != 0 {
			t.Fatalf("put in the future stays longer than its ttl: %v", docs)
		}
	})
}

// The file is written anew when it has grown by 1 MB, and not before; if what is
// there is longer, when it has grown by as much.
func TestJournalSnapshot(t *testing.T) {
	path := filepath.Join(t.TempDir(), "journal")
	j := open(t, path)
	size := func() int64 {
		t.Helper()
		info, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		return info.Size()
	}
	data := strings.Repeat("x", 48<<10) // 64 kB as base64
	var most, last int64
	snapshots := 0
	for epoch := range uint64(60) {
		put(t, j, "a", epoch+1, data)
		if now := size(); now < last {
			snapshots++
			if now > 70_000 || most < fleet.SnapshotAt-70_000 {
				t.Fatalf("written anew at %d bytes, %d remain", most, now)
			}
			last, most = now, now
		} else {
			last, most = now, max(most, now)
		}
		if most > fleet.SnapshotAt+140_000 {
			t.Fatalf("the file has %d bytes for one document", most)
		}
	}
	if snapshots < 2 {
		t.Fatalf("written anew %d times", snapshots)
	}
	// 40 that are 2.6 MB together: not written anew with each Put.
	for i := range 40 {
		put(t, j, fmt.Sprint("b", i), 1, data)
	}
	snapshots, last = 0, size()
	for epoch := range uint64(80) {
		put(t, j, "a", epoch+100, data)
		if now := size(); now < last {
			snapshots++
		}
		last = size()
	}
	if snapshots < 1 || snapshots > 3 {
		t.Fatalf("2.6 MB were written anew %d times while 5 MB were put", snapshots)
	}
	before := load(t, j)
	closeStore(t, j)
	after := load(t, open(t, path))
	for key, d := range before {
		if !alike(after[key], d) {
			t.Fatalf("%s was lost", key)
		}
	}
	if _, err := os.Stat(path + ".new"); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a file is left beside it: %v", err)
	}
}

// Every Watch and Put of the process ends with its journal.
func TestJournalCloses(t *testing.T) {
	j := open(t, filepath.Join(t.TempDir(), "journal"))
	other := j.Share()
	_, at, err := other.Load(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	watched := make(chan error, 1)
	go func() { watched <- other.Watch(t.Context(), at, func(fleet.Doc) {}) }()
	closeStore(t, j)
	if err := <-watched; !errors.Is(err, fleet.ErrClosed) {
		t.Errorf("Watch: %v, want ErrClosed", err)
	}
	if _, err := other.Put(t.Context(), fleet.Rev{}, fleet.Doc{Key: "a", Rev: rev(1)}); !errors.Is(err, fleet.ErrClosed) {
		t.Errorf("Put: %v, want ErrClosed", err)
	}
}
