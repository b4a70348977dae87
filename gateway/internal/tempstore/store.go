// Package tempstore runs a Redis or PostgreSQL server of its own: on the loopback address,
// in a temporary folder that is removed with it.
package tempstore

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/recloser-go/recloser/gateway/internal/child"
)

// Kinds are what a store can be.
func Kinds() []string { return []string{"redis", "postgres"} }

// server is how one kind of server is run.
type server struct {
	prepare func(ctx context.Context, s *Store) error
	command func(s *Store) *exec.Cmd
	url     url.URL   // without password and host
	kill    os.Signal // ends it at once, with all its processes
	keeps   bool      // what it had, when it is started again
}

// Store is a server that may run. Its methods are not safe for concurrent use, but for Unexpected.
type Store struct {
	server   server
	kind     string
	program  string // the folder of it, or the program
	folder   string
	addr     string // host:port, the same after each Start
	password string

	mu      sync.Mutex
	running *child.Child // nil: it was killed
	ended   chan error   // holds one: it ended by itself
}

const (
	logFile = "log"
	// killLimit is how long a server may take to end that was told to end at once.
	killLimit = 5 * time.Second
)

// New prepares a store of that kind, which does not run yet. The error says what to
// install if it is not there.
func New(ctx context.Context, kind string) (*Store, error) {
	s := &Store{kind: kind, password: rand.Text(), ended: make(chan error, 1)}
	var err error
	switch kind {
	case "redis":
		s.server = redisServer()
		s.program, err = findRedis()
	case "postgres":
		s.server = postgresServer()
		s.program, err = findPostgres()
	default:
		return nil, fmt.Errorf("the store is one of %s, not %q", strings.Join(Kinds(), " and "), kind)
	}
	if err != nil {
		return nil, err
	}
	if s.addr, err = freeAddr(); err != nil {
		return nil, err
	}
	if s.folder, err = os.MkdirTemp("", "recloser-store-"); err != nil {
		return nil, err
	}
	if err := s.server.prepare(ctx, s); err != nil {
		return nil, errors.Join(fmt.Errorf("prepare %s: %w", kind, err), os.RemoveAll(s.folder))
	}
	return s, nil
}

// Kind is what it is.
func (s *Store) Kind() string { return s.kind }

// Keeps reports whether it has what it had when it is started again.
func (s *Store) Keeps() bool { return s.server.keeps }

// Addr is the host and port of the server.
func (s *Store) Addr() string { return s.addr }

// URL names the store to who reaches it at addr. It holds a password.
func (s *Store) URL(addr string) string {
	u := s.server.url
	u.User, u.Host = url.UserPassword(u.User.Username(), s.password), addr
	return u.String()
}

// Start starts the server, again if it was killed. It takes a moment until that answers. As
// for child.Start, the caller's goroutine must be locked to its thread while it runs.
func (s *Store) Start() error {
	log, err := os.OpenFile(filepath.Join(s.folder, logFile), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer log.Close()
	cmd := s.server.command(s)
	cmd.Dir, cmd.Stdout, cmd.Stderr = s.folder, log, log
	c, err := child.Start(cmd)
	if err != nil {
		return fmt.Errorf("start %s: %w", s.kind, err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.running = c
	go func() {
		words := c.LastWords()
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.running != c {
			return
		}
		s.running = nil
		select {
		case s.ended <- fmt.Errorf("%s ended by itself: %s: %s", s.kind, words, s.said()):
		default: // nobody has taken note of the last time
		}
	}()
	return nil
}

// Unexpected yields one error if the server ends though nobody killed it.
func (s *Store) Unexpected() <-chan error { return s.ended }

// said is the end of the server's log.
func (s *Store) said() string {
	text, _ := os.ReadFile(filepath.Join(s.folder, logFile))
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	return strings.Join(lines[max(0, len(lines)-3):], "; ")
}

// Kill ends the server at once, as a machine that fails does, and returns when it is gone.
func (s *Store) Kill() {
	s.mu.Lock()
	c := s.running
	s.running = nil
	s.mu.Unlock()
	if c == nil {
		return
	}
	if c.Signal(s.server.kill) != nil {
		c.Kill()
	}
	defer time.AfterFunc(killLimit, c.Kill).Stop()
	<-c.Ended()
}

// Close kills the server and removes its folder.
func (s *Store) Close() error {
	s.Kill()
	return os.RemoveAll(s.folder)
}

func freeAddr() (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	return l.Addr().String(), l.Close()
}

// port is the server's alone.
func (s *Store) port() string {
	_, port, _ := net.SplitHostPort(s.addr)
	return port
}

// missing says what to install.
func missing(program, pkg, other string) error {
	return fmt.Errorf("%s is not installed: install it (on Debian: apt-get install %s), or name another store with --store %s", program, pkg, other)
}

// newest is the last of these files, and the folder's own if there are none.
func newest(pattern string) string {
	found, err := filepath.Glob(pattern)
	if err != nil || len(found) == 0 {
		return ""
	}
	return slices.MaxFunc(found, func(a, b string) int { return len(a) - len(b) + strings.Compare(a, b) })
}
