//go:build !(linux || darwin || freebsd || netbsd || openbsd || dragonfly || windows)

package history

import "os"

// lock cannot keep a second daemon away on this system.
func lock(path string) (*os.File, error) { return os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600) }
