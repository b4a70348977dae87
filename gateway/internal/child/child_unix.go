//go:build unix

package child

import (
	"os"
	"os/exec"
	"syscall"
)

// setAttributes puts a child into a process group of its own. So Ctrl-C reaches its parent
// alone, and should that be killed while a child is stopped, the child's group is orphaned
// and the system wakes it with SIGHUP.
func setAttributes(cmd *exec.Cmd) {
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	cmd.SysProcAttr.Setpgid = true
	endWithParent(cmd.SysProcAttr)
}

func suspend(p *os.Process) error { return p.Signal(syscall.SIGSTOP) }
func resume(p *os.Process) error  { return p.Signal(syscall.SIGCONT) }
