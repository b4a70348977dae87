package filelock

import (
	"errors"
	"os"
	"syscall"
)

const sharingViolation = syscall.Errno(32)

// Take opens the file at path so that nobody else can while it is open, or returns
// ErrHeld. Closing the file gives the lock back. The file stays.
func Take(path string) (*os.File, error) {
	name, err := syscall.UTF16PtrFromString(path)
	if err != nil {
		return nil, err
	}
	h, err := syscall.CreateFile(name, syscall.GENERIC_READ|syscall.GENERIC_WRITE, 0, nil, syscall.OPEN_ALWAYS, syscall.FILE_ATTRIBUTE_NORMAL, 0)
	if errors.Is(err, sharingViolation) {
		return nil, ErrHeld
	}
	if err != nil {
		return nil, err
	}
	return os.NewFile(uintptr(h), path), nil
}
