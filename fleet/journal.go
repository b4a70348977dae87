package fleet

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"syscall"
	"time"

	"github.com/recloser-go/recloser/internal/filelock"
)

// A Journal is a Store for a process on its own that remembers its documents over a
// restart, in a file. What Put returned without an error is there after a crash of the
// process or the machine. Rows, leases and roles are of no use after a restart, and are
// not kept.
//
// The file has a line for each version. It is written anew when it has grown by 1 MB,
// or by its own length if that is more. Where it is damaged lines are dropped.
type Journal struct {
	Store   // what it remembers
	writer  *writer
	dropped int
}

// closeWait is how long Close waits for the disk.
const closeWait = time.Second

// OpenJournal opens the journal in the file at path, which need not exist; its folder must.
// There is another file beside it, path.lock, which keeps a second process away: that
// one gets an error. What is damaged is never an error, but dropped; a file of which
// nothing can be read is kept as path.damaged. The journal has a goroutine, which Close ends.
func OpenJournal(path string) (*Journal, error) {
	path, err := filepath.Abs(path) // the process may change its folder
	if err != nil {
		return nil, fmt.Errorf("fleet: journal %s: %w", path, err)
	}
	lock, err := filelock.Take(path + ".lock")
	switch {
	case errors.Is(err, filelock.ErrHeld):
		return nil, fmt.Errorf("fleet: journal %s is in use by another process: give each its own file", path)
	case errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("fleet: journal %s: there is no folder %s: create it", path, filepath.Dir(path))
	case err != nil:
		return nil, fmt.Errorf("fleet: journal %s: %w", path, err)
	}
	j, err := openJournal(path, machine{lock: lock})
	if err != nil {
		_ = lock.Close()
	}
	return j, err
}

func openJournal(path string, d disk) (*Journal, error) {
	text, err := d.Read(path)
	if errors.Is(err, fs.ErrNotExist) {
		text, err = nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("fleet: journal %s: %w", path, err)
	}
	entries, dropped, err := decode(text)
	if err != nil {
		return nil, fmt.Errorf("fleet: journal %s: %w", path, err)
	}
	m := NewMemory()
	w := &writer{path: path, disk: d, shared: m.shared, wake: make(chan struct{}, 1), done: make(chan struct{}), broken: true}
	m.shared.caps = Caps{Name: "journal", Durable: true}
	m.shared.keep = w.keep
	m.shared.restore(entries, time.Now())
	switch dropped {
	case len(text): // new, or none of ours
		if dropped > 0 {
			err = d.Rename(path, path+".damaged")
		}
		if err == nil {
			err = w.snapshot()
		}
	case 0:
		err = w.resume(len(text))
	default:
		err = w.snapshot()
	}
	if err != nil {
		return nil, fmt.Errorf("fleet: journal %s: %w", path, err)
	}
	go w.run()
	return &Journal{Store: m, writer: w, dropped: dropped}, nil
}

// Dropped returns how many bytes of the file could not be read when it was opened: 0
// unless the process or machine ended while it wrote, or the disk is faulty.
func (j *Journal) Dropped() int { return j.dropped }

// Close implements Store. It waits up to a second for a disk that hangs.
func (j *Journal) Close() error {
	_ = j.Store.Close()
	j.writer.stop()
	select {
	case <-j.writer.done:
	case <-time.After(closeWait):
	}
	return nil
}

// restore puts what a journal remembers into an empty store.
func (s *shared) restore(entries map[string]entry, now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, e := range entries {
		age := max(0, now.Sub(time.Unix(0, e.Put))) // a clock that was set back makes nothing last longer than its whole length
		s.add(e.doc(), s.now().Add(-age))
	}
}

// A disk is where a journal is. Names are paths. Tests have one that hangs, fails and
// crashes.
type disk interface {
	Read(name string) ([]byte, error)
	Create(name string) (file, error) // an empty one
	Open(name string) (file, error)   // to write at its end
	Rename(from, to string) error     // for good, when it returns
	Unlock()
}

type file interface {
	io.WriteCloser
	Sync() error
}

// machine is the disk of this machine.
type machine struct{ lock *os.File }

func (machine) Read(name string) ([]byte, error) { return os.ReadFile(name) }

func (machine) Create(name string) (file, error) {
	return os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
}

func (machine) Open(name string) (file, error) {
	return os.OpenFile(name, os.O_WRONLY|os.O_APPEND, 0o600)
}

func (machine) Rename(from, to string) error {
	if err := os.Rename(from, to); err != nil {
		return err
	}
	if runtime.GOOS == "windows" {
		return nil // it has no such thing as a folder to sync
	}
	folder, err := os.Open(filepath.Dir(to))
	if err != nil {
		return err
	}
	defer func() { _ = folder.Close() }()
	if err := folder.Sync(); err != nil && !errors.Is(err, syscall.EINVAL) { // not every file system can
		return err
	}
	return nil
}

func (m machine) Unlock() { _ = m.lock.Close() }
