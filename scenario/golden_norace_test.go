//go:build !race

package scenario

import (
	"testing"
	"time"

	"github.com/recloser-go/recloser"
	"github.com/recloser-go/recloser/guard"
)

const raceDetector = false

// Every scenario of the repository can fail: each does with one of these settings.
func TestGoldenCanFail(t *testing.T) {
	others := map[string]recloser.Config{
		"never trips":       {Consecutive: recloser.Off, FailureRate: recloser.Off},
		"trips at once":     {Consecutive: 1, SlowCall: time.Millisecond, OpenFor: time.Hour},
		"comes back slowly": {OpenFor: time.Hour, Trials: 100},
		"shadow":            {Shadow: true},
	}
	for name, content := range golden(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := mustParse(t, content)
			for _, cfg := range others {
				r, err := s.With(guard.Config{Breaker: cfg}).Run(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				if !r.Good() {
					return
				}
			}
			t.Error("it holds whatever the settings are")
		})
	}
}
