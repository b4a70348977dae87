package fleet_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/recloser-go/recloser/fleet"
)

// written is a journal of some documents, and after how many bytes each was there.
type written struct {
	text []byte
	docs []fleet.Doc
	ends []int
}

func write(n, keys int) *written {
	w := &written{text: []byte(fleet.HeadLine(1))}
	for i := range n {
		d := fleet.Doc{Key: fmt.Sprint("k", i%keys), Rev: rev(uint64(i) + 1), Slots: i, Data: []byte(strings.Repeat("\n", i))}
		w.docs = append(w.docs, d)
		w.text = append(w.text, fleet.Line(d, int64(i))...)
		w.ends = append(w.ends, len(w.text))
	}
	return w
}

// same fails unless got is want.
func same(t *testing.T, what string, got, want map[string]fleet.Doc) {
	t.Helper()
	for key, d := range want {
		if !alike(got[key], d) {
			t.Fatalf("%s: %s is %v, want %v", what, key, got[key], d)
		}
	}
	if len(got) != len(want) {
		t.Fatalf("%s: there are %d documents, want %d", what, len(got), len(want))
	}
}

// The process or machine may end at any byte: what was whole by then is there, and
// what is put afterwards too.
func TestJournalCutAtEveryByte(t *testing.T) {
	w := write(12, 5)
	for cut := range len(w.text) + 1 {
		want, whole := map[string]fleet.Doc{}, 0
		for i, d := range w.docs {
			if w.ends[i] <= cut {
				want[d.Key], whole = d, w.ends[i]
			}
		}
		if head := len(fleet.HeadLine(1)); whole == 0 && cut >= head {
			whole = head
		}
		disk := newPlatter(map[string][]byte{"journal": w.text[:cut]})
		what := fmt.Sprintf("cut at %d of %d bytes", cut, len(w.text))
		for range 2 {
			j := openOn(t, disk)
			same(t, what, load(t, j), want)
			if j.Dropped() != cut-whole {
				t.Fatalf("%s: %d bytes were dropped, want %d", what, j.Dropped(), cut-whole)
			}
			want["new"] = put(t, j, "new", load(t, j)["new"].Rev.Epoch+1, "more")
			closeStore(t, j)
			cut, whole = 0, 0 // mended
		}
	}
}

// One bit may be wrong anywhere: it costs the line that it is in, and no other.
func TestJournalWithOneBitWrong(t *testing.T) {
	w := write(8, 3)
	r := rand.New(rand.NewPCG(1, 2))
	for at := range w.text {
		text := bytes.Clone(w.text)
		text[at] ^= 1 << r.IntN(8)
		from, want := len(fleet.HeadLine(1)), map[string]fleet.Doc{}
		for i, d := range w.docs {
			// A line that lost its end is one with the next.
			if hit := from <= at && at < w.ends[i] || at == from-1 && at > 0; !hit {
				want[d.Key] = d
			}
			from = w.ends[i]
		}
		got := load(t, openText(t, text))
		for key, d := range want {
			if !alike(got[key], d) {
				t.Fatalf("byte %d became %q: %s is %v, want %v", at, text[at], key, got[key], d)
			}
		}
	}
}

// openText opens a journal on a disk that holds text.
func openText(t *testing.T, text []byte) *fleet.Journal {
	t.Helper()
	j, err := fleet.OpenJournalOn("journal", newPlatter(map[string][]byte{"journal": text}))
	if err != nil {
		t.Fatalf("a damaged journal is an error: %v", err)
	}
	t.Cleanup(func() { closeStore(t, j) })
	return j
}

// Damage of any kind loses what it hit, and invents nothing.
func TestJournalDamaged(t *testing.T) {
	w := write(30, 7)
	seed := rand.Uint64()
	r := rand.New(rand.NewPCG(seed, 0))
	random := func(n int) []byte {
		b := make([]byte, n)
		for i := range b {
			b[i] = byte(r.Uint32())
		}
		return b
	}
	for round := range 2000 {
		text := bytes.Clone(w.text)
		for range 1 + r.IntN(4) {
			from := r.IntN(len(text) + 1)
			to := from + r.IntN(min(300, len(text)-from)+1)
			switch r.IntN(5) {
			case 0: // written over
				copy(text[from:to], random(to-from))
			case 1: // zeros, as some file systems leave after a crash
				clear(text[from:to])
			case 2: // lost
				text = append(text[:from:from], text[to:]...)
			case 3: // put in
				text = append(append(text[:from:from], random(r.IntN(50))...), text[from:]...)
			case 4: // twice
				text = append(text[:to:to], text[from:]...)
			}
		}
		for key, d := range load(t, openText(t, text)) {
			known := false
			for _, was := range w.docs {
				known = known || alike(d, was)
			}
			if !known {
				t.Fatalf("seed %d, round %d: %s is %v, which nobody put", seed, round, key, d)
			}
		}
	}
}

// What is no journal at all is not written over.
func TestJournalKeepsWhatItCannotRead(t *testing.T) {
	path := filepath.Join(t.TempDir(), "journal")
	const text = "hotels:\n  timeout: 30s\n"
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	j := open(t, path)
	if docs := load(t, j); len(docs) != 0 || j.Dropped() != len(text) {
		t.Fatalf("there are %v, %d bytes dropped", docs, j.Dropped())
	}
	d := put(t, j, "a", 1, "one")
	closeStore(t, j)
	if kept, err := os.ReadFile(path + ".damaged"); err != nil || string(kept) != text {
		t.Fatalf("kept is %q, %v", kept, err)
	}
	j = open(t, path)
	same(t, "opened again", load(t, j), map[string]fleet.Doc{"a": d})
	if j.Dropped() != 0 {
		t.Fatalf("opened again: %d bytes dropped", j.Dropped())
	}
}

// FuzzJournal opens any text at all.
func FuzzJournal(f *testing.F) {
	w := write(3, 2)
	f.Add(w.text, "k0")
	f.Add(w.text[:len(w.text)-3], "k1")
	f.Add([]byte(strings.ReplaceAll(string(w.text), "\n", "\r\n")), "a")
	f.Add([]byte(fleet.Line(fleet.Doc{Key: "\x00", Slots: -1}, -1)+fleet.HeadLine(0)+fleet.HeadLine(-1)), "b")
	f.Add([]byte(fleet.HeadLine(2)), "c")
	f.Add([]byte("00000000 {}\n00000000 \n\n \n"), "d")
	f.Fuzz(func(t *testing.T, text []byte, key string) {
		disk := newPlatter(map[string][]byte{"journal": text})
		j, err := fleet.OpenJournalOn("journal", disk)
		if err != nil {
			if !strings.Contains(err.Error(), "use a newer version") {
				t.Fatal(err)
			}
			return
		}
		want := load(t, j)
		for key, d := range want {
			if err := d.Check(fleet.Rev{}); err != nil || key != d.Key {
				t.Fatalf("%q is %v: %v", key, d, err)
			}
		}
		if now := want[key].Rev; now.Epoch < 1<<63 && key != "" && len(key) <= fleet.MaxKey && utf8.ValidString(key) && fleet.CheckKey(key) == nil {
			want[key] = put(t, j, key, max(now.Epoch+1, 1<<40), "more")
		}
		closeStore(t, j)
		for range 2 {
			j, err := fleet.OpenJournalOn("journal", disk)
			if err != nil {
				t.Fatal(err)
			}
			if j.Dropped() != 0 {
				t.Fatalf("%d bytes were dropped of a journal that was mended", j.Dropped())
			}
			same(t, "opened again", load(t, j), want)
			closeStore(t, j)
		}
	})
}
