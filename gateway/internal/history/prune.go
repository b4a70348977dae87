package history

import (
	"context"
	"database/sql"
	"errors"
	"time"
)

// How long things are kept.
const (
	keptFor    = 400 * 24 * time.Hour
	keptRows   = 1_000_000 // events, and as many acts
	memoryRows = 5_000     // of events, acts and points each, in memory
	pruneEvery = 10 * time.Minute
	pruneBatch = 500 // rows in one transaction, so that nobody waits for long
)

// finest is the step of points as they come.
const finest = 10 * time.Second

// ages says when points get coarser.
var ages = [...]struct {
	step, after, into time.Duration // into 0: they are deleted
}{
	{finest, 24 * time.Hour, time.Minute},
	{time.Minute, 7 * 24 * time.Hour, 10 * time.Minute},
	{10 * time.Minute, keptFor, 0},
}

// pruneAll deletes what is too old or too much, a batch of it, and reports
// whether there may be more.
func (h *History) pruneAll() (more bool) {
	<-h.turn
	defer h.give()
	if err := h.pruneMemory(); err != nil {
		h.o.Log.Error("history: memory was not pruned", "fault", err)
	}
	n, b, err := onDisk(context.Background(), h, func(ctx context.Context, b *base) (pruned, error) {
		n, err := b.prune(ctx, h.o.Now(), keptRows, pruneBatch)
		if err == nil && !n.any() {
			n.points, err = b.thin(ctx, h.o.Now())
		}
		return n, err
	})
	if err != nil && !errors.Is(err, errNoDisk) {
		h.fall(b, err)
	}
	return err == nil && n.any()
}

// pruneMemory keeps memory small. It needs the turn.
func (h *History) pruneMemory() error {
	ctx := context.Background()
	h.mu.Lock()
	written, lost := h.written, h.o.Path != "" && h.disk == nil
	h.mu.Unlock()
	var before, after uint64
	if lost {
		if err := h.mem.countAfter(ctx, written, &before); err != nil {
			return err
		}
	}
	if _, err := h.mem.prune(ctx, h.o.Now(), memoryRows, most); err != nil {
		return err
	}
	if _, err := h.mem.w.ExecContext(ctx, `DELETE FROM point WHERE at <= (SELECT at FROM point ORDER BY at DESC LIMIT 1 OFFSET ?)`, memoryRows); err != nil {
		return err
	}
	if lost {
		if err := h.mem.countAfter(ctx, written, &after); err != nil {
			return err
		}
	}
	h.mu.Lock()
	h.status.Lost += before - after
	h.mu.Unlock()
	return nil
}

// countAfter counts the events with a greater id.
func (b *base) countAfter(ctx context.Context, id int64, n *uint64) error {
	return b.r.QueryRowContext(ctx, `SELECT count(*) FROM event WHERE id > ?`, id).Scan(n)
}

// pruned counts what was deleted.
type pruned struct {
	events, acts, rows, points int64
}

func (p pruned) any() bool { return p != pruned{} }

// prune deletes up to limit rows of each table that are too old, or beyond the
// number that is kept.
func (b *base) prune(ctx context.Context, now time.Time, keep, limit int) (n pruned, err error) {
	tx, err := b.w.BeginTx(ctx, nil)
	if err != nil {
		return n, err
	}
	defer func() { _ = tx.Rollback() }()
	old := now.Add(-keptFor).UnixMilli()
	for _, d := range []struct {
		count     *int64
		statement string
		values    []any
	}{
		{&n.events, `DELETE FROM event WHERE id IN (SELECT id FROM event WHERE at < ? LIMIT ?)`, []any{old, limit}},
		{&n.acts, `DELETE FROM act WHERE id IN (SELECT id FROM act WHERE at < ? LIMIT ?)`, []any{old, limit}},
		{&n.events, `DELETE FROM event WHERE id IN (SELECT id FROM event
			WHERE id <= (SELECT id FROM event ORDER BY id DESC LIMIT 1 OFFSET ?) ORDER BY id LIMIT ?)`, []any{keep, limit}},
		{&n.acts, `DELETE FROM act WHERE id IN (SELECT id FROM act
			WHERE id <= (SELECT id FROM act ORDER BY id DESC LIMIT 1 OFFSET ?) ORDER BY id LIMIT ?)`, []any{keep, limit}},
		{&n.rows, `DELETE FROM state WHERE kind = ? AND at < ?`, []any{kindAnswer, now.Add(-remembered).UnixMilli()}},
		{&n.rows, `DELETE FROM state WHERE kind IN (?, ?) AND at < ?`, []any{kindBreaker, kindLatency, old}},
	} {
		if err := deleted(ctx, tx, d.count, d.statement, d.values); err != nil {
			return n, err
		}
	}
	return n, tx.Commit()
}

func deleted(ctx context.Context, tx *sql.Tx, count *int64, statement string, values []any) error {
	r, err := tx.ExecContext(ctx, statement, values...)
	if err != nil {
		return err
	}
	rows, err := r.RowsAffected()
	*count += rows
	return err
}

// thin makes points coarser that are old enough, of each dependency those of one
// stretch, and returns how many there were.
func (b *base) thin(ctx context.Context, now time.Time) (n int64, err error) {
	dependencies, err := b.pointed(ctx)
	for _, d := range dependencies {
		for _, a := range ages {
			if err != nil {
				return n, err
			}
			var thinned int64
			thinned, err = b.thinOne(ctx, d, a.step, a.into, floor(now.Add(-a.after), max(a.into, a.step)))
			n += thinned
		}
	}
	return n, err
}

// pointed returns the dependencies that have points, by a look at each and not
// at all rows.
func (b *base) pointed(ctx context.Context) (all []string, err error) {
	rows, err := b.r.QueryContext(ctx, `WITH RECURSIVE d (x) AS (
			SELECT min(dependency) FROM point
			UNION ALL SELECT (SELECT min(dependency) FROM point WHERE dependency > x) FROM d WHERE x IS NOT NULL
		) SELECT x FROM d WHERE x IS NOT NULL`)
	if err != nil {
		return nil, err
	}
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		var d string
		if err := rows.Scan(&d); err != nil {
			return nil, err
		}
		all = append(all, d)
	}
	return all, rows.Err()
}

// thinOne merges the oldest points of one length that began before the end,
// whole new steps of them.
func (b *base) thinOne(ctx context.Context, dependency string, step, into time.Duration, end time.Time) (int64, error) {
	const of = `WHERE dependency = ? AND step = ? AND at < ? ORDER BY at LIMIT ?`
	seconds := int64(step / time.Second)
	points, err := b.points(ctx, of, dependency, seconds, end.UnixMilli(), pruneBatch)
	if err != nil || len(points) == 0 {
		return 0, err
	}
	if into > 0 && len(points) == pruneBatch {
		end = floor(points[len(points)-1].At, into) // the rest of that one comes next time
	}
	kept := 0
	for kept < len(points) && points[kept].At.Before(end) {
		kept++
	}
	w := &batch{}
	if into > 0 {
		for _, p := range merge(points[:kept], into) {
			w.points = append(w.points, stepped{p, into})
		}
	}
	tx, err := b.w.BeginTx(ctx, nil)
	if err != nil {
		return 0, err
	}
	defer func() { _ = tx.Rollback() }()
	var n int64
	if err := deleted(ctx, tx, &n, `DELETE FROM point WHERE dependency = ? AND step = ? AND at <= ?`,
		[]any{dependency, seconds, points[kept-1].At.UnixMilli()}); err != nil {
		return 0, err
	}
	if err := w.putPoints(ctx, tx); err != nil {
		return 0, err
	}
	return n, tx.Commit()
}
