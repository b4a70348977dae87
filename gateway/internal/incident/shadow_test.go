package incident

import (
	"testing"
	"time"

	"github.com/recloser-go/recloser"
)

// All news of a dependency in shadow mode says so, from the first to the last.
func TestShadowIsInAllThatIsTold(t *testing.T) {
	w := newWorld(t, 1)
	w.stats["h1"] = recloser.Stats{Shadow: true}
	w.trips("h1")
	w.pass(2 * time.Hour)
	w.recovers("h1")
	w.pass(2 * time.Minute)
	if len(w.told) < 3 {
		t.Fatalf("told %v", w.told)
	}
	for _, m := range w.told {
		if !m.Items[0].Shadow {
			t.Errorf("%s is told as if callers felt it", m.Kind)
		}
	}
}
