package entrant

import (
	"os/exec"
	"syscall"
)

// endWithUs makes a process end when this program is killed.
func endWithUs(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGTERM}
}
