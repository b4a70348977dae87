package fleet

import (
	"fmt"
	"sync"
)

// snapshotAt is by how many bytes a journal grows before it is written anew.
const snapshotAt = 1 << 20

// A writer is the one goroutine that writes a journal. What is put while the disk is
// busy is written, and synced, in one go.
type writer struct {
	path   string
	disk   disk
	shared *shared
	wake   chan struct{} // has room for one
	done   chan struct{}

	mu      sync.Mutex
	lines   []byte // not written yet
	waiting []chan<- error
	stopped bool

	// Of the goroutine alone.
	file        file
	size, limit int
	broken      bool // nobody knows what is in the file: write it anew
}

// keep has a document written down, and returns what says how that went. It is
// called with the lock of what is shared, so lines are in the order of the versions.
func (w *writer) keep(d *doc) <-chan error {
	written := make(chan error, 1)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.lines = appendLine(w.lines, entryOf(d))
	w.waiting = append(w.waiting, written)
	w.poke()
	return written
}

func (w *writer) poke() {
	select {
	case w.wake <- struct{}{}:
	default:
	}
}

// stop has the goroutine end when it has written what there is.
func (w *writer) stop() {
	s := w.shared
	s.mu.Lock()
	defer s.mu.Unlock()
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.stopped {
		return
	}
	w.stopped = true
	close(s.ended)
	s.changed()
	w.poke()
}

func (w *writer) run() {
	defer close(w.done)
	defer w.disk.Unlock()
	for range w.wake {
		lines, waiting, stopped := w.take()
		if len(waiting) > 0 || stopped && w.broken {
			err := w.write(lines)
			for _, written := range waiting {
				written <- err
			}
		}
		if stopped {
			if w.file != nil {
				_ = w.file.Close() // all that was promised is synced
			}
			return
		}
	}
}

func (w *writer) take() (lines []byte, waiting []chan<- error, stopped bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	lines, waiting, stopped = w.lines, w.waiting, w.stopped
	w.lines, w.waiting = nil, nil
	return lines, waiting, stopped
}

// write writes lines, or all that is there, and they with it.
func (w *writer) write(lines []byte) (err error) {
	if w.broken || w.size+len(lines) > w.limit {
		err = w.snapshot()
	} else if err = w.append(lines); err != nil {
		w.broken = true
	}
	if err != nil {
		return fmt.Errorf("fleet: journal %s: %w; what was put holds until this process ends", w.path, err)
	}
	return nil
}

func (w *writer) append(lines []byte) error {
	if _, err := w.file.Write(lines); err != nil {
		return err
	}
	w.size += len(lines)
	return w.file.Sync()
}

// resume goes on at the end of a file of that size.
func (w *writer) resume(size int) (err error) {
	if w.file, err = w.disk.Open(w.path); err != nil {
		return err
	}
	w.size, w.limit, w.broken = size, size+max(snapshotAt, size), false
	return nil
}

// snapshot replaces the file by one that holds what is there now. Whoever reads it
// sees the old one or the new one, whenever the machine stops.
func (w *writer) snapshot() error {
	w.broken = true
	if w.file != nil {
		_ = w.file.Close() // some systems replace no file that is open
		w.file = nil
	}
	text := appendLine(nil, entry{Schema: schema})
	w.shared.mu.Lock()
	now := w.shared.now()
	for key := range w.shared.docs {
		if d := w.shared.doc(key, now); d != nil {
			text = appendLine(text, entryOf(d))
		}
	}
	w.shared.mu.Unlock()
	if err := w.create(w.path+".new", text); err != nil {
		return err
	}
	if err := w.disk.Rename(w.path+".new", w.path); err != nil {
		return err
	}
	return w.resume(len(text))
}

// create makes a file that holds text, for good.
func (w *writer) create(name string, text []byte) error {
	f, err := w.disk.Create(name)
	if err != nil {
		return err
	}
	if _, err = f.Write(text); err == nil {
		err = f.Sync()
	}
	_ = f.Close() // what is synced is there
	return err
}
