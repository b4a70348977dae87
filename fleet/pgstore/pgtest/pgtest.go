//go:build unix

// Package pgtest starts a PostgreSQL server for a test, from the programs that are
// installed, in a folder of its own that is removed with it. It listens on the loopback
// address alone.
package pgtest

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/recloser-go/recloser/internal/eventually"
)

// User and Password are those of the server's administrator.
const (
	User     = "admin"
	Password = "p@ss/word#1" // what must be escaped in a URL is where passwords leak
)

// within bounds what a server takes on a busy machine.
const within = time.Minute

// Server is a PostgreSQL server of one test. Its methods fail the test if they cannot do
// what they say; they are for one goroutine.
type Server struct {
	bin, dir, data string
	port           int
	owner          *syscall.Credential // nil: whoever runs the test

	postmaster *exec.Cmd // nil while it does not run
	settings   []string
	env        []string
}

// Start starts an empty server that ends with the test. settings are like "fsync=on":
// by default nothing is synced to the disk, which only a machine that stops could tell.
func Start(t testing.TB, settings ...string) *Server {
	t.Helper()
	return StartIn(t, nil, settings...)
}

// StartIn is Start with more in the server's environment.
func StartIn(t testing.TB, env []string, settings ...string) *Server {
	t.Helper()
	s := prepare(t, settings)
	s.env = env
	s.run(t, "initdb", "-D", s.data, "-U", User, "--pwfile", filepath.Join(s.dir, passwordFile),
		"-A", "scram-sha-256", "-E", "UTF8", "--locale", "C", "--no-sync")
	s.admitNeighbours(t)
	s.launch(t)
	return s
}

// admitNeighbours lets in who comes from another machine, if the server is told to listen
// for those.
func (s *Server) admitNeighbours(t testing.TB) {
	t.Helper()
	file, err := os.OpenFile(filepath.Join(s.data, "pg_hba.conf"), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	_, err = file.WriteString("host all all samenet scram-sha-256\n")
	if err = errors.Join(err, file.Close()); err != nil {
		t.Fatal(err)
	}
}

// Replica starts a server that follows this one, and takes over when it is told to Promote.
// What this one has promised by then the replica need not know: it does not wait for it.
func (s *Server) Replica(t testing.TB) *Server {
	t.Helper()
	r := s.copy(t, "-R")
	r.launch(t)
	return r
}

// Backup copies what the server has, and returns a function that has the server go on
// with that, as after a restore.
func (s *Server) Backup(t testing.TB) (restore func()) {
	t.Helper()
	backup := s.copy(t)
	return func() {
		t.Helper()
		s.Kill(t)
		s.data = backup.data
		s.launch(t)
	}
}

// copy makes a server of what this one has, and does not start it.
func (s *Server) copy(t testing.TB, args ...string) *Server {
	t.Helper()
	c := prepare(t, s.settings)
	from := fmt.Sprintf("host=127.0.0.1 port=%d user=%s password='%s'", s.port, User, Password)
	s.run(t, "pg_basebackup", append([]string{"-D", c.data, "-d", from, "-c", "fast", "--no-sync"}, args...)...)
	return c
}

// Promote makes a replica a server of its own.
func (s *Server) Promote(t testing.TB) {
	t.Helper()
	s.Exec(t, `SELECT pg_promote()`)
}

const passwordFile = "password"

// prepare makes the folder of a server, and has what will run in it end with the test.
func prepare(t testing.TB, settings []string) *Server {
	t.Helper()
	dir := t.TempDir()
	s := &Server{bin: programs(t), dir: dir, data: filepath.Join(dir, "data"), settings: settings}
	secret := filepath.Join(dir, passwordFile)
	if err := os.WriteFile(secret, []byte(Password+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	// The folder above the test's is its own as well, and closed to others.
	s.own(t, filepath.Dir(dir), dir, secret, s.certify(t))
	t.Cleanup(func() {
		s.Kill(t)
		if text, err := os.ReadFile(filepath.Join(dir, logFile)); err == nil && t.Failed() {
			t.Logf("postgres said:\n%s", text[max(0, len(text)-8<<10):])
		}
	})
	return s
}

func (s *Server) run(t testing.TB, name string, args ...string) {
	t.Helper()
	if out, err := s.command(name, args...).CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", name, err, out)
	}
}

const logFile = "log"

// launch starts the server on its data and waits until it answers.
func (s *Server) launch(t testing.TB) {
	t.Helper()
	if s.port == 0 {
		s.port = freePort(t)
	}
	log, err := os.OpenFile(filepath.Join(s.dir, logFile), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = log.Close() }()
	args := []string{"-D", s.data, "-p", strconv.Itoa(s.port)}
	for _, setting := range append([]string{
		"listen_addresses=127.0.0.1", "unix_socket_directories=", "fsync=off", "shared_buffers=16MB",
		"ssl=on", "ssl_cert_file=" + s.Certificate(), "ssl_key_file=" + filepath.Join(s.dir, keyFile),
	}, s.settings...) {
		args = append(args, "-c", setting)
	}
	cmd := s.command("postgres", args...)
	cmd.Stdout, cmd.Stderr = log, log
	endWithParent(cmd.SysProcAttr)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	s.postmaster = cmd
	eventually.True(t, within, func() bool { return s.answers(t) == nil }, "postgres to answer")
}

func (s *Server) answers(t testing.TB) error {
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	conn, err := pgx.Connect(ctx, s.URL())
	if err != nil {
		return err
	}
	return conn.Close(ctx)
}

// URL returns that of the database "postgres", for the administrator, without TLS.
func (s *Server) URL() string { return URLAt(s.Addr()) }

// URLAt is the URL of a server that is reached by other addresses, host:port.
func URLAt(addr ...string) string {
	return fmt.Sprintf("postgres://%s:p%%40ss%%2Fword%%231@%s/postgres?sslmode=disable", User, strings.Join(addr, ","))
}

// Addr returns the host and port.
func (s *Server) Addr() string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(s.port)) }

// Exec runs statements as the administrator.
func (s *Server) Exec(t testing.TB, sql string) {
	t.Helper()
	s.use(t, func(ctx context.Context, conn *pgx.Conn) error {
		_, err := conn.Exec(ctx, sql)
		return err
	})
}

// Query returns the one number that a query yields.
func (s *Server) Query(t testing.TB, sql string, args ...any) (n int) {
	t.Helper()
	s.use(t, func(ctx context.Context, conn *pgx.Conn) error { return conn.QueryRow(ctx, sql, args...).Scan(&n) })
	return n
}

func (s *Server) use(t testing.TB, f func(context.Context, *pgx.Conn) error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), within)
	defer cancel()
	conn, err := pgx.Connect(ctx, s.URL())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close(ctx) }()
	if err := f(ctx, conn); err != nil {
		t.Fatalf("postgres: %v", err)
	}
}

// Others are all connections but the one that asks and those of the server itself.
const others = `FROM pg_stat_activity WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()`

// Connections returns how many connections clients have.
func (s *Server) Connections(t testing.TB) int {
	t.Helper()
	return s.Query(t, `SELECT count(*) `+others)
}

// Drop ends all connections of clients.
func (s *Server) Drop(t testing.TB) {
	t.Helper()
	s.Exec(t, `SELECT pg_terminate_backend(pid) `+others)
}

// command is one of the server's programs, run by whom it agrees to be run.
func (s *Server) command(name string, args ...string) *exec.Cmd {
	cmd := exec.Command(filepath.Join(s.bin, name), args...)
	cmd.Dir = s.dir
	cmd.Env = append([]string{"LC_ALL=C", "PATH=" + os.Getenv("PATH")}, s.env...) // none of PGDATA, PGPORT, ...
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: s.owner, Setpgid: true}
	return cmd
}

// own gives files to somebody else if root runs the test, as postgres refuses to be
// run by root.
func (s *Server) own(t testing.TB, files ...string) {
	t.Helper()
	if os.Geteuid() != 0 {
		return
	}
	u, err := user.Lookup("postgres")
	if err != nil {
		u, err = user.Lookup("nobody")
	}
	if err != nil {
		t.Fatalf("postgres refuses to be run by root, and there is nobody else: %v", err)
	}
	uid, uidErr := strconv.ParseUint(u.Uid, 10, 32)
	gid, gidErr := strconv.ParseUint(u.Gid, 10, 32)
	if uidErr != nil || gidErr != nil {
		t.Fatalf("user %s has the ids %s and %s", u.Username, u.Uid, u.Gid)
	}
	s.owner = &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}
	for _, file := range files {
		if err := os.Chown(file, int(uid), int(gid)); err != nil {
			t.Fatal(err)
		}
	}
}

// programs returns the folder of initdb and postgres, which Debian does not put on the path.
func programs(t testing.TB) string {
	t.Helper()
	candidates, _ := filepath.Glob("/usr/lib/postgresql/*/bin/initdb")
	if path, err := exec.LookPath("initdb"); err == nil {
		if file, err := filepath.EvalSymlinks(path); err == nil { // the others are beside it
			candidates = append(candidates, file)
		}
	}
	if len(candidates) == 0 {
		t.Fatal("initdb is not there: install postgresql (as root on Debian, make test does)")
	}
	return filepath.Dir(candidates[len(candidates)-1])
}

func freePort(t testing.TB) int {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	return l.Addr().(*net.TCPAddr).Port
}
