// Package history keeps what must outlive the process: events, acts and what
// they set, dependencies added at run time, maintenance, tokens, breakers, incidents,
// messages on their way, and points for charts. It is one SQLite file.
//
// The disk is never in the way of calls. What is in force is in memory as well,
// in a database of the same shape, and all reading of it happens there. If the
// file cannot be written, everything goes on in memory, Status says so, and each
// 10 s it is tried again; then what was done meanwhile is written.
//
// The path of an act: Commit (acts.go), store here, write in batch.go. The
// path of an event: Record (events.go), flush and store here. Losing the disk and
// getting it back: disk.go.
package history

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"
)

// Options says where the file is.
type Options struct {
	Path string           // of the SQLite file; "" is memory only
	Log  *slog.Logger     // nil: nothing is logged
	Now  func() time.Time // default time.Now

	// Fleet is called after each change here of what nodes share, see Shared; it must
	// not wait. nil: there is no fleet.
	Fleet func()

	// Beside is for a program that works on the file beside the daemon that holds
	// it, such as the command line: it takes no lock, moves no broken file aside and
	// does not go on in memory. Without the file each Commit fails.
	Beside bool

	// For tests.
	pragmas []string      // of the connection that writes
	look    time.Duration // how often it looks after the disk
}

// Status says where things are kept now.
type Status struct {
	Path   string    `json:"path"`            // "" is memory only, as was asked for
	OnDisk bool      `json:"on_disk"`         // what Commit returns for is on disk
	Fault  string    `json:"fault,omitempty"` // why not, and what to do; "" if all is as it should be
	Since  time.Time `json:"since"`           // since when it is so
	Lost   uint64    `json:"lost"`            // events that were given up, for want of a disk, since the start
}

// ErrClosed is returned after Close.
var ErrClosed = errors.New("history: closed")

const (
	// within is the longest that anybody waits for the storage, one for another
	// included. patience is how long the disk may take for one thing.
	within   = 1900 * time.Millisecond
	patience = 1400 * time.Millisecond

	gather = 25 * time.Millisecond  // events that come together are written together
	often  = 200 * time.Millisecond // it looks after the disk
	queued = 8192                   // events that wait to be written; older ones are given up
)

// History is the storage of one gateway. It is safe for concurrent use. No
// method makes its caller wait for more than 2 s, whatever the disk does.
type History struct {
	o    Options
	mem  *base         // what is in force, and the last of everything
	turn chan struct{} // who has received from it writes, to the disk and then to mem

	wake     chan struct{} // there is something in the queue
	stopping chan struct{}
	running  sync.WaitGroup

	mu       sync.Mutex // never held while anything is waited for
	disk     *base      // nil: it cannot be used
	status   Status
	queue    []Event
	last     int64 // id given last
	written  int64 // id of the last event known to be on disk
	readers  map[*reader]struct{}
	closed   bool
	fallen   *base     // what was given up, and perhaps is in use still
	why      error     // it was given up
	retry    time.Time // when the file is tried again
	replaced time.Time // when a broken one was

	// Of who has the turn.
	dirty map[name]struct{} // rows that are not on disk as they are in mem
	file  string            // id of the one in use last
	fresh int               // events in mem since it was pruned

	// Of run.
	opening chan opened
	prune   time.Time
}

// Open opens the file, and makes it if there is none. It never fails: if the file
// cannot be used it starts on memory. A file that is broken is moved aside as
// NAME.corrupt-TIME.
func Open(o Options) *History {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.look == 0 {
		o.look = often
	}
	mem, err := openMemory()
	if err != nil {
		panic("history: no database in memory: " + err.Error()) // the program itself is broken: a migration
	}
	h := &History{
		o: o, mem: mem, turn: make(chan struct{}, 1), wake: make(chan struct{}, 1), stopping: make(chan struct{}),
		status: Status{Path: o.Path, Since: o.Now()}, last: o.Now().UnixMilli(),
		readers: map[*reader]struct{}{}, dirty: map[name]struct{}{}, prune: time.Now(),
	}
	h.turn <- struct{}{}
	if o.Path != "" {
		h.attempt(patience)
	}
	h.running.Go(h.run)
	return h
}

// Status says where things are kept now.
func (h *History) Status() Status {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.status
}

// Close writes what is queued while ctx lasts, and closes the file. Nothing is
// kept after it. It returns an error if not all is on disk.
func (h *History) Close(ctx context.Context) error {
	h.mu.Lock()
	if h.closed {
		h.mu.Unlock()
		return nil
	}
	h.closed = true
	for r := range h.readers {
		h.drop(r)
	}
	h.mu.Unlock()
	close(h.stopping)

	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	done := make(chan struct{})
	go func() {
		defer close(done)
		h.running.Wait()
		h.flush(ctx)
		h.mu.Lock()
		all := []*base{h.disk, h.fallen, h.mem}
		h.disk = nil
		h.mu.Unlock()
		for _, b := range all {
			if b != nil {
				b.close()
			}
		}
		if h.opening != nil {
			if o := <-h.opening; o.base != nil {
				o.base.close()
			}
		}
	}()
	select {
	case <-done:
	case <-ctx.Done():
		return errors.New("history: closing takes too long; the last events may not be on disk")
	}
	if s := h.Status(); s.Path != "" && !s.OnDisk {
		return errors.New("history: not all is on disk: " + s.Fault)
	}
	return nil
}

// take waits for the turn. Give it back.
func (h *History) take(ctx context.Context) error {
	select {
	case <-h.turn:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (h *History) give() { h.turn <- struct{}{} }

// store writes a batch to the disk, or else keeps in mind that it is not there,
// and to memory. It needs the turn.
func (h *History) store(ctx context.Context, w *batch) error {
	_, b, err := onDisk(ctx, h, w.write)
	inMemory := *w
	switch {
	case err == nil:
		inMemory.points = nil // charts are read from the disk
		if n := len(w.events); n > 0 {
			h.mu.Lock()
			h.written = max(h.written, w.events[n-1].ID)
			h.mu.Unlock()
		}
	case h.o.Beside:
		return err
	default:
		h.fall(b, err)
		for _, r := range w.rows {
			h.dirty[r.name()] = struct{}{}
		}
	}
	if err := h.mem.write(context.WithoutCancel(ctx), &inMemory); err != nil {
		return err
	}
	if h.fresh += len(w.events) + len(w.acts) + len(inMemory.points); h.fresh >= memoryRows/4 {
		h.fresh = 0
		return h.pruneMemory()
	}
	return nil
}

// change waits for the turn and stores a batch. One that has begun is not undone
// because its caller went away.
func (h *History) change(ctx context.Context, w func() (*batch, error)) error {
	end := time.Now().Add(within)
	waits, cancel := context.WithDeadline(ctx, end)
	defer cancel()
	if err := h.take(waits); err != nil {
		return err
	}
	defer h.give()
	h.mu.Lock()
	closed := h.closed
	h.mu.Unlock()
	if closed {
		return ErrClosed
	}
	b, err := w()
	if err != nil {
		return err
	}
	writes, cancel := context.WithDeadline(context.WithoutCancel(ctx), end)
	defer cancel()
	return h.store(writes, b)
}

// flush writes the events that wait, if the turn comes while ctx lasts.
func (h *History) flush(ctx context.Context) {
	if h.take(ctx) != nil {
		return
	}
	defer h.give()
	h.mu.Lock()
	events := h.queue
	h.queue = nil
	h.mu.Unlock()
	if len(events) == 0 {
		return
	}
	if err := h.store(ctx, &batch{events: events}); err != nil {
		h.o.Log.ErrorContext(ctx, "history: events were not kept", "events", len(events), "fault", err)
	}
}
