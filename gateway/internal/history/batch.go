package history

import (
	"context"
	"database/sql"
	"time"
)

// batch is what is written in one transaction.
type batch struct {
	events []Event
	acts   []entry
	rows   []row
	points []stepped
}

// entry is an act with what tells it from all others.
type entry struct {
	Act
	nonce int64
}

// row is something that is in force.
type row struct {
	kind, id string
	at       int64
	value    []byte // nil: it is no more
}

// name is what a row is found by.
type name struct{ kind, id string }

func (r row) name() name { return name{r.kind, r.id} }

// write writes all of it or nothing. Writing it a second time changes nothing.
func (b *base) write(ctx context.Context, w *batch) error {
	tx, err := b.w.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }()
	for _, f := range []func(context.Context, *sql.Tx) error{w.putEvents, w.putActs, w.putRows, w.putPoints} {
		if err := f(ctx, tx); err != nil {
			return err
		}
	}
	return tx.Commit()
}

// each runs a statement with the values of each of n things.
func each(ctx context.Context, tx *sql.Tx, n int, statement string, values func(i int) []any) error {
	if n == 0 {
		return nil
	}
	s, err := tx.PrepareContext(ctx, statement)
	if err != nil {
		return err
	}
	defer func() { _ = s.Close() }()
	for i := range n {
		if _, err := s.ExecContext(ctx, values(i)...); err != nil {
			return err
		}
	}
	return nil
}

func (w *batch) putEvents(ctx context.Context, tx *sql.Tx) error {
	return each(ctx, tx, len(w.events), `INSERT OR IGNORE INTO event VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)`, func(i int) []any {
		e := &w.events[i]
		return []any{
			e.ID, milli(e.At), e.Dependency, e.Kind, e.From, e.To, e.Reason, e.By, e.Note, e.Cause,
			int64(e.OpenFor), e.Step, int64(e.Good), int64(e.Failed), int64(e.Slow), e.Run, e.Text, e.Key, e.Shadow,
		}
	})
}

// putActs gives an act the next id if another process has taken its own.
func (w *batch) putActs(ctx context.Context, tx *sql.Tx) error {
	return each(ctx, tx, len(w.acts), `INSERT OR IGNORE INTO act
		SELECT CASE WHEN EXISTS (SELECT 1 FROM act WHERE id = ?1) THEN (SELECT max(id) + 1 FROM act) ELSE ?1 END,
			?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13`, func(i int) []any {
		a := &w.acts[i]
		return []any{
			a.ID, a.nonce, milli(a.At), a.Name, a.Target, a.By, a.Role, a.From, a.Reason, milli(a.Until),
			a.Result, a.Key, string(a.Detail),
		}
	})
}

func (w *batch) putRows(ctx context.Context, tx *sql.Tx) error {
	for i := range w.rows {
		r := &w.rows[i]
		statement, values := `DELETE FROM state WHERE kind = ? AND id = ?`, []any{r.kind, r.id}
		if r.value != nil {
			statement, values = `INSERT OR REPLACE INTO state VALUES (?,?,?,?)`, append(values, r.at, string(r.value))
		}
		if _, err := tx.ExecContext(ctx, statement, values...); err != nil {
			return err
		}
	}
	return nil
}

func (w *batch) putPoints(ctx context.Context, tx *sql.Tx) error {
	return each(ctx, tx, len(w.points), `INSERT OR REPLACE INTO point VALUES (?,?,?,?,?,?,?,?,?,?,?)`, func(i int) []any {
		p := &w.points[i]
		return []any{
			p.Dependency, int64(p.step / time.Second), milli(p.At), int64(p.Good), int64(p.Failed), int64(p.Slow),
			int64(p.Ignored), int64(p.Refused), int64(p.P50), int64(p.P95), p.State,
		}
	})
}

// milli is how a time is kept: 0 for none.
func milli(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMilli()
}

func fromMilli(ms int64) time.Time {
	if ms == 0 {
		return time.Time{}
	}
	return time.UnixMilli(ms).UTC()
}
