// Package safely asks errors whose methods may panic, as those of a nil
// *net.OpError do: such an error is nothing that anybody asks for.
package safely

import "errors"

// Is is errors.Is for any of the targets.
func Is(err error, targets ...error) (is bool) {
	defer func() { _ = recover() }()
	for _, target := range targets {
		if errors.Is(err, target) {
			return true
		}
	}
	return false
}

// As is errors.As. What it finds may be nil.
func As[T any](err error) (found T, ok bool) {
	defer func() { _ = recover() }()
	ok = errors.As(err, &found)
	return found, ok
}
