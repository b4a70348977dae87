package main

import (
	"os"
	"os/exec"
	"runtime"
)

// openBrowser shows an address in the browser of whoever sits before this machine.
// Where there is no desktop, or nothing that opens one, nothing happens.
func openBrowser(address string) {
	command := opener(runtime.GOOS, os.Getenv)
	if command == "" {
		return
	}
	program, err := exec.LookPath(command)
	if err != nil {
		return
	}
	cmd := exec.Command(program, address)
	cmd.SysProcAttr = besides() // Ctrl-C ends the demo, not the browser
	if cmd.Start() == nil {
		go func() { _ = cmd.Wait() }()
	}
}

// opener returns the command that opens addresses on a system, "" if there is no
// desktop.
func opener(system string, getenv func(string) string) string {
	switch {
	case getenv("SSH_CONNECTION") != "" && getenv("DISPLAY") == "":
		return "" // the desktop is not where its user is
	case system == "darwin":
		return "open"
	case getenv("DISPLAY") != "" || getenv("WAYLAND_DISPLAY") != "":
		return "xdg-open"
	}
	return ""
}
