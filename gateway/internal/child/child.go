// Package child runs the processes that the demo is made of, and sees to it that none
// outlives it.
package child

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"strings"
)

// Child is a process that was started. Its methods are safe for concurrent use.
type Child struct {
	cmd    *exec.Cmd
	stderr bytes.Buffer  // to be read once ended is closed
	ended  chan struct{} // closed once it has ended
}

// Start starts cmd in a process group of its own, and keeps what it writes to stderr for
// LastWords if cmd does not say where that goes. The caller's goroutine must be locked to
// its thread for as long as the process is needed: on Linux a child is killed when the
// thread that started it ends.
func Start(cmd *exec.Cmd) (*Child, error) {
	c := &Child{cmd: cmd, ended: make(chan struct{})}
	setAttributes(cmd)
	if cmd.Stderr == nil {
		cmd.Stderr = &c.stderr
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	go func() {
		defer close(c.ended)
		_ = cmd.Wait() // how it ended is in cmd.ProcessState
	}()
	return c, nil
}

// Ended returns what is closed once the process has ended, however it did.
func (c *Child) Ended() <-chan struct{} { return c.ended }

// LastWords waits until the process has ended and says how.
func (c *Child) LastWords() string {
	<-c.ended
	return strings.TrimSpace(fmt.Sprintf("%s: %.300s", c.cmd.ProcessState, c.stderr.String()))
}

// Signal sends a signal. Where there are no signals but the one that kills, it is an error.
func (c *Child) Signal(s os.Signal) error { return c.cmd.Process.Signal(s) }

// Suspend stops the process: what it has open stays open, and it does nothing.
func (c *Child) Suspend() error { return suspend(c.cmd.Process) }

// Resume lets it go on.
func (c *Child) Resume() error { return resume(c.cmd.Process) }

// Kill ends the process at once: a stopped one hears nothing else. Ended says when it is gone.
func (c *Child) Kill() { _ = c.cmd.Process.Kill() } // an error means that it has ended
