package fleet

import (
	"testing"
	"time"

	"github.com/recloser-go/recloser"
)

// hotel are the settings of the turnstiles' breakers: those of the gateway.
func hotel() recloser.Config {
	return recloser.Config{SlowCall: 2 * time.Second}
}

func good(*simNode, string) (time.Duration, error) { return 50 * time.Millisecond, nil }

// 50 turnstiles each ask a hotel once a minute. It hangs; callers wait for 30 s.
func TestTurnstiles(t *testing.T) {
	for seed := range uint64(5) {
		s := newSim(t, seed, 50, Config{}, []string{"hotel"}, hotel())
		hangs, hung := false, 0
		for _, n := range s.nodes {
			n.callers("hotel", time.Minute, func(*simNode, string) (time.Duration, error) {
				if hangs {
					return 30 * time.Second, errDown
				}
				return 100 * time.Millisecond, nil
			}, func(let bool) {
				if let && hangs {
					hung++
				}
			})
		}
		s.run(30 * time.Minute)
		if n := s.in("hotel", recloser.Closed); n != 50 {
			t.Fatalf("only %d closed", n)
		}
		hangs = true
		took := s.await("all refuse", 15*time.Minute, func() bool { return s.in("hotel", recloser.Closed) == 0 })
		t.Logf("seed %d: %d callers hung until all 50 were protected, after %s; %s", seed, hung, took, s.record("hotel").Note)
		if hung > 12 || took > 20*time.Second {
			t.Errorf("%d callers hung, %s until all were protected", hung, took)
		}
		s.run(10 * time.Minute)
		hangs = false
		healed := s.await("all close", 15*time.Minute, func() bool { return s.in("hotel", recloser.Closed) == 50 })
		t.Logf("all closed %s after it was well; at most %d trials at once; %v operations", healed, s.mostOf["hotel"], s.ops)
		if s.mostOf["hotel"] > 1 {
			t.Errorf("%d trials at once", s.mostOf["hotel"])
		}
	}
}
