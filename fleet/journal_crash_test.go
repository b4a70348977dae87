package fleet_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/recloser-go/recloser/fleet"
	"github.com/recloser-go/recloser/internal/eventually"
)

var errFull = errors.New("no space left")

func openOn(t *testing.T, p *platter) *fleet.Journal {
	t.Helper()
	j, err := fleet.OpenJournalOn("journal", p)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { closeStore(t, j) })
	return j
}

// A try is a version that somebody tried to put.
type try struct {
	doc  fleet.Doc
	done bool // Put returned without an error
}

// TestJournalCrashes lets several put while the disk fails now and then, stops the
// machine, and looks at what the journal remembers, again and again: what was done is
// there, and nothing that nobody tried.
func TestJournalCrashes(t *testing.T) {
	const keys, lives, rounds = 4, 10, 12
	for round := range uint64(rounds) {
		seed := rand.Uint64()
		r := rand.New(rand.NewPCG(seed, round))
		p := newPlatter(nil)
		var tries [keys][]try
		for life := range lives {
			j, err := fleet.OpenJournalOn("journal", p)
			if err != nil {
				t.Fatal(err)
			}
			docs := load(t, j)
			for k := range tries {
				tries[k] = remembered(t, fmt.Sprintf("seed %d, round %d, life %d", seed, round, life), docs[fmt.Sprint("k", k)], tries[k])
			}
			flaky := rand.New(rand.NewPCG(seed, uint64(life)))
			odds := []int{1 << 30, 40, 5}[r.IntN(3)]
			p.fails(func(_ string, b []byte) (int, error) {
				if flaky.IntN(odds) == 0 {
					return flaky.IntN(len(b) + 1), errFull
				}
				return 0, nil
			})
			crashed := liveAndCrash(t, j, p, &tries, r)
			closeStore(t, j)
			p = crashed
		}
	}
}

// liveAndCrash puts versions of each key at once, and returns what the disk holds when the
// machine stops meanwhile.
func liveAndCrash(t *testing.T, j *fleet.Journal, p *platter, tries *[4][]try, r *rand.Rand) *platter {
	t.Helper()
	var group sync.WaitGroup
	stopAt := r.IntN(60)
	size := []int{10, 1000, 20_000}[r.IntN(3)]
	var mu sync.Mutex
	var puts int
	var crashed *platter
	for k := range tries {
		group.Go(func() {
			now := fleet.Rev{}
			if n := len(tries[k]); n > 0 {
				now = tries[k][n-1].doc.Rev
			}
			for range 20 {
				next := fleet.Doc{Key: fmt.Sprint("k", k), Rev: rev(now.Epoch + 1), Data: []byte(strings.Repeat("x", size))}
				mu.Lock()
				stopped := crashed != nil
				if !stopped {
					tries[k] = append(tries[k], try{doc: next})
				}
				mu.Unlock()
				if stopped {
					return
				}
				_, err := j.Put(t.Context(), now, next)
				mu.Lock()
				if crashed == nil && err == nil {
					tries[k][len(tries[k])-1].done = true
				}
				if puts++; puts == stopAt {
					crashed = p.crash(r)
				}
				mu.Unlock()
				now = next.Rev // it is there, whether it was written or not
			}
		})
	}
	group.Wait()
	if crashed == nil {
		crashed = p.crash(r)
	}
	return crashed
}

// remembered fails unless what is there is the last version that was done, or one of
// those tried after it. It returns what was tried up to that.
func remembered(t *testing.T, when string, got fleet.Doc, tries []try) []try {
	t.Helper()
	for i, tried := range slices.Backward(tries) {
		if alike(got, tried.doc) {
			return tries[:i+1]
		}
		if tried.done {
			t.Fatalf("%s: there is version %d of %q, and version %d was put after it", when, got.Rev.Epoch, tried.doc.Key, tried.doc.Rev.Epoch)
		}
	}
	if got.Key != "" {
		t.Fatalf("%s: there is version %d of %q, which nobody put", when, got.Rev.Epoch, got.Key)
	}
	return nil
}

// A disk that hangs holds up who puts, until their context ends, and nobody else.
func TestJournalOnADiskThatHangs(t *testing.T) {
	p := newPlatter(nil)
	j := openOn(t, p)
	first := put(t, j, "a", 1, "one")
	goOn := p.hang()
	defer goOn()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	second := fleet.Doc{Key: "a", Rev: rev(2), Slots: 1}
	if _, err := j.Put(ctx, first.Rev, second); !errors.Is(err, context.DeadlineExceeded) {
		t.Fatalf("Put: %v, want the error of its context", err)
	}
	same(t, "meanwhile", load(t, j), map[string]fleet.Doc{"a": second}) // as if it were written
	if _, _, err := j.Acquire(t.Context(), "a", second.Rev, "n", time.Minute); err != nil {
		t.Fatal(err)
	}
	var group sync.WaitGroup
	for i := range uint64(50) {
		group.Go(func() {
			if _, err := j.Put(t.Context(), fleet.Rev{}, fleet.Doc{Key: fmt.Sprint("b", i), Rev: rev(1)}); err != nil {
				t.Errorf("Put that waits: %v", err)
			}
		})
	}
	eventually.True(t, 10*time.Second, func() bool { return len(load(t, j)) == 51 }, "all to have put")
	synced := p.did("sync")
	goOn()
	group.Wait()
	if n := p.did("sync") - synced; n > 2 {
		t.Errorf("50 that waited were synced in %d goes, want at most two", n)
	}
	closeStore(t, j)
	j = openOn(t, p.crash(rand.New(rand.NewPCG(1, 1))))
	if docs := load(t, j); len(docs) != 51 || !alike(docs["a"], second) {
		t.Fatalf("afterwards there are %d documents", len(docs))
	}
}

// Close of a journal on a disk that hangs returns all the same.
func TestJournalClosesOnADiskThatHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPlatter(nil)
		j := openOn(t, p)
		goOn := p.hang()
		defer goOn()
		waits := make(chan error, 1)
		go func() {
			_, err := j.Put(t.Context(), fleet.Rev{}, fleet.Doc{Key: "a", Rev: rev(1)})
			waits <- err
		}()
		synctest.Wait()
		closeStore(t, j)
		if err := <-waits; !errors.Is(err, fleet.ErrClosed) {
			t.Fatalf("Put: %v, want ErrClosed", err)
		}
		if p.did("unlock") != 0 {
			t.Fatal("the lock was given back while the file may still be written")
		}
		goOn()
		synctest.Wait()
		if p.did("unlock") != 1 {
			t.Fatal("the lock was not given back")
		}
		if docs := load(t, openOn(t, p)); len(docs) != 1 {
			t.Fatalf("afterwards there are %v", docs)
		}
	})
}

// While the disk is full documents change all the same, and whoever puts is told. The
// next Put, or Close, writes what was not written.
func TestJournalOnADiskThatIsFull(t *testing.T) {
	for _, op := range []string{"write", "sync"} {
		for _, end := range []string{"put", "close"} {
			p := newPlatter(nil)
			j := openOn(t, p)
			first := put(t, j, "a", 1, "one")
			p.fails(func(o string, b []byte) (int, error) {
				if o == op {
					return len(b) / 2, errFull
				}
				return 0, nil
			})
			second := fleet.Doc{Key: "a", Rev: rev(2), Slots: 1}
			for expect, next := first.Rev, second; next.Rev.Epoch < 5; next.Rev = rev(next.Rev.Epoch + 1) {
				d, err := j.Put(t.Context(), expect, next)
				if !errors.Is(err, errFull) || !strings.HasPrefix(err.Error(), "fleet: journal journal: no space left; what was put holds until this process ends") {
					t.Fatalf("Put on a disk that is full: %v", err)
				}
				if !alike(d, next) {
					t.Fatalf("Put returned %v, want %v", d, next)
				}
				expect, second = next.Rev, next
			}
			same(t, "meanwhile", load(t, j), map[string]fleet.Doc{"a": second})
			lost := openOn(t, p.crash(rand.New(rand.NewPCG(1, 1))))
			if got := load(t, lost)["a"]; !alike(got, first) && op == "write" {
				t.Fatalf("after a crash there is %v, want %v", got, first)
			}
			p.fails(nil)
			want := map[string]fleet.Doc{"a": second}
			if end == "put" {
				want["b"] = put(t, j, "b", 1, "more")
			} else {
				closeStore(t, j)
			}
			j = openOn(t, p.crash(rand.New(rand.NewPCG(1, 1))))
			same(t, "after "+op+" failed, and a "+end, load(t, j), want)
			if j.Dropped() != 0 {
				t.Fatalf("%d bytes were dropped", j.Dropped())
			}
		}
	}
}

// A journal that cannot be written when it is opened is an error then.
func TestJournalOpensOnADiskThatFails(t *testing.T) {
	for _, op := range []string{"read", "create", "write", "sync", "rename", "sync the folder", "open"} {
		p := newPlatter(nil)
		p.fails(func(o string, _ []byte) (int, error) {
			if o == op {
				return 0, errFull
			}
			return 0, nil
		})
		if _, err := fleet.OpenJournalOn("journal", p); !errors.Is(err, errFull) || !strings.HasPrefix(err.Error(), "fleet: journal journal: ") {
			t.Errorf("%s fails: %v", op, err)
		}
	}
}
