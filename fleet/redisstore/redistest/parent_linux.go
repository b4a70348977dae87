package redistest

import "syscall"

// endWithParent has the kernel kill the server when the test's process ends in a way
// that runs no cleanup.
func endWithParent(a *syscall.SysProcAttr) { a.Pdeathsig = syscall.SIGKILL }
