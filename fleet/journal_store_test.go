package fleet_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/recloser-go/recloser/fleet"
	"github.com/recloser-go/recloser/fleet/storetest"
)

// journals are those of a process that restarts, by prefix.
type journals struct {
	dir string

	mu   sync.Mutex
	open map[string]*fleet.Journal
}

func (js *journals) journal(t testing.TB, prefix string) *fleet.Journal {
	js.mu.Lock()
	defer js.mu.Unlock()
	if js.open[prefix] == nil {
		j, err := fleet.OpenJournal(filepath.Join(js.dir, prefix))
		if err != nil {
			t.Fatal(err)
		}
		js.open[prefix] = j
	}
	return js.open[prefix]
}

func (js *journals) close(t testing.TB) {
	js.mu.Lock()
	defer js.mu.Unlock()
	for _, j := range js.open {
		if err := j.Close(); err != nil {
			t.Error(err)
		}
	}
	clear(js.open)
}

// lifelong is a client that a restart of its process does not end.
type lifelong struct {
	t       testing.TB
	from    *journals
	prefix  string
	mu      sync.Mutex
	closed  bool
	journal *fleet.Journal
	client  fleet.Store
}

func (l *lifelong) now() fleet.Store {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return l.client
	}
	if j := l.from.journal(l.t, l.prefix); j != l.journal {
		l.journal, l.client = j, j.Share()
	}
	return l.client
}

func (l *lifelong) Close() error {
	s := l.now()
	l.mu.Lock()
	defer l.mu.Unlock()
	l.closed = true
	return s.Close()
}

func (l *lifelong) Caps() fleet.Caps { return l.now().Caps() }

func (l *lifelong) Load(ctx context.Context) ([]fleet.Doc, uint64, error) { return l.now().Load(ctx) }

func (l *lifelong) Watch(ctx context.Context, after uint64, f func(fleet.Doc)) error {
	return l.now().Watch(ctx, after, f)
}

func (l *lifelong) Put(ctx context.Context, expect fleet.Rev, next fleet.Doc) (fleet.Doc, error) {
	return l.now().Put(ctx, expect, next)
}

func (l *lifelong) Say(ctx context.Context, rows []fleet.Row, ttl time.Duration) error {
	return l.now().Say(ctx, rows, ttl)
}

func (l *lifelong) Said(ctx context.Context, key string) ([]fleet.Row, error) {
	return l.now().Said(ctx, key)
}

func (l *lifelong) Acquire(ctx context.Context, key string, rev fleet.Rev, node string, ttl time.Duration) (fleet.Lease, fleet.Tally, error) {
	return l.now().Acquire(ctx, key, rev, node, ttl)
}

func (l *lifelong) Finish(ctx context.Context, lease fleet.Lease, r fleet.Result) (fleet.Tally, error) {
	return l.now().Finish(ctx, lease, r)
}

func (l *lifelong) Elect(ctx context.Context, role, node string, ttl time.Duration) (string, error) {
	return l.now().Elect(ctx, role, node, ttl)
}

func TestJournalStore(t *testing.T) {
	storetest.Run(t, func(t *testing.T) storetest.Harness {
		js := &journals{dir: t.TempDir(), open: map[string]*fleet.Journal{}}
		t.Cleanup(func() { js.close(t) })
		return storetest.Harness{
			New: func(t testing.TB, prefix string) fleet.Store {
				l := &lifelong{t: t, from: js, prefix: prefix}
				l.now()
				return l
			},
			Restart: js.close, // the next who asks opens them again
			Missing: map[string]string{
				"Skewed":      "it is part of the process of its node, which has one clock",
				"Quiet":       "who watches looks at the documents themselves",
				"Pause":       "only Put waits for the disk: see TestJournalOnADiskThatHangs",
				"Flush":       "nobody but its process can make it forget",
				"Drop":        "it has no connections",
				"Connections": "it has no connections",
			},
		}
	})
}

// TestJournalOfAKilledProcess kills processes that put as fast as they can. What they
// said was put is there.
func TestJournalOfAKilledProcess(t *testing.T) {
	if path := os.Getenv(journalEnv); path != "" {
		putUntilKilled(t, path)
		return
	}
	path := filepath.Join(t.TempDir(), "journal")
	var last uint64
	for round := range 5 {
		said := lastSaid(t, path, 20+30*round)
		j := open(t, path)
		got := load(t, j)["a"]
		if got.Rev.Epoch < said || got.Rev != rev(got.Rev.Epoch) || said <= last {
			t.Fatalf("round %d: version %d is there, the process said %d, the one before it %d", round, got.Rev.Epoch, said, last)
		}
		last = got.Rev.Epoch
		closeStore(t, j)
	}
}

// journalEnv is the path for a process that puts until it is killed.
const journalEnv = "FLEET_JOURNAL"

func putUntilKilled(t *testing.T, path string) {
	j := open(t, path)
	data := make([]byte, 3000)
	for d := load(t, j)["a"]; ; {
		next, err := j.Put(t.Context(), d.Rev, fleet.Doc{Key: "a", Rev: rev(d.Rev.Epoch + 1), Data: data})
		if err != nil {
			t.Fatal(err)
		}
		d = next
		fmt.Fprintf(os.Stdout, "put %d\n", d.Rev.Epoch)
	}
}

// lastSaid runs such a process, kills it when it has put n versions, and returns the
// last that it said it put.
func lastSaid(t *testing.T, path string, n int) (epoch uint64) {
	t.Helper()
	child := exec.CommandContext(t.Context(), os.Args[0], "-test.run", "^TestJournalOfAKilledProcess$")
	child.Env = append(os.Environ(), journalEnv+"="+path)
	out, err := child.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	for lines := bufio.NewScanner(out); lines.Scan(); {
		if _, err := fmt.Sscanf(lines.Text(), "put %d", &epoch); err != nil {
			t.Errorf("the process said %q", lines.Text())
		}
		if n--; n == 0 {
			if err := child.Process.Kill(); err != nil {
				t.Error(err)
			}
		}
	}
	var ended *exec.ExitError
	if err := child.Wait(); !errors.As(err, &ended) || ended.Exited() {
		t.Fatalf("the process was not killed: %v", err)
	}
	return epoch
}
