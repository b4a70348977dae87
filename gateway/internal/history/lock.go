package history

import (
	"errors"
	"os"

	"github.com/recloser-go/recloser/internal/filelock"
)

// lock takes the lock, or returns errHeld.
func lock(path string) (*os.File, error) {
	held, err := filelock.Take(path)
	if errors.Is(err, filelock.ErrHeld) {
		err = errHeld
	}
	return held, err
}
