package filelock

import (
	"errors"
	"path/filepath"
	"testing"
)

func TestOneHolder(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	for range 2 {
		held, err := Take(path)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := Take(path); !errors.Is(err, ErrHeld) {
			t.Fatalf("a second holder: %v, want ErrHeld", err)
		}
		if err := held.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := Take(filepath.Join(path, "x")); err == nil || errors.Is(err, ErrHeld) {
		t.Fatalf("a lock that cannot be made: %v", err)
	}
}
