//go:build linux || darwin || freebsd || netbsd || openbsd || dragonfly

package history

import (
	"errors"
	"os"
	"syscall"
)

// lock takes the lock, or returns errHeld. The system gives it back when the
// process ends, however it does.
func lock(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		_ = f.Close()
		if errors.Is(err, syscall.EWOULDBLOCK) {
			return nil, errHeld
		}
		return nil, err
	}
	return f, nil
}
