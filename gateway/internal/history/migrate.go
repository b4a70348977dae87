package history

import (
	"context"
	"database/sql"
	"embed"
	"fmt"
)

// migrations are the steps from one schema to the next, in the order of their
// names. A step that was released is never changed.
//
//go:embed migrations/*.sql
var migrations embed.FS

// application marks a file as ours.
const application = 0x5265636c

// schema returns the steps there are.
func schema() (steps []string, err error) {
	files, err := migrations.ReadDir("migrations")
	for _, f := range files {
		text, err := migrations.ReadFile("migrations/" + f.Name())
		if err != nil {
			return nil, err
		}
		steps = append(steps, string(text))
	}
	return steps, err
}

// numbers are what a file says of itself.
type numbers struct {
	version, application, tables int
}

func readNumbers(ctx context.Context, db *sql.DB) (n numbers, err error) {
	err = db.QueryRowContext(ctx, `SELECT v.user_version, a.application_id, (SELECT count(*) FROM sqlite_schema)
		FROM pragma_user_version v, pragma_application_id a`).Scan(&n.version, &n.application, &n.tables)
	return n, err
}

// check reports why a file is none that this program may write.
func (n numbers) check(latest int) error {
	switch {
	case n.application != application && n.tables > 0:
		return fmt.Errorf("it is the database of another program: name another file")
	case n.version > latest:
		return fmt.Errorf("a newer recloser has written it (schema %d, this one knows %d): start that one, or name another file", n.version, latest)
	}
	return nil
}

// migrate brings the schema up to date, each step in a transaction. It changes
// nothing in a file that is not ours, or newer.
func migrate(ctx context.Context, db *sql.DB) error {
	steps, err := schema()
	if err != nil {
		return err
	}
	for {
		n, err := readNumbers(ctx, db)
		if err != nil {
			return err
		}
		if err := n.check(len(steps)); err != nil || n.version == len(steps) {
			return err
		}
		if err := step(ctx, db, n.version, steps[n.version]); err != nil {
			return fmt.Errorf("changing its schema from %d to %d: %w", n.version, n.version+1, err)
		}
	}
}

func step(ctx context.Context, db *sql.DB, from int, text string) error {
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }()
	var version int
	if err := tx.QueryRowContext(ctx, `PRAGMA user_version`).Scan(&version); err != nil || version != from {
		return err // another process did it meanwhile
	}
	if _, err := tx.ExecContext(ctx, text); err != nil {
		return err
	}
	// A pragma takes no parameters.
	if _, err := tx.ExecContext(ctx, fmt.Sprintf("PRAGMA user_version = %d; PRAGMA application_id = %d", from+1, application)); err != nil {
		return err
	}
	return tx.Commit()
}
