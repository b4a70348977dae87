package history

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/recloser-go/recloser/internal/eventually"
)

// A second daemon is refused, knows what is in force all the same, and takes
// over when the first one ends.
func TestSecondDaemon(t *testing.T) {
	path := inFolder(t)
	first := openOn(t, path)
	commit(t, first, Act{Name: "isolate"}, SetOverride(isolated("a")))
	second := openOn(t, path)
	s := second.Status()
	if s.OnDisk || !strings.Contains(s.Fault, "another recloser works on it") {
		t.Errorf("%+v", s)
	}
	if got := overrides(t, second); got != "a isolated by ops; " {
		t.Errorf("the second knows %q", got)
	}
	commit(t, second, Act{Name: "isolate"}, SetOverride(isolated("b")))
	commit(t, first, Act{Name: "release"}, ClearOverride("a"), SetOverride(isolated("c")))
	closed(t, first)
	onDiskIs(t, second, true)
	if got := overrides(t, second); got != "b isolated by ops; c isolated by ops; " {
		t.Errorf("in the end: %q", got)
	}
}

// The command line makes a token while the daemon runs.
func TestBeside(t *testing.T) {
	path := inFolder(t)
	beside := func(o *Options) { o.Beside = true }
	cli := openOn(t, path, beside) // before the daemon was ever started
	commit(t, cli, Act{Name: "token"}, PutToken(Token{ID: "t0"}))
	closed(t, cli)
	daemon := openOn(t, path)
	for i := range 3 {
		cli := openOn(t, path, beside)
		commit(t, cli, Act{Name: "token", Target: "t1"}, PutToken(Token{ID: "t1", Name: fmt.Sprint(i)}), DeleteToken("t0"))
		commit(t, daemon, Act{Name: "isolate"}, SetOverride(isolated("a")))
		closed(t, cli)
	}
	eventually.True(t, 10*time.Second, func() bool {
		tokens, err := daemon.Tokens(t.Context())
		return err == nil && len(tokens) == 1 && tokens[0].ID == "t1" && tokens[0].Name == "2"
	}, "the token")
	cli = openOn(t, path, beside)
	commit(t, cli, Act{}, DeleteToken("t1"))
	closed(t, cli)
	eventually.True(t, 10*time.Second, func() bool {
		tokens, err := daemon.Tokens(t.Context())
		return err == nil && len(tokens) == 0
	}, "its end")
	acts, err := daemon.Acts(t.Context(), ActQuery{})
	if err != nil || len(acts) != 7 {
		t.Errorf("%d acts, %v: %v", len(acts), err, acts)
	}
	if !daemon.Status().OnDisk {
		t.Errorf("%+v", daemon.Status())
	}
}

// Two processes may give the same id.
func TestActsOfTheSameID(t *testing.T) {
	h := openOn(t, inFolder(t))
	write := func(b *base, entries ...entry) {
		must(t, b.write(t.Context(), &batch{acts: entries}))
	}
	one, other := entry{Act{ID: 7, Name: "one"}, 1}, entry{Act{ID: 7, Name: "other"}, 2}
	write(h.disk, one, other)
	write(h.disk, one, other) // once more: nothing new
	acts, err := h.Acts(t.Context(), ActQuery{After: 1})
	if err != nil || len(acts) != 2 || acts[0].Name != "one" || acts[1].Name != "other" || acts[1].ID != 8 {
		t.Errorf("%v %v", acts, err)
	}
}

func TestReadOnly(t *testing.T) {
	path := inFolder(t)
	h := openOn(t, path)
	commit(t, h, Act{Name: "isolate"}, SetOverride(isolated("a")))
	for _, when := range []string{"in use", "closed"} {
		b, err := openReadOnly(t.Context(), &Options{Path: path})
		must(t, err)
		rows, err := b.rows(t.Context())
		if err != nil || len(rows) != 1 || rows[0].id != "a" {
			t.Errorf("%s: %v %v", when, rows, err)
		}
		if _, err := b.w.ExecContext(t.Context(), `DELETE FROM state`); err == nil {
			t.Errorf("%s: it can be written", when)
		}
		b.close()
		closed(t, h)
	}
}
