//go:build !unix

package child

import (
	"errors"
	"os"
	"os/exec"
)

func setAttributes(*exec.Cmd) {}

func suspend(*os.Process) error {
	return errors.New("a process can only be stopped on a Unix system; run the demo there")
}

func resume(p *os.Process) error { return suspend(p) }
