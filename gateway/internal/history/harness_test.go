package history

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/recloser-go/recloser/internal/eventually"
)

// openOn returns a history on a file, and closes it in the end.
func openOn(t *testing.T, path string, change ...func(*Options)) *History {
	t.Helper()
	o := Options{Path: path}
	for _, c := range change {
		c(&o)
	}
	h := Open(o)
	t.Cleanup(func() { _ = h.Close(context.WithoutCancel(t.Context())) })
	return h
}

// hand is a clock that a test sets, while the history reads it.
type hand struct{ at atomic.Pointer[time.Time] }

func newHand(at time.Time) *hand {
	h := &hand{}
	h.set(at)
	return h
}

func (h *hand) set(at time.Time) { h.at.Store(&at) }
func (h *hand) now() time.Time   { return *h.at.Load() }

func inFolder(t *testing.T) string { return filepath.Join(t.TempDir(), "recloser.db") }

// closed closes a history and fails the test if not all is on disk.
func closed(t *testing.T, h *History) {
	t.Helper()
	if err := h.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
}

func commit(t *testing.T, h *History, a Act, changes ...Change) {
	t.Helper()
	if err := h.Commit(t.Context(), a, changes...); err != nil {
		t.Fatal(err)
	}
}

// overrides is what is set, as "hotel-1 isolated by ops; ...".
func overrides(t *testing.T, h *History) string {
	t.Helper()
	all, err := h.Overrides(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var s string
	for _, o := range all {
		s += fmt.Sprintf("%s %s by %s; ", o.Dependency, o.State, o.By)
	}
	return s
}

// texts are those of the events that q selects, without those about the storage.
func texts(t *testing.T, h *History, q EventQuery) (texts []string) {
	t.Helper()
	events, err := h.Events(t.Context(), q)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range events {
		if e.Reason != "storage" {
			texts = append(texts, e.Text)
		}
	}
	return texts
}

func onDiskIs(t *testing.T, h *History, want bool) {
	t.Helper()
	eventually.True(t, 10*time.Second, func() bool { return h.Status().OnDisk == want }, fmt.Sprintf("OnDisk %v", want))
}

// tryNow has the file tried again at the next look.
func (h *History) tryNow() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.retry = time.Now()
}

// mustBeIntact reads every page of a file that nobody has open.
func mustBeIntact(t *testing.T, path string) {
	t.Helper()
	db, err := connect(uri(path), 1)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	var says string
	if err := db.QueryRowContext(t.Context(), `PRAGMA integrity_check`).Scan(&says); err != nil || says != "ok" {
		t.Fatalf("the file is damaged: %s %v", says, err)
	}
}

// execute does something to a file, behind everybody's back.
func execute(t *testing.T, path, statement string) {
	t.Helper()
	db, err := connect(uri(path), 1)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := db.ExecContext(t.Context(), statement); err != nil && !errors.Is(err, sql.ErrNoRows) {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
}

// journal is a log that is read while it is written.
type journal struct {
	mu   sync.Mutex
	text strings.Builder
}

func (j *journal) Write(p []byte) (int, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.text.Write(p)
}

func (j *journal) String() string {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.text.String()
}

func (j *journal) options(o *Options) { o.Log = slog.New(slog.NewTextHandler(j, nil)) }
