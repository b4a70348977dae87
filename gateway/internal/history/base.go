package history

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"sync"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"
)

// base is a database with our tables: the file, or the one in memory.
type base struct {
	w, r *sql.DB        // one connection that writes, and some that read; the same in memory
	lock *os.File       // nil: none
	file os.FileInfo    // what was opened; nil in memory
	ops  sync.WaitGroup // what uses it now
	seen int64          // data_version of w: another one means that another process wrote
}

var (
	errHeld    = errors.New("another recloser works on it: stop that one, or name another file in storage.path")
	errForeign = errors.New("it is no database: name another file in storage.path, or move it away")
	errDamaged = errors.New("the file is damaged")
	errGone    = errors.New("the file was removed or replaced")
	errHangs   = errors.New("the disk does not answer")
)

// broken reports whether the file is damaged, which no waiting will mend.
func broken(err error) bool {
	e, ok := errors.AsType[*sqlite.Error](err)
	if !ok {
		return errors.Is(err, errDamaged)
	}
	code := e.Code() & 0xff // the rest says in which part of it
	return code == sqlite3.SQLITE_CORRUPT || code == sqlite3.SQLITE_NOTADB
}

// connect opens n connections at most. Pragmas are set on each.
func connect(name string, n int, pragmas ...string) (*sql.DB, error) {
	query := url.Values{
		"_txlock":   {"immediate"}, // a transaction that begins by reading could fail in the middle else
		"_pragma":   append([]string{"busy_timeout(1000)"}, pragmas...),
		"_error_rc": {"1"}, "_dqs": {"0"},
	}
	c, err := sqlite.NewConnector(name + "?" + query.Encode())
	if err != nil {
		return nil, err
	}
	db := sql.OpenDB(c)
	db.SetMaxOpenConns(n)
	db.SetMaxIdleConns(n)
	return db, nil
}

// openMemory returns an empty database that lives as long as its connection.
func openMemory() (*base, error) {
	db, err := connect("file::memory:", 1)
	if err != nil {
		return nil, err
	}
	if err := migrate(context.Background(), db); err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return &base{w: db, r: db}, nil
}

// uri returns the name by which SQLite opens a file.
func uri(path string) string {
	path = filepath.ToSlash(path)
	if runtime.GOOS == "windows" {
		path = "/" + path
	}
	return "file:" + (&url.URL{Path: path}).EscapedPath()
}

// openFile opens the database in a file, and makes it if there is none. A file
// that is no database is not touched, unless there is a lock beside it: then it
// was one of ours.
func openFile(ctx context.Context, o *Options) (*base, error) {
	path, err := filepath.Abs(o.Path)
	if err != nil {
		return nil, err
	}
	if _, err := os.Stat(path + ".lock"); err != nil {
		if err := looksRight(path); err != nil {
			return nil, err
		}
	}
	b := &base{}
	if err := b.open(ctx, o, path); err != nil {
		b.close()
		return nil, err
	}
	return b, nil
}

func (b *base) open(ctx context.Context, o *Options, path string) (err error) {
	if !o.Beside {
		if b.lock, err = lock(path + ".lock"); err != nil {
			return err
		}
		stamp(b.lock)
	}
	// Made here, as SQLite would let others read it: hashes of tokens are in it.
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	b.file, err = f.Stat()
	if err := errors.Join(err, f.Close()); err != nil {
		return err
	}
	if b.file.Size() == 0 {
		syncFolder(filepath.Dir(path))
	}
	pragmas := append([]string{"synchronous(FULL)", "journal_size_limit(4194304)"}, o.pragmas...)
	if b.w, err = connect(uri(path), 1, pragmas...); err != nil {
		return err
	}
	if b.r, err = connect(uri(path), 3, "query_only(1)"); err != nil {
		return err
	}
	return b.prepare(ctx, o, path)
}

// stamp says in the lock file whose it is, for people.
func stamp(lock *os.File) {
	if lock.Truncate(0) == nil {
		_, _ = fmt.Fprintf(lock, "%d\n", os.Getpid())
	}
}

// syncFolder makes a new file's name survive a loss of power. Some systems
// cannot, and do it by themselves.
func syncFolder(folder string) {
	if f, err := os.Open(folder); err == nil {
		_ = f.Sync()
		_ = f.Close()
	}
}

// prepare brings the file up to date and looks for damage.
func (b *base) prepare(ctx context.Context, o *Options, path string) error {
	steps, err := schema()
	if err != nil {
		return err
	}
	n, err := readNumbers(ctx, b.w)
	if err == nil {
		err = n.check(len(steps))
	}
	if err != nil {
		return err
	}
	if o.Beside && n.version < len(steps) {
		// The daemon that holds the lock could not read it afterwards.
		l, err := lock(path + ".lock")
		if err != nil {
			return fmt.Errorf("schema %d is older than this program's %d: %w", n.version, len(steps), err)
		}
		defer func() { _ = l.Close() }()
	}
	var mode string
	if err := b.w.QueryRowContext(ctx, `PRAGMA journal_mode = WAL`).Scan(&mode); err != nil {
		return err
	}
	if mode != "wal" {
		return fmt.Errorf("its folder allows no write-ahead log (journal mode %s): name a file on a local disk", mode)
	}
	if err := migrate(ctx, b.w); err != nil {
		return err
	}
	return b.w.QueryRowContext(ctx, `PRAGMA data_version`).Scan(&b.seen)
}

// openReadOnly opens a file that cannot be written, to read what is in force.
func openReadOnly(ctx context.Context, o *Options) (*base, error) {
	path, err := filepath.Abs(o.Path)
	if err == nil {
		err = looksRight(path)
	}
	if err != nil {
		return nil, err
	}
	// The second takes the file for one that nobody writes, so it needs no files
	// beside it, where the first one would make some.
	modes := []string{"?mode=ro", "?mode=ro&immutable=1"}
	if _, err := os.Stat(path + "-wal"); errors.Is(err, os.ErrNotExist) {
		slices.Reverse(modes)
	}
	for _, mode := range modes {
		b := &base{}
		c, err := sqlite.NewConnector(uri(path) + mode + "&_pragma=busy_timeout(1000)")
		if err != nil {
			return nil, err
		}
		b.w = sql.OpenDB(c)
		b.w.SetMaxOpenConns(1)
		b.r = b.w
		if n, err := readNumbers(ctx, b.w); err == nil && n.application == application {
			return b, nil
		}
		b.close()
	}
	return nil, errForeign
}

// looksRight reports errForeign for a file that does not begin like a database.
func looksRight(path string) error {
	f, err := os.Open(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }()
	const magic = "SQLite format 3\x00"
	begin := make([]byte, len(magic))
	n, _ := f.Read(begin)
	if n > 0 && !bytes.Equal(begin, []byte(magic)) {
		return errForeign
	}
	return nil
}

// close closes it once nobody uses it any more.
func (b *base) close() {
	b.ops.Wait()
	for _, db := range []*sql.DB{b.r, b.w} {
		if db != nil {
			_ = db.Close()
		}
	}
	if b.lock != nil {
		_ = b.lock.Close()
	}
}

// check reports errGone if the path leads to another file by now, and whether
// another process has written since it was asked last.
func (b *base) check(ctx context.Context, path string) (foreign bool, err error) {
	now, err := os.Stat(path)
	if errors.Is(err, os.ErrNotExist) || err == nil && !os.SameFile(now, b.file) {
		return false, errGone
	}
	var version int64
	if err := b.w.QueryRowContext(ctx, `PRAGMA data_version`).Scan(&version); err != nil {
		return false, err
	}
	foreign = version != b.seen
	b.seen = version
	return foreign, nil
}
