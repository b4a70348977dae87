package suspect

import (
	"testing"
	"time"

	"github.com/recloser-go/recloser"
)

func TestSee(t *testing.T) {
	ago := func(d time.Duration) time.Time { return start.Add(-d) }
	tripped := func(from recloser.State, d time.Duration) recloser.Stats {
		return recloser.Stats{
			State: recloser.Open, Automatic: recloser.Open, LastGood: ago(d), InFlight: 1,
			Began: recloser.Transition{From: from, To: recloser.Open, At: ago(d)},
		}
	}
	tests := []struct {
		name  string
		s     recloser.Stats
		flags [3]bool // active, overdue, just tripped
	}{
		{"never called", recloser.Stats{}, [3]bool{}},
		{"answers", recloser.Stats{LastGood: ago(time.Second)}, [3]bool{true, false, false}},
		{"has not been called lately", recloser.Stats{LastGood: ago(11 * time.Second)}, [3]bool{}},
		{"runs", recloser.Stats{InFlight: 1, LastGood: ago(11 * time.Second)}, [3]bool{true, false, false}},
		{"suspect and silent", recloser.Stats{InFlight: 1, Suspects: 1, LastGood: ago(301 * ms)}, [3]bool{true, true, false}},
		{"overdue and silent", recloser.Stats{InFlight: 1, Overdue: 1, LastGood: ago(301 * ms)}, [3]bool{true, true, false}},
		{"suspect, but answers others", recloser.Stats{InFlight: 1, Suspects: 1, LastGood: ago(300 * ms)}, [3]bool{true, false, false}},
		{"suspect, and never good", recloser.Stats{InFlight: 1, Suspects: 1}, [3]bool{true, true, false}},
		{"just tripped", tripped(recloser.Closed, time.Second), [3]bool{true, false, true}},
		{"tripped a while ago", tripped(recloser.Closed, 4*time.Second), [3]bool{}},
		{"trials just failed", tripped(recloser.HalfOpen, time.Second), [3]bool{}},
		{"isolated", recloser.Stats{State: recloser.Isolated, Automatic: recloser.HalfOpen, InFlight: 1}, [3]bool{}},
	}
	for _, tt := range tests {
		got := See(start, tt.s)
		if !got.LastGood.Equal(tt.s.LastGood) || [3]bool{got.Active, got.Overdue, got.JustTripped} != tt.flags {
			t.Errorf("%s: %+v, want %v", tt.name, got, tt.flags)
		}
	}
}
