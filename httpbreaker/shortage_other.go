//go:build !windows

package httpbreaker

import "syscall"

func shortages() []syscall.Errno {
	return []syscall.Errno{syscall.EMFILE, syscall.ENFILE, syscall.EADDRNOTAVAIL, syscall.ENOBUFS}
}
