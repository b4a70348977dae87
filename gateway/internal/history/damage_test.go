package history

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/recloser-go/recloser/internal/eventually"
)

// damage overwrites the page in which a text stands, and reports where it was.
func damage(t *testing.T, path, text string) {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	i := bytes.Index(data, []byte(text))
	if i < 0 {
		t.Fatalf("%s is not in the file", text)
	}
	const page = 4096
	i -= i % page
	copy(data[i:i+page], bytes.Repeat([]byte{0xa5}, page))
	must(t, os.WriteFile(path, data, 0o600))
}

func TestDamagedFileIsMovedAside(t *testing.T) {
	for _, c := range []struct {
		name   string
		damage string // what stands in the page
		keeps  bool   // the overrides can be read
	}{
		{"events", "needle-1 ", true},
		{"overrides", `"dependency":"hotel-1"`, false},
		{"the first page", "SQLite format 3", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			path := inFolder(t)
			h := openOn(t, path)
			commit(t, h, Act{Name: "isolate"}, SetOverride(isolated("hotel-1")))
			for i := range 300 {
				h.Record(Event{Kind: KindProbe, Dependency: "hotel-1", Text: fmt.Sprintf("needle-%d and some more words", i)})
			}
			closed(t, h)
			damage(t, path, c.damage)

			var log journal
			h = openOn(t, path, log.options)
			commit(t, h, Act{Name: "isolate"}, SetOverride(isolated("hotel-2")))
			var aside []string
			eventually.True(t, 10*time.Second, func() bool {
				aside, _ = filepath.Glob(path + ".corrupt-*Z")
				return len(aside) == 1 && h.Status().OnDisk
			}, "a new file")
			if !strings.Contains(log.String(), "moved aside") {
				t.Errorf("log: %s", log.String())
			}
			if kept := texts(t, h, EventQuery{Kind: KindProbe}); c.name == "overrides" && len(kept) != usual {
				t.Errorf("%d of the last events were kept", len(kept))
			}
			want := "hotel-2 isolated by ops; "
			if c.keeps {
				want = "hotel-1 isolated by ops; " + want
			}
			if got := overrides(t, h); got != want {
				t.Errorf("in force: %q, want %q", got, want)
			}
			events, err := h.Events(t.Context(), EventQuery{Kind: KindGateway})
			if err != nil || len(events) == 0 || !strings.Contains(events[0].Text, filepath.Base(aside[0])) {
				t.Errorf("people are not told: %v %v", events, err)
			}
			closed(t, h)
			mustBeIntact(t, path)
			if got := overrides(t, openOn(t, path)); got != want {
				t.Errorf("after: %q, want %q", got, want)
			}
		})
	}
}

// Found by whoever reads the page, the damage costs nobody an answer.
func TestDamageFoundByReading(t *testing.T) {
	path := inFolder(t)
	h := openOn(t, path)
	commit(t, h, Act{Name: "isolate"}, SetOverride(isolated("hotel-1")))
	for i := range 300 {
		h.Record(Event{Kind: KindProbe, Text: fmt.Sprintf("needle-%d and some more words", i)})
	}
	texts(t, h, EventQuery{}) // all are written
	eventually.True(t, 10*time.Second, func() bool {
		execute(t, path, `PRAGMA wal_checkpoint(TRUNCATE)`)
		info, err := os.Stat(path + "-wal")
		return err == nil && info.Size() == 0
	}, "a checkpoint")
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	must(t, err)
	data, err := os.ReadFile(path)
	must(t, err)
	for at := 4096; at < len(data); at += 4096 {
		if bytes.Contains(data[at:at+4096], []byte("needle-")) {
			_, err := f.WriteAt(bytes.Repeat([]byte{0xa5}, 4096), int64(at))
			must(t, err)
		}
	}
	must(t, f.Close())
	eventually.True(t, 10*time.Second, func() bool {
		if _, err := h.Events(t.Context(), EventQuery{Limit: most}); err != nil {
			t.Fatal(err)
		}
		aside, _ := filepath.Glob(path + ".corrupt-*Z")
		return len(aside) == 1 && h.Status().OnDisk
	}, "a new file")
	if got := overrides(t, h); got != "hotel-1 isolated by ops; " {
		t.Errorf("in force: %q", got)
	}
	closed(t, h)
	mustBeIntact(t, path)
}

// A second file that breaks within the hour stays where it is: new ones would
// fill the disk.
func TestBrokenAgain(t *testing.T) {
	path := inFolder(t)
	h := openOn(t, path)
	closed(t, h)
	for _, mayReplace := range []bool{false, true} {
		must(t, os.WriteFile(path, []byte(strings.Repeat("broken", 1000)), 0o600))
		o := h.open(false, mayReplace)
		if aside, _ := filepath.Glob(path + ".corrupt-*Z"); len(aside) == 1 != mayReplace {
			t.Errorf("may replace %v: moved aside: %s", mayReplace, aside)
		}
		if opens := o.base != nil; opens != mayReplace || broken(o.err) == mayReplace {
			t.Errorf("may replace %v: %v", mayReplace, o.err)
		}
		o.giveUp()
	}
}
