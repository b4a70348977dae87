package history

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/recloser-go/recloser/internal/eventually"
)

func pages(n int) func(*Options) {
	return func(o *Options) { o.pragmas = []string{fmt.Sprintf("max_page_count(%d)", n)} }
}

// G28: with a full disk acts go on, the status says so, and when there is room
// again everything that was done meanwhile is written.
func TestG28_FullDisk(t *testing.T) {
	path := inFolder(t)
	h := openOn(t, path)
	commit(t, h, Act{Name: "isolate"}, SetOverride(isolated("before")), PutToken(Token{ID: "t"}))
	closed(t, h)
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	var log journal
	h = openOn(t, path, log.options, pages(int(info.Size()/4096)+3))
	onDiskIs(t, h, true)
	long := strings.Repeat("x", 400)
	eventually.True(t, 10*time.Second, func() bool {
		h.Record(Event{Kind: KindProbe, Text: long})
		return !h.Status().OnDisk
	}, "a full disk")
	s := h.Status()
	if !strings.Contains(s.Fault, "full") || !strings.Contains(s.Fault, "make room") {
		t.Errorf("fault: %q", s.Fault)
	}
	commit(t, h, Act{Name: "isolate"}, SetOverride(isolated("during")))
	commit(t, h, Act{Name: "release"}, ClearOverride("before"), DeleteToken("t"), PutDependency("d", []byte("{}")))
	if err := h.AddPoints(t.Context(), []Point{{At: noon, Dependency: "d", Good: 5}}); err != nil {
		t.Fatal(err)
	}
	h.Record(Event{Kind: KindProbe, Text: "last"})
	want := inForce(t, h)
	if got := overrides(t, h); got != "during isolated by ops; " {
		t.Errorf("in memory: %s", got)
	}
	if got := texts(t, h, EventQuery{Limit: 1}); !reflect.DeepEqual(got, []string{"last"}) {
		t.Errorf("in memory: %q", got)
	}
	h.tryNow()
	eventually.True(t, 10*time.Second, func() bool {
		h.mu.Lock()
		defer h.mu.Unlock()
		return h.disk == nil && h.retry.After(time.Now())
	}, "an attempt that fails: the disk is full still")

	<-h.turn
	h.o.pragmas = nil // there is room
	h.give()
	h.tryNow()
	onDiskIs(t, h, true)
	if !strings.Contains(log.String(), "history is not being written") || !strings.Contains(log.String(), "written to disk again") {
		t.Errorf("log: %s", log.String())
	}
	closed(t, h)
	mustBeIntact(t, path)
	h = openOn(t, path)
	if got := inForce(t, h); !reflect.DeepEqual(got, want) {
		t.Errorf("after: %+v, want %+v", got, want)
	}
	if acts, err := h.Acts(t.Context(), ActQuery{}); len(acts) != 3 || err != nil {
		t.Errorf("acts: %v %v", acts, err)
	}
	if got := texts(t, h, EventQuery{Limit: 5}); len(got) == 0 || got[0] != "last" {
		t.Errorf("events: %q", got)
	}
	if points, err := h.Points(t.Context(), "d", noon, noon.Add(time.Hour), 0); len(points) != 1 || points[0].Good != 5 || err != nil {
		t.Errorf("points: %v %v", points, err)
	}
}

// Acts of memory mode, and what it says, for files that cannot be used.
func TestFileCannotBeUsed(t *testing.T) {
	text := []byte(strings.Repeat("listen: :8080\n", 50))
	for _, c := range []struct {
		name  string
		make  func(path string) // the file
		fault string
	}{
		{"no folder", func(path string) { must(t, os.Remove(filepath.Dir(path))) }, "make the folder"},
		{"a folder", func(path string) { must(t, os.Mkdir(path, 0o700)) }, "directory"},
		{"another file", func(path string) { must(t, os.WriteFile(path, text, 0o600)) }, "it is no database"},
		{"a program's database", func(path string) { execute(t, path, `CREATE TABLE t (x)`) }, "another program"},
		{"a newer schema", func(path string) {
			closed(t, openOn(t, path))
			execute(t, path, `PRAGMA user_version = 99`)
		}, "newer recloser has written it (schema 99"},
	} {
		t.Run(c.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "folder", "recloser.db")
			must(t, os.Mkdir(filepath.Dir(path), 0o700))
			c.make(path)
			before, _ := os.ReadFile(path)
			var log journal
			h := openOn(t, path, log.options)
			s := h.Status()
			if s.OnDisk || !strings.Contains(s.Fault, c.fault) {
				t.Errorf("status %+v, want a fault with %q", s, c.fault)
			}
			if !strings.Contains(log.String(), c.fault) {
				t.Errorf("log: %s", log.String())
			}
			commit(t, h, Act{Name: "isolate"}, SetOverride(isolated("a")))
			if got := overrides(t, h); got != "a isolated by ops; " {
				t.Errorf("in memory: %q", got)
			}
			if err := h.Close(t.Context()); err == nil {
				t.Error("Close says that all is on disk")
			}
			if after, _ := os.ReadFile(path); !bytes.Equal(before, after) {
				t.Error("the file was changed")
			}
			if aside, _ := filepath.Glob(path + ".corrupt*"); len(aside) > 0 {
				t.Errorf("it was moved aside: %s", aside)
			}
			beside := openOn(t, path, func(o *Options) { o.Beside = true })
			if err := beside.Commit(t.Context(), Act{Name: "a"}, PutToken(Token{ID: "t"})); !errors.Is(err, errNoDisk) || !strings.Contains(err.Error(), c.fault) {
				t.Errorf("beside: %v", err)
			}
		})
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// What was done without a disk gets there once there is one.
func TestFolderComesLater(t *testing.T) {
	path := filepath.Join(t.TempDir(), "folder", "recloser.db")
	h := openOn(t, path)
	commit(t, h, Act{Name: "isolate"}, SetOverride(isolated("a")))
	must(t, os.Mkdir(filepath.Dir(path), 0o700))
	h.tryNow()
	onDiskIs(t, h, true)
	closed(t, h)
	if got := overrides(t, openOn(t, path)); got != "a isolated by ops; " {
		t.Errorf("after: %q", got)
	}
}

func TestFileIsRemoved(t *testing.T) {
	path := inFolder(t)
	h := openOn(t, path)
	commit(t, h, Act{Name: "isolate"}, SetOverride(isolated("a")))
	files, err := filepath.Glob(path + "*")
	must(t, err)
	for _, f := range files {
		if !strings.HasSuffix(f, ".lock") {
			must(t, os.Remove(f))
		}
	}
	eventually.True(t, 10*time.Second, func() bool {
		_, err := os.Stat(path)
		return err == nil && h.Status().OnDisk
	}, "a new file")
	closed(t, h)
	if got := overrides(t, openOn(t, path)); got != "a isolated by ops; " {
		t.Errorf("after: %q", got)
	}
}

// A file of another gateway that was put in its place meanwhile decides nothing.
func TestAnotherFileInItsPlace(t *testing.T) {
	path, other := inFolder(t), inFolder(t)
	h := openOn(t, other)
	commit(t, h, Act{}, SetOverride(isolated("b")), PutToken(Token{ID: "theirs"}))
	closed(t, h)
	data, err := os.ReadFile(other)
	must(t, err)
	for what, why := range map[string]error{"seen": errGone, "not seen": errHangs} {
		h = openOn(t, path)
		commit(t, h, Act{}, SetOverride(isolated("a")))
		<-h.turn // nobody looks meanwhile
		must(t, os.Remove(path))
		if !errors.Is(why, errGone) { // with errGone it is put out of the way
			must(t, os.Remove(path+"-wal"))
		}
		must(t, os.WriteFile(path, data, 0o600))
		h.mu.Lock()
		b := h.disk
		h.mu.Unlock()
		h.fall(b, why)
		h.give()
		h.tryNow()
		onDiskIs(t, h, true)
		closed(t, h)
		h = openOn(t, path)
		if got := overrides(t, h); got != "a isolated by ops; " {
			t.Errorf("%s: %q", what, got)
		}
		if tokens, err := h.Tokens(t.Context()); err != nil || len(tokens) > 0 {
			t.Errorf("%s: tokens %v %v", what, tokens, err)
		}
		closed(t, h)
		must(t, os.Remove(path))
	}
}

// A disk that hangs holds nobody up for longer than it may, and what it does
// late harms nothing.
func TestDiskHangs(t *testing.T) {
	h := openOn(t, inFolder(t))
	release := make(chan struct{})
	h.mu.Lock()
	b := h.disk
	h.mu.Unlock()
	conn, err := b.w.Conn(t.Context()) // the only one that writes
	must(t, err)
	go func() {
		<-release
		_ = conn.Close()
	}()
	limit, cancel := context.WithTimeout(t.Context(), 2*within)
	defer cancel()
	done := make(chan error, 3)
	go func() { done <- h.Commit(limit, Act{Name: "isolate"}, SetOverride(isolated("a"))) }()
	go func() { done <- h.Commit(limit, Act{Name: "isolate"}, SetOverride(isolated("b"))) }()
	go func() {
		_, err := h.Events(limit, EventQuery{})
		done <- err
	}()
	for range 3 {
		select {
		case err := <-done:
			if err != nil {
				t.Errorf("got %v", err)
			}
		case <-limit.Done():
			t.Fatal("somebody waits for the disk")
		}
	}
	if s := h.Status(); s.OnDisk || !strings.Contains(s.Fault, "does not answer") && !strings.Contains(s.Fault, "deadline") {
		t.Errorf("%+v", s)
	}
	h.tryNow()
	close(release)
	onDiskIs(t, h, true)
	if got := overrides(t, h); got != "a isolated by ops; b isolated by ops; " {
		t.Errorf("got %q", got)
	}
}

// A question whose answer takes too long is no reason to give the disk up, nor to
// answer from memory as if that were all.
func TestReadingTakesTooLong(t *testing.T) {
	h := openOn(t, inFolder(t))
	slow := func(ctx context.Context, b *base) (n int, err error) {
		err = b.r.QueryRowContext(ctx, `WITH RECURSIVE c (x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c LIMIT 100000000) SELECT max(x) FROM c`).Scan(&n)
		return n, err
	}
	if n, err := read(t.Context(), h, slow); err == nil || !strings.Contains(err.Error(), "ask for a shorter time") {
		t.Errorf("got %d, %v", n, err)
	}
	if !h.Status().OnDisk {
		t.Errorf("%+v", h.Status())
	}
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := read(gone, h, slow); !errors.Is(err, context.Canceled) {
		t.Errorf("a caller who has gone: %v", err)
	}
}

// A file of an older schema goes on: its events are there, and newer ones tell more.
func TestOlderSchemaGoesOn(t *testing.T) {
	steps, err := schema()
	if err != nil {
		t.Fatal(err)
	}
	path := inFolder(t)
	execute(t, path, steps[0]+fmt.Sprintf("; PRAGMA user_version = 1; PRAGMA application_id = %d;", application)+
		"INSERT INTO event VALUES (1, 1000, 'hotel-1', 'transition', 'closed', 'open', '', '', '', '', 0, 0, 0, 0, 0, 0, 'old; shadow: calls pass; last failure: EOF')")
	h := openOn(t, path)
	h.Record(Event{Dependency: "hotel-1", Key: "p7", Kind: KindTransition, Text: "new"})
	h.Record(Event{Dependency: "hotel-1", Kind: KindTransition, Shadow: true})
	events, err := h.Events(t.Context(), EventQuery{})
	if err != nil || len(events) != 3 || !events[0].Shadow || events[1].Key != "p7" || events[1].Shadow || events[2].Key != "" || !events[2].Shadow || events[2].Text[:3] != "old" {
		t.Errorf("%+v %v", events, err)
	}
	onDiskIs(t, h, true)
}
