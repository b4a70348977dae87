//go:build unix

package demo

import (
	"os"
	"syscall"
)

// hotelAttributes puts a hotel into a process group of its own. So Ctrl-C
// reaches the demo alone, and should the demo be killed while a hotel is
// stopped, the hotel's group is orphaned and the system wakes it with SIGHUP.
func hotelAttributes() *syscall.SysProcAttr {
	attributes := &syscall.SysProcAttr{Setpgid: true}
	endWithParent(attributes)
	return attributes
}

func suspend(p *os.Process) error { return p.Signal(syscall.SIGSTOP) }
func resume(p *os.Process) error  { return p.Signal(syscall.SIGCONT) }
