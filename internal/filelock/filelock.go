// Package filelock keeps a second process away from what the first one writes.
package filelock

import "errors"

// ErrHeld says that somebody else holds the lock.
var ErrHeld = errors.New("another process holds the lock")
