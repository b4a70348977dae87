package suspect

import (
	"time"

	"github.com/recloser-go/recloser"
)

const (
	lately = 10 * time.Second // without a call for that long a dependency is not active
	just   = 3 * time.Second  // a trip that long ago may be of the same event
)

// See returns what an Uplink looks at.
func See(now time.Time, s recloser.Stats) Seen {
	trip := s.Began
	seen := Seen{LastGood: s.LastGood}
	if s.Automatic != recloser.Closed {
		seen.JustTripped = trip.From == recloser.Closed && now.Sub(trip.At) <= just
		seen.Active = seen.JustTripped
		return seen
	}
	silent := now.Sub(s.LastGood)
	seen.Active = s.InFlight > 0 || silent <= lately
	seen.Overdue = s.Suspects+s.Overdue > 0 && silent > meanwhile
	return seen
}
