package history

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// opened is what came of opening the file.
type opened struct {
	base *base // nil: err says why
	err  error
	known
	aside string // where a broken file was moved to
}

// known is what is read from a file at once, as far as it can be.
type known struct {
	id   string // of the file
	rows []row  // in force
	last int64  // id given last
	late batch  // the last events and acts
}

// latest is how many events, and acts, of the time before are in memory.
const latest = 1000

func (b *base) know(ctx context.Context) (k known, err error) {
	var errs [5]error
	k.id, errs[0] = b.identity(ctx)
	k.rows, errs[1] = b.rows(ctx)
	k.last, errs[2] = b.lastID(ctx)
	k.late.events, errs[3] = b.events(ctx, EventQuery{Limit: latest})
	k.late.acts, errs[4] = b.acts(ctx, ActQuery{Limit: latest})
	return k, errors.Join(errs[:]...)
}

// open opens the file. If it is suspicious all of it is looked at. One that is
// broken it moves aside, if it may.
func (h *History) open(suspicious, mayReplace bool) (o opened) {
	ctx := context.Background()
	if o.base, o.err = openFile(ctx, &h.o); o.err == nil {
		o.known, o.err = o.base.know(ctx)
		if o.err == nil && suspicious {
			o.err = o.base.intact(ctx)
		}
		if o.err == nil {
			return o
		}
	}
	o.giveUp()
	if h.o.Beside {
		return o
	}
	if !broken(o.err) || !mayReplace {
		o.readOnly(ctx, &h.o)
		return o
	}
	return h.replace(ctx, o)
}

func (o *opened) giveUp() {
	if o.base != nil {
		o.base.close()
		o.base = nil
	}
}

// readOnly reads what is in force from a file that cannot be written.
func (o *opened) readOnly(ctx context.Context, opts *Options) {
	b, err := openReadOnly(ctx, opts)
	if err != nil {
		return // what is the matter is known already
	}
	defer b.close()
	if k, err := b.know(ctx); err == nil {
		o.known = k
	}
}

// replace moves a broken file aside and begins a new one.
func (h *History) replace(ctx context.Context, o opened) opened {
	aside := h.o.Path + ".corrupt-" + h.o.Now().UTC().Format("20060102T150405.000Z")
	held, err := lock(h.o.Path + ".lock")
	if err == nil {
		err = os.Rename(h.o.Path, aside)
		for _, part := range []string{"-wal", "-shm"} { // what makes sense only together stays together
			if e := os.Rename(h.o.Path+part, aside+part); !errors.Is(e, os.ErrNotExist) {
				err = errors.Join(err, e)
			}
		}
		_ = held.Close()
	}
	if err != nil {
		o.err = fmt.Errorf("%w; it cannot be moved aside: %w", o.err, err)
		return o
	}
	h.o.Log.ErrorContext(ctx, "history: the file is broken, it was moved aside and a new one begun",
		"path", h.o.Path, "aside", aside, "fault", o.err)
	o.aside = filepath.Base(aside)
	if o.base, o.err = openFile(ctx, &h.o); o.err == nil {
		o.id, o.err = o.base.identity(ctx)
	}
	if o.err != nil {
		o.giveUp()
	}
	return o
}

// intact looks at every page.
func (b *base) intact(ctx context.Context) error {
	var says string
	if err := b.r.QueryRowContext(ctx, `PRAGMA quick_check(1)`).Scan(&says); err != nil {
		return err
	}
	if says != "ok" {
		return fmt.Errorf("%w: %s", errDamaged, says)
	}
	return nil
}

// lastID returns the id that was given last.
func (b *base) lastID(ctx context.Context) (last int64, err error) {
	err = b.r.QueryRowContext(ctx, `SELECT max(coalesce((SELECT max(id) FROM event), 0), coalesce((SELECT max(id) FROM act), 0))`).Scan(&last)
	return last, err
}

// orphan moves aside what stood beside a file that was removed or replaced:
// SQLite leaves it there, and would apply it to the next one.
func (h *History) orphan() {
	aside := h.o.Path + ".orphan-" + h.o.Now().UTC().Format("20060102T150405.000Z")
	for _, part := range []string{"-wal", "-shm"} {
		if err := os.Rename(h.o.Path+part, aside+part); err != nil && !errors.Is(err, os.ErrNotExist) {
			h.o.Log.Error("history: what belonged to the former file cannot be moved aside", "fault", err)
		}
	}
}
