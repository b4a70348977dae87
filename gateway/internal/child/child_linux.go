package child

import "syscall"

// endWithParent has the kernel kill the process when the thread that started
// it ends, even if the process is stopped and nobody is left to tell it.
func endWithParent(a *syscall.SysProcAttr) { a.Pdeathsig = syscall.SIGKILL }
