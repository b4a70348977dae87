package history

import (
	"context"
	"errors"
	"time"
)

// run writes what is queued, and looks after the disk.
func (h *History) run() {
	ticker := time.NewTicker(h.o.look)
	defer ticker.Stop()
	for {
		select {
		case <-h.stopping:
			return
		case <-ticker.C:
			h.look()
		case <-h.wake:
			select {
			case <-time.After(gather):
			case <-h.stopping:
			}
			ctx, cancel := context.WithTimeout(context.Background(), within)
			h.flush(ctx)
			cancel()
		}
	}
}

// look does what is due from time to time.
func (h *History) look() {
	h.mu.Lock()
	lost, due := h.disk == nil, !time.Now().Before(h.retry)
	h.mu.Unlock()
	switch {
	case h.o.Path == "" || h.o.Beside:
	case !lost:
		h.poll()
	case due || h.opening != nil:
		h.attempt(0)
	}
	if now := time.Now(); !now.Before(h.prune) {
		h.prune = now.Add(pruneEvery)
		if h.pruneAll() {
			h.prune = now
		}
	}
}

// poll notices that the file has gone, and what another process has written.
func (h *History) poll() {
	<-h.turn
	defer h.give()
	type news struct {
		foreign bool
		rows    []row
	}
	n, b, err := onDisk(context.Background(), h, func(ctx context.Context, b *base) (n news, err error) {
		if n.foreign, err = b.check(ctx, h.o.Path); n.foreign && err == nil {
			n.rows, err = b.rows(ctx)
		}
		return n, err
	})
	if err != nil {
		h.fall(b, err)
		return
	}
	if !n.foreign {
		return
	}
	if err := h.adopt(n.rows, true); err != nil {
		h.o.Log.Error("history: what another process has written is not known here", "fault", err)
	}
}

// attempt opens the file, and waits for that so long: the next attempt goes on
// with it.
func (h *History) attempt(wait time.Duration) {
	h.mu.Lock()
	former, why, mayReplace := h.fallen, h.why, time.Since(h.replaced) > betweenFiles
	h.mu.Unlock()
	if h.opening == nil {
		h.opening = make(chan opened, 1)
		go func() {
			if former != nil {
				former.close() // waits for what hangs: it must not write after its successor
			}
			if errors.Is(why, errGone) {
				h.orphan()
			}
			h.opening <- h.open(broken(why), mayReplace)
		}()
	}
	select {
	case o := <-h.opening:
		h.opening = nil
		h.use(o)
	case <-time.After(wait):
		h.mu.Lock()
		if h.why == nil {
			h.lose(errHangs)
		}
		h.mu.Unlock()
	}
}

// use goes on with what came of opening the file.
func (h *History) use(o opened) {
	<-h.turn
	defer h.give()
	h.mu.Lock()
	h.last = max(h.last, o.last)
	h.fallen = nil
	why, fault := h.why, h.status.Fault
	if o.aside != "" {
		h.replaced = time.Now()
	}
	h.mu.Unlock()

	ctx := context.Background()
	isOther := errors.Is(why, errGone) || o.base != nil && h.file != "" && h.file != o.id
	var err error
	if !isOther || o.aside != "" {
		err = h.adopt(o.rows, o.err == nil && o.aside == "")
	}
	if err == nil && o.aside != "" {
		err = h.mem.write(ctx, &o.late) // it goes on into the new file
	}
	if err == nil && (isOther || o.aside != "") {
		err = h.dirtyAll(ctx, o.rows)
	}
	var w *batch
	if err == nil {
		w, err = h.missing(ctx)
	}
	if err != nil {
		o.giveUp()
		o.err = err
	}
	if o.base != nil {
		o.base.ops.Add(1)
		if _, err := patiently(ctx, o.base, w.write); err != nil {
			h.mu.Lock()
			h.fallen = o.base
			h.mu.Unlock()
			o.base, o.err = nil, err
		}
	}
	if o.base == nil {
		h.unused(o.err, why == nil)
		return
	}
	clear(h.dirty)
	h.file = o.id
	if !isOther {
		err = h.mem.write(ctx, &o.late)
	}
	if err := errors.Join(err, h.mem.forgetPoints(ctx)); err != nil {
		h.o.Log.Error("history: memory is not as it should be", "fault", err)
	}
	h.tellOfDisk(fault, o.aside)
	h.mu.Lock()
	h.disk, h.why = o.base, nil
	h.status.OnDisk, h.status.Fault, h.status.Since = true, "", h.o.Now()
	h.written = max(h.written, o.last)
	if n := len(w.events); n > 0 {
		h.written = max(h.written, w.events[n-1].ID)
	}
	h.mu.Unlock()
	if !h.o.Beside {
		h.running.Go(func() { h.verify(o.base) })
	}
}

// verify looks at every page of the file, while it is in use: what is damaged
// should be known before somebody needs it.
func (h *History) verify(b *base) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	h.mu.Lock()
	if h.disk != b {
		h.mu.Unlock()
		return
	}
	b.ops.Add(1)
	h.mu.Unlock()
	done := make(chan error, 1)
	go func() {
		defer b.ops.Done()
		done <- b.intact(ctx)
	}()
	select {
	case err := <-done:
		if broken(err) {
			h.fall(b, err)
		}
	case <-h.stopping:
	}
}

// unused says why the file is not used.
func (h *History) unused(why error, first bool) {
	after := retryFault
	if errors.Is(why, errHeld) {
		after = retrySoon
	}
	h.mu.Lock()
	h.lose(why)
	h.why, h.retry = why, time.Now().Add(after)
	h.mu.Unlock()
	if first {
		h.o.Log.Error("history cannot be kept on disk: it is in memory", "path", h.o.Path, "fault", hint(why))
		h.Record(Event{Kind: KindGateway, Reason: "storage", Text: "history is kept in memory only: " + hint(why)})
	}
}

// tellOfDisk records that the file is in use, if that is news.
func (h *History) tellOfDisk(before, aside string) {
	var text string
	switch {
	case aside != "":
		text = "the file of the history was broken; it was moved aside as " + aside + ", and a new one begun"
	case before != "":
		text = "history is written to disk again"
	default:
		return
	}
	h.o.Log.Info("history is written to disk", "path", h.o.Path, "what", text)
	h.Record(Event{Kind: KindGateway, Reason: "storage", Text: text})
}

// adopt takes over what is in force on disk, except for what was changed here
// since. If rows are whole, what is not among them is no more. It needs the turn.
func (h *History) adopt(rows []row, whole bool) error {
	ctx := context.Background()
	here, err := h.mem.rows(ctx)
	if err != nil {
		return err
	}
	gone := map[name]row{}
	for _, r := range here {
		gone[r.name()] = row{kind: r.kind, id: r.id}
	}
	w := &batch{}
	for _, r := range rows {
		delete(gone, r.name())
		if _, changed := h.dirty[r.name()]; !changed {
			w.rows = append(w.rows, r)
		}
	}
	for n, r := range gone {
		if _, changed := h.dirty[n]; whole && !changed {
			w.rows = append(w.rows, r)
		}
	}
	return h.mem.write(ctx, w)
}

// dirtyAll says that nothing on disk is as it should be. It needs the turn.
func (h *History) dirtyAll(ctx context.Context, there []row) error {
	rows, err := h.mem.rows(ctx)
	for _, r := range append(rows, there...) {
		h.dirty[r.name()] = struct{}{}
	}
	return err
}

// missing returns what is in memory and may not be on disk. It needs the turn.
func (h *History) missing(ctx context.Context) (*batch, error) {
	w := &batch{}
	for n := range h.dirty {
		r, found, err := h.mem.row(ctx, n)
		if err != nil {
			return nil, err
		}
		if !found {
			r.value = nil
		}
		w.rows = append(w.rows, r)
	}
	var err error
	if w.events, err = h.mem.events(ctx, EventQuery{After: 1, Limit: most}); err != nil {
		return nil, err
	}
	if w.acts, err = h.mem.acts(ctx, ActQuery{After: 1, Limit: most}); err != nil {
		return nil, err
	}
	w.points, err = h.mem.points(ctx, "")
	return w, err
}
