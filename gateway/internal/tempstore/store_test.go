package tempstore

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/recloser-go/recloser/fleet"
	"github.com/recloser-go/recloser/fleet/pgstore"
	"github.com/recloser-go/recloser/fleet/redisstore"
	"github.com/recloser-go/recloser/internal/eventually"
)

// open opens the store as a gateway does.
func open(t *testing.T, s *Store) fleet.Store {
	t.Helper()
	var store fleet.Store
	var err error
	if s.Kind() == "postgres" {
		store, err = pgstore.Open(pgstore.Options{URL: s.URL(s.Addr())})
	} else {
		var o redisstore.Options
		if o, err = redisstore.ParseURL(s.URL(s.Addr())); err == nil {
			store, err = redisstore.Open(o)
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = store.Close() })
	return store
}

func TestStore(t *testing.T) {
	for _, kind := range Kinds() {
		t.Run(kind, func(t *testing.T) {
			runtime.LockOSThread() // see child.Start
			defer runtime.UnlockOSThread()
			s, err := New(t.Context(), kind)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = s.Close() })
			if err := s.Start(); err != nil {
				t.Fatal(err)
			}
			store := open(t, s)
			has := func() (n int, err error) {
				docs, _, err := store.Load(t.Context())
				return len(docs), err
			}
			answers := func() bool { _, err := has(); return err == nil }
			eventually.True(t, patience, answers, "the store to answer")
			if _, err := store.Put(t.Context(), fleet.Rev{}, fleet.Doc{Key: "a", Rev: fleet.Rev{Epoch: 1, ID: 1}, Data: []byte("{}")}); err != nil {
				t.Fatal(err)
			}

			s.Kill()
			if answers() {
				t.Error("killed, it answers")
			}
			if err := s.Start(); err != nil {
				t.Fatal(err)
			}
			eventually.True(t, patience, answers, "the store to answer again")
			if n, err := has(); err != nil || (n == 1) != s.Keeps() {
				t.Errorf("it is there again with %d documents, %v; it keeps them: %v", n, err, s.Keeps())
			}

			s.running.Kill()
			if err := <-s.Unexpected(); !strings.Contains(err.Error(), "ended by itself") {
				t.Error(err)
			}
			if err := s.Close(); err != nil {
				t.Error(err)
			}
			if _, err := os.Stat(s.folder); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("its folder is left: %v", err)
			}
		})
	}
}

func TestStoreThatIsNotThere(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	for kind, want := range map[string]string{
		"redis":  "apt-get install redis-server",
		"memory": `redis and postgres, not "memory"`,
	} {
		if _, err := New(t.Context(), kind); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", kind, err, want)
		}
	}
}

func TestNewest(t *testing.T) {
	folder := t.TempDir()
	for _, version := range []string{"15", "9", "17"} {
		if err := os.WriteFile(filepath.Join(folder, version), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if got := filepath.Base(newest(folder + "/*")); got != "17" {
		t.Errorf("got %s", got)
	}
	if got := newest(folder + "/none/*"); got != "" {
		t.Errorf("got %s", got)
	}
}
