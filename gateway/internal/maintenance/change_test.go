package maintenance

import (
	"errors"
	"testing"
	"time"
)

// A Look that has read the windows before one was deleted, and saves after it what
// an operator released, would bring it back.
func TestNobodyLooksDuringAChange(t *testing.T) {
	s := newStand(t, "a")
	s.put(Window{Name: "now", Dependencies: []string{"a"}, From: noon, To: noon.Add(time.Hour)})
	s.runner.Look(t.Context())
	s.after(0, "a", "isolated by maintenance now")
	err := s.runner.Change(t.Context(), func() error {
		if s.runner.mu.TryLock() {
			s.runner.mu.Unlock()
			t.Error("somebody could look")
		}
		clear(s.windows)
		return nil
	})
	if err != nil || s.Override("a") != nil {
		t.Errorf("%v, override %+v; want the window to be over at once", err, s.Override("a"))
	}
	failed := errors.New("failed")
	if err := s.runner.Change(t.Context(), func() error { return failed }); !errors.Is(err, failed) {
		t.Errorf("%v, want the change's error", err)
	}
}
