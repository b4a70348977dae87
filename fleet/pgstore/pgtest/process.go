//go:build unix

package pgtest

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

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
			if _, state := stat(pid); state != "" && state != "Z" {
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
		if of, _ := stat(pid); of == parent {
			found = append(found, pid)
		}
	}
	return found
}

// stat returns the parent and the state of a process, 0 and "" if it is gone.
func stat(pid int) (parent int, state string) {
	text, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "stat"))
	if err != nil {
		return 0, ""
	}
	// The name in parentheses may hold anything.
	fields := strings.Fields(string(text[strings.LastIndexByte(string(text), ')')+1:]))
	if len(fields) < 2 {
		return 0, ""
	}
	parent, _ = strconv.Atoi(fields[1])
	return parent, fields[0]
}
