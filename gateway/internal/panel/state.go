package panel

import (
	"github.com/recloser-go/recloser/gateway/internal/admin"
	"github.com/recloser-go/recloser/gateway/internal/plain"
)

// state is how a dependency's state is shown: by a mark, a word and a colour.
type state struct {
	Key    string // of mark and colour
	Word   string
	Effect string // in plain words
	brief  string // the same, where word and mark say the rest
	rank   int    // what needs attention more comes first; 0: nothing does
}

const (
	closed        = "closed"
	atRisk        = "at-risk"
	shadowed      = "shadowed" // open or half-open, but all calls pass
	halfOpen      = "half-open"
	open          = "open"
	isolated      = "isolated"
	heldClosed    = "held-closed"
	inMaintenance = "maintenance"
	unknown       = "unknown"
)

// states lists all of them, in the order of the filters.
func states() []state {
	return []state{
		{open, "Open", "cut off", "cut off", 1},
		{halfOpen, "Half-open", "on trial", "on trial", 2},
		{atRisk, "At risk", "passing, over 60 % of a limit", "passing", 3},
		{shadowed, "Shadow", "would be cut off", "passing", 4},
		{isolated, "Isolated", "cut off by hand", "cut off", 5},
		{heldClosed, "Held closed", "passing by hand", "passing", 6},
		{inMaintenance, "Maintenance", "cut off as planned", "cut off", 7},
		{closed, "Closed", "passing", "passing", 0},
	}
}

// stateOf returns the state with that key; what is not known is "no news".
func stateOf(key string) state {
	for _, s := range states() {
		if s.Key == key {
			return s
		}
	}
	return state{unknown, "Unknown", "no news", "no news", 0}
}

// Says names the state with what it means for calls: to many who read it open is what
// lets people through.
func (s state) Says() string { return s.Word + ": " + s.brief }

// stateIn returns the state with that key as callers feel it: in shadow mode all calls
// pass while the rules say open or half-open.
func stateIn(key string, shadow bool) state {
	s := stateOf(key)
	if shadow && (key == open || key == halfOpen) {
		effect := s.Effect
		s = stateOf(shadowed)
		s.Effect = "would be " + effect
	}
	return s
}

func stateOfDependency(d *admin.Dependency) state {
	if d.AtRisk {
		return stateOf(atRisk)
	}
	return stateIn(d.State, d.Shadow)
}

// nameOf is what people call a dependency; "" if that is its ID.
func nameOf(d *admin.Dependency) string {
	if name := plain.Line(d.Name); name != d.ID {
		return name
	}
	return ""
}
