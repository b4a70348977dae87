package entrant

import (
	"os"
	"testing"
)

func TestOwnProcessHasTimeAndMemory(t *testing.T) {
	g := &Gateway{PID: os.Getpid()}
	for spent := 0; ; spent++ { // until the clock of the system has counted it
		d, err := g.CPU()
		if err != nil {
			t.Fatal(err)
		}
		if d > 0 {
			break
		}
	}
	if m, err := g.Memory(); err != nil || m < 1<<20 {
		t.Errorf("memory %d, %v", m, err)
	}
}
