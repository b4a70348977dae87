//go:build unix

package pgtest

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/recloser-go/recloser/internal/eventually"
)

// Pause makes the server hang: connections stay, and nothing answers.
func (s *Server) Pause(t testing.TB) {
	t.Helper()
	s.signal(t, syscall.SIGSTOP)
}

// Resume lets a server go on that was paused.
func (s *Server) Resume(t testing.TB) {
	t.Helper()
	s.signal(t, syscall.SIGCONT)
}

// Kill ends the server at once, as a machine does that fails. It may be killed twice.
func (s *Server) Kill(t testing.TB) {
	t.Helper()
	if s.postmaster == nil {
		return
	}
	all := s.signal(t, syscall.SIGSTOP) // so that it has no more children than these
	for _, pid := range all {
		_ = syscall.Kill(pid, syscall.SIGKILL)
	}
	_ = s.postmaster.Wait()
	s.postmaster = nil
	eventually.True(t, within, func() bool {
		for _, pid := range all {
			if p := stat(pid); p.state != "" && p.state != "Z" {
				return false
			}
		}
		return true
	}, "the processes of postgres to be gone")
}

// Restart kills the server, if it runs, and starts it again on the same port and data.
func (s *Server) Restart(t testing.TB) {
	t.Helper()
	s.Kill(t)
	s.launch(t)
}

// signal sends a signal to the server and to its children, each of which leads a
// group of its own, and returns their ids.
func (s *Server) signal(t testing.TB, sig syscall.Signal) []int {
	t.Helper()
	if s.postmaster == nil {
		t.Fatal("postgres does not run")
	}
	all := []int{s.postmaster.Process.Pid}
	_ = syscall.Kill(all[0], sig) // fails if it has ended
	all = append(all, children(t, all[0])...)
	for _, pid := range all[1:] {
		_ = syscall.Kill(pid, sig)
	}
	return all
}

func children(t testing.TB, parent int) []int {
	t.Helper()
	files, err := filepath.Glob("/proc/[0-9]*")
	if err != nil || len(files) == 0 {
		t.Fatalf("the processes of this machine cannot be listed: /proc is not there (%v)", err)
	}
	var found []int
	for _, file := range files {
		pid, err := strconv.Atoi(filepath.Base(file))
		if err != nil {
			continue
		}
		if stat(pid).parent == parent {
			found = append(found, pid)
		}
	}
	return found
}

// Busy returns how long the server has used a processor.
func (s *Server) Busy(t testing.TB) time.Duration {
	t.Helper()
	var ticks int
	postmaster := s.postmaster.Process.Pid
	for _, pid := range append(children(t, postmaster), postmaster) {
		ticks += stat(pid).ticks
	}
	return time.Duration(ticks) * (time.Second / 100) // so it is on every Linux
}

// process is what the kernel says of one; zero if it is gone.
type process struct {
	parent int
	state  string
	ticks  int // of processor time, with that of its children that ended
}

func stat(pid int) (p process) {
	text, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "stat"))
	if err != nil {
		return p
	}
	// The name in parentheses may hold anything.
	fields := strings.Fields(string(text[strings.LastIndexByte(string(text), ')')+1:]))
	if len(fields) < 15 {
		return p
	}
	p.state = fields[0]
	p.parent, _ = strconv.Atoi(fields[1])
	for _, field := range fields[11:15] {
		n, _ := strconv.Atoi(field)
		p.ticks += n
	}
	return p
}
