package bench

import (
	"errors"
	"testing"
)

// Each adapter must do what it is timed for.
func TestPeersBehave(t *testing.T) {
	for _, p := range Peers() {
		t.Run(p.Name, func(t *testing.T) {
			b := p.New()
			for i := range 5000 {
				if err := b.Succeed(); err != nil {
					t.Fatalf("success %d: %v", i, err)
				}
				// 1 % failures must open no breaker that knows a rate; eapache's knows none.
				if i%100 == 99 && (p.Name != "eapache" || i == 99) {
					if err := b.Fail(); !errors.Is(err, ErrWork) || errors.Is(err, p.Refusal) {
						t.Fatalf("failure after %d successes: %v", i+1, err)
					}
				}
			}
			open, err := p.Open()
			if err != nil {
				t.Fatal(err)
			}
			for range 1000 {
				if err := open.Succeed(); !errors.Is(err, p.Refusal) {
					t.Fatalf("open, but a call gives %v", err)
				}
			}
		})
	}
}
