//go:build unix

// Package redistest runs Redis servers of Debian for tests: each on a free port of the
// loopback interface, in a folder of its own, and gone when its test ends.
package redistest

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/recloser-go/recloser/internal/eventually"
	"github.com/redis/go-redis/v9"
)

// patience is for what takes milliseconds on an idle machine.
const patience = 30 * time.Second

// A Server is a redis-server, or a Sentinel, that belongs to a test.
type Server struct {
	Addr string // host:port

	t      testing.TB
	dir    string
	args   []string
	env    []string // besides that of the test
	cmd    *exec.Cmd
	exited chan struct{}
}

// Start starts a server that keeps nothing on disk. args are added to its command
// line, as "--requirepass", "secret", and may say otherwise.
func Start(t testing.TB, args ...string) *Server {
	t.Helper()
	return StartIn(t, nil, args...)
}

// StartIn is Start with more in the server's environment.
func StartIn(t testing.TB, env []string, args ...string) *Server {
	t.Helper()
	return start(t, env, append([]string{"--save", "", "--appendonly", "no"}, args...)...)
}

func start(t testing.TB, env []string, args ...string) *Server {
	t.Helper()
	port := freePort(t)
	s := &Server{Addr: net.JoinHostPort("127.0.0.1", port), t: t, dir: t.TempDir(), env: env}
	own := []string{"--bind", "127.0.0.1", "--port", port, "--dir", s.dir, "--logfile", "redis.log", "--loglevel", "warning"}
	if len(args) > 0 && !strings.HasPrefix(args[0], "-") {
		s.args = append(append(args[:1:1], own...), args[1:]...) // a file of settings comes first
	} else {
		s.args = append(own, args...)
	}
	t.Cleanup(func() {
		s.Kill()
		if t.Failed() {
			t.Logf("redis-server %q said:%s", s.args, s.said())
		}
	})
	s.run()
	return s
}

// StartReplica starts a replica of the server, and returns when it has what that has.
func StartReplica(t testing.TB, of *Server, args ...string) *Server {
	t.Helper()
	host, port, _ := net.SplitHostPort(of.Addr)
	of.Do("config", "set", "repl-diskless-sync-delay", 0)
	s := Start(t, append([]string{"--replicaof", host + " " + port}, args...)...)
	eventually.True(t, patience, func() bool {
		role, _ := s.do("role").([]any)
		return len(role) > 3 && role[3] == "connected"
	}, "the replica to follow")
	return s
}

// Reaches waits until a replica has all that the server has. (WAIT waits for what was
// written on the same connection.)
func (s *Server) Reaches(replica *Server) {
	s.t.Helper()
	eventually.True(s.t, patience, func() bool {
		there, _ := s.do("role").([]any)
		here, _ := replica.do("role").([]any)
		return len(there) > 1 && len(here) > 4 && there[1] == here[4]
	}, "the replica to have all")
}

// StartCluster starts a cluster of that many primaries, and no replicas.
func StartCluster(t testing.TB, primaries int) []*Server {
	t.Helper()
	var all []*Server
	create := []string{"--cluster", "create"}
	for range primaries {
		s := Start(t, "--cluster-enabled", "yes", "--cluster-node-timeout", "2000", "--cluster-require-full-coverage", "no")
		all = append(all, s)
		create = append(create, s.Addr)
	}
	if out, err := command(t, "redis-cli", append(create, "--cluster-yes")...).CombinedOutput(); err != nil {
		t.Fatalf("redis-cli %q: %v\n%s", create, err, out)
	}
	for _, s := range all {
		eventually.True(t, patience, func() bool {
			info, _ := s.do("cluster", "info").(string)
			return len(info) > 0 && info[:len("cluster_state:ok")] == "cluster_state:ok"
		}, "the cluster to be complete")
	}
	return all
}

// StartSentinel starts a Sentinel that watches over the server under a name, and
// decides alone.
func StartSentinel(t testing.TB, over *Server, name string) *Server {
	t.Helper()
	host, port, _ := net.SplitHostPort(over.Addr)
	file := filepath.Join(t.TempDir(), "sentinel.conf")
	text := fmt.Sprintf("sentinel monitor %s %s %s 1\nsentinel down-after-milliseconds %s 1000\n", name, host, port, name)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return start(t, nil, file, "--sentinel")
}

// run starts the process and waits until it answers.
func (s *Server) run() {
	s.t.Helper()
	cmd := command(s.t, "redis-server", s.args...)
	cmd.Env = append(os.Environ(), s.env...)
	cmd.SysProcAttr = &syscall.SysProcAttr{}
	endWithParent(cmd.SysProcAttr)
	if err := cmd.Start(); err != nil {
		s.t.Fatal(err)
	}
	exited := make(chan struct{})
	go func() {
		defer close(exited)
		_ = cmd.Wait()
	}()
	s.cmd, s.exited = cmd, exited
	eventually.True(s.t, patience, func() bool {
		select {
		case <-exited:
			s.t.Fatalf("redis-server %q has ended", s.args)
		default:
		}
		conn, err := net.DialTimeout("tcp", s.Addr, time.Second)
		if err != nil {
			return false
		}
		_ = conn.Close()
		return true
	}, "redis-server to listen")
}

// said returns what the server logged after it had begun.
func (s *Server) said() string {
	log, _ := os.ReadFile(filepath.Join(s.dir, "redis.log"))
	var said strings.Builder
	begun := false
	for line := range strings.Lines(string(log)) {
		if begun && !strings.Contains(line, "overcommit") {
			said.WriteString("\n" + strings.TrimSpace(line))
		}
		begun = begun || strings.Contains(line, "Server initialized")
	}
	return said.String()
}

// Kill ends the server at once, as a crash does.
func (s *Server) Kill() {
	_ = s.cmd.Process.Kill() // fails if it has ended
	<-s.exited
}

// Restart kills the server and starts it at the same address, with what is on its disk.
func (s *Server) Restart() {
	s.t.Helper()
	s.Kill()
	s.run()
}

// Pause makes the server hang: the kernel still takes connections for it.
func (s *Server) Pause() { s.signal(syscall.SIGSTOP) }

// Resume ends a Pause.
func (s *Server) Resume() { s.signal(syscall.SIGCONT) }

func (s *Server) signal(sig syscall.Signal) {
	s.t.Helper()
	if err := s.cmd.Process.Signal(sig); err != nil {
		s.t.Fatal(err)
	}
}

// Do sends a command to the server and returns its reply.
func (s *Server) Do(args ...any) any {
	s.t.Helper()
	reply := s.do(args...)
	if err, ok := reply.(error); ok {
		s.t.Fatalf("redis %s: %v: %v", s.Addr, args, err)
	}
	return reply
}

func (s *Server) do(args ...any) any {
	password := ""
	for i, arg := range s.args {
		if arg == "--requirepass" {
			password = s.args[i+1]
		}
	}
	client := redis.NewClient(&redis.Options{Addr: s.Addr, Password: password, Protocol: 2, DisableIdentity: true})
	defer client.Close()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	reply, err := client.Do(ctx, args...).Result()
	if err != nil && !errors.Is(err, redis.Nil) {
		return err
	}
	return reply
}

func command(t testing.TB, name string, args ...string) *exec.Cmd {
	t.Helper()
	path, err := exec.LookPath(name)
	if err != nil {
		t.Fatalf("%v: as root on Debian, make test installs it", err)
	}
	return exec.Command(path, args...)
}

// freePort returns a port that nobody listens on, and neither on that 10000 above, by
// which the servers of a cluster talk.
func freePort(t testing.TB) string {
	t.Helper()
	for {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		_ = l.Close()
		port := l.Addr().(*net.TCPAddr).Port
		if port+10000 > 65535 {
			continue
		}
		if l, err = net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port+10000))); err == nil {
			_ = l.Close()
			return strconv.Itoa(port)
		}
	}
}
