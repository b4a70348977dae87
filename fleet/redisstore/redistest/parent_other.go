//go:build unix && !linux

package redistest

import "syscall"

func endWithParent(*syscall.SysProcAttr) {}
