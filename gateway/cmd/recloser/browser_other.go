//go:build !unix

package main

import "syscall"

func besides() *syscall.SysProcAttr { return nil }
