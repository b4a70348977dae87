//go:build unix

package main

import "syscall"

// besides puts a process into a group of its own, which Ctrl-C does not reach.
func besides() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }
