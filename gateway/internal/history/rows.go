package history

import (
	"context"
	"database/sql"
	"errors"
)

// rows reads all that is in force. With an error it returns what could be read.
func (b *base) rows(ctx context.Context) ([]row, error) {
	return b.readRows(ctx, `SELECT kind, id, at, value FROM state WHERE kind <> ?`, kindFile)
}

// identity tells a file from all others.
func (b *base) identity(ctx context.Context) (string, error) {
	r, _, err := b.row(ctx, name{kindFile, "id"})
	return string(r.value), err
}

// rowsOf is rows for one kind, by id.
func (b *base) rowsOf(ctx context.Context, kind string) ([]row, error) {
	return b.readRows(ctx, `SELECT kind, id, at, value FROM state WHERE kind = ? ORDER BY id`, kind)
}

func (b *base) readRows(ctx context.Context, statement string, values ...any) (all []row, err error) {
	rows, err := b.r.QueryContext(ctx, statement, values...)
	if err != nil {
		return nil, err
	}
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		var r row
		if err := rows.Scan(&r.kind, &r.id, &r.at, &r.value); err != nil {
			return all, err
		}
		all = append(all, r)
	}
	return all, rows.Err()
}

// row reads one, and reports whether it is there.
func (b *base) row(ctx context.Context, n name) (r row, found bool, err error) {
	r = row{kind: n.kind, id: n.id}
	err = b.r.QueryRowContext(ctx, `SELECT at, value FROM state WHERE kind = ? AND id = ?`, n.kind, n.id).Scan(&r.at, &r.value)
	if errors.Is(err, sql.ErrNoRows) {
		return r, false, nil
	}
	return r, err == nil, err
}
