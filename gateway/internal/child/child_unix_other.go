//go:build unix && !linux

package child

import "syscall"

// endWithParent does nothing here: a child that must not outlive a parent that was killed
// ends with its input, or is woken and ended by SIGHUP.
func endWithParent(*syscall.SysProcAttr) {}
