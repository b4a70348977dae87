//go:build !unix

package demo

import (
	"errors"
	"os"
	"syscall"
)

func hotelAttributes() *syscall.SysProcAttr { return nil }

func suspend(*os.Process) error {
	return errors.New("a process can only be stopped on a Unix system; run the demo there")
}

func resume(p *os.Process) error { return suspend(p) }
