package suspect

import (
	"slices"
	"testing"
	"time"
)

// some returns n dependencies like this one.
func some(n int, s Seen) []Seen { return slices.Repeat([]Seen{s}, n) }

// G31: when many hang at once and none answers it is us, and while others answer
// it is not.
func TestItIsUs(t *testing.T) {
	var (
		hangs    = Seen{Active: true, Overdue: true, LastGood: start.Add(-50 * ms)}
		tripped  = Seen{Active: true, JustTripped: true}
		answers  = Seen{Active: true, LastGood: start.Add(-300 * ms)}
		silent   = Seen{Active: true, LastGood: start.Add(-301 * ms)}
		inactive = Seen{LastGood: start}
		asleep   = Seen{Overdue: true}
	)
	tests := []struct {
		name string
		all  []Seen
		us   bool
	}{
		{"nobody", nil, false},
		{"all answer", some(10, answers), false},
		{"all hang", some(10, hangs), true},
		{"two of two hang", some(2, hangs), false},
		{"three of three hang", some(3, hangs), true},
		{"three of four hang, and the fourth answers", slices.Concat(some(3, hangs), some(1, answers)), false},
		{"three of four hang, and the fourth is silent", slices.Concat(some(3, hangs), some(1, silent)), true},
		{"six of ten hang, and the others answer", slices.Concat(some(6, hangs), some(4, answers)), false},
		{"six of ten hang, and one of the others answers", slices.Concat(some(6, hangs), some(3, silent), some(1, answers)), false},
		{"six of ten hang, and the others are silent", slices.Concat(some(6, hangs), some(4, silent)), true},
		{"half hang, and the others are silent", slices.Concat(some(5, hangs), some(5, silent)), true},
		{"less than half hang, and the others are silent", slices.Concat(some(4, hangs), some(5, silent)), false},
		{"just tripped ones count", slices.Concat(some(1, hangs), some(2, tripped), some(1, silent)), true},
		{"inactive ones do not count", slices.Concat(some(3, hangs), some(7, inactive)), true},
		{"inactive ones are not in trouble", slices.Concat(some(2, hangs), some(3, asleep)), false},
	}
	for _, tt := range tests {
		var u Uplink
		u.Observe(start, tt.all)
		if u.Us() != tt.us {
			t.Errorf("%s: %v, want %v", tt.name, u.Us(), tt.us)
		}
	}
}

func TestItIsUsNoLonger(t *testing.T) {
	var u Uplink
	if u.Us() {
		t.Error("it is us before anything was seen")
	}
	all := some(4, Seen{Active: true, Overdue: true})
	u.Observe(start, all)
	all[0].Overdue, all[0].LastGood = false, start.Add(time.Second)
	u.Observe(start.Add(time.Second), all)
	if u.Us() {
		t.Error("it is still us after one has answered")
	}
}
