package history

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"
)

// How soon the disk is tried again.
const (
	retryFault = 10 * time.Second // whoever has made room waits to see it
	retrySoon  = time.Second      // a daemon that is going away gives the lock back any moment; a pause of the disk may be over
)

// betweenFiles is how long a file that is broken is left where it is if another
// one was before it: one new file after the other would fill the disk.
const betweenFiles = time.Hour

// errNoDisk is the error of what wanted the disk while there was none.
var errNoDisk = errors.New("history: the file cannot be used")

// onDisk runs f on the disk and waits for it while ctx lasts, and no longer than
// patience. It returns what f was run on, nil if there is no disk now.
func onDisk[T any](ctx context.Context, h *History, f func(context.Context, *base) (T, error)) (value T, b *base, err error) {
	h.mu.Lock()
	if b = h.disk; b == nil {
		err := fmt.Errorf("%w: %s", errNoDisk, cmp.Or(h.status.Fault, "none is named"))
		h.mu.Unlock()
		return value, nil, err
	}
	b.ops.Add(1) // under the lock, so that nobody closes it in between
	h.mu.Unlock()
	value, err = patiently(ctx, b, f)
	return value, b, err
}

// patiently runs f, which is counted in b.ops, and waits for it while ctx lasts,
// and no longer than patience. If the disk hangs f ends later: it must write to
// nothing but what it returns.
func patiently[T any](ctx context.Context, b *base, f func(context.Context, *base) (T, error)) (value T, err error) {
	type result struct {
		value T
		err   error
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	done := make(chan result, 1) // a disk that hangs holds a goroutine, and no caller
	go func() {
		defer b.ops.Done()
		v, err := f(ctx, b)
		if err != nil && ctx.Err() != nil {
			err = errHangs // it was interrupted
		}
		done <- result{v, err}
	}()
	select {
	case r := <-done:
		return r.value, r.err
	case <-ctx.Done():
		return value, errHangs
	}
}

// read runs f on the disk, or on memory if there is none.
func read[T any](ctx context.Context, h *History, f func(context.Context, *base) (T, error)) (T, error) {
	limited, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	h.flush(limited)
	value, b, err := onDisk(limited, h, f)
	switch {
	case err == nil:
		return value, nil
	case ctx.Err() != nil:
		return value, ctx.Err()
	case broken(err):
		h.fall(b, err)
	case h.uses(b): // it writes, so it is there: the answer is too far away
		return value, fmt.Errorf("history: reading takes too long: ask for a shorter time or fewer kinds: %w", err)
	}
	return f(context.WithoutCancel(ctx), h.mem)
}

// write is base.write, as onDisk wants it.
func (w *batch) write(ctx context.Context, b *base) (struct{}, error) {
	return struct{}{}, b.write(ctx, w)
}

// uses reports whether b is what is in use now.
func (h *History) uses(b *base) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return b != nil && h.disk == b
}

// fall gives the disk up.
func (h *History) fall(b *base, why error) {
	h.mu.Lock()
	if b == nil || h.disk != b {
		h.mu.Unlock()
		return
	}
	h.disk = nil
	h.lose(why)
	h.fallen, h.why = b, why
	switch now := time.Now(); {
	case broken(why) || errors.Is(why, errGone):
		h.retry = now // waiting mends nothing
	case errors.Is(why, errHangs):
		h.retry = now.Add(retrySoon)
	default:
		h.retry = now.Add(retryFault)
	}
	h.mu.Unlock()
	h.o.Log.Error("history is not being written: going on in memory", "path", h.o.Path, "fault", why)
	h.Record(Event{Kind: KindGateway, Reason: "storage", Text: "history is kept in memory only: " + hint(why)})
}

// lose puts a fault into the status. It needs mu.
func (h *History) lose(why error) {
	fault := hint(why)
	if h.status.OnDisk || h.status.Fault != fault {
		h.status.OnDisk, h.status.Fault, h.status.Since = false, fault, h.o.Now()
	}
}

// hint adds what to do.
func hint(err error) string {
	code := 0
	if e, ok := errors.AsType[*sqlite.Error](err); ok {
		code = e.Code() & 0xff
	}
	does := ""
	switch {
	case code == sqlite3.SQLITE_FULL:
		does = "; make room on its disk"
	case code == sqlite3.SQLITE_READONLY, code == sqlite3.SQLITE_CANTOPEN, code == sqlite3.SQLITE_PERM, errors.Is(err, os.ErrPermission):
		does = "; let this process write to the file and its folder"
	case errors.Is(err, os.ErrNotExist):
		does = "; make the folder"
	case code == sqlite3.SQLITE_BUSY:
		does = "; another process holds the file: end it"
	case code == sqlite3.SQLITE_IOERR, errors.Is(err, errHangs):
		does = "; look at its disk"
	}
	return err.Error() + does
}
