package model

import (
	"fmt"
	"time"

	"github.com/recloser-go/recloser"
)

// Op is one step of a sequence. It means the same whichever steps before it are
// left out; one that has nothing to act on does nothing.
type Op struct {
	Kind   Kind
	N      int             // which call
	D      time.Duration   // how long
	Flag   bool            // see the kinds
	Config recloser.Config // of Update
}

// Kind is what a step does.
type Kind uint8

// The kinds. Calls that end are mostly the oldest ones.
const (
	Allow     Kind = iota
	Do             // a call by Do, over at once, or after D; it fails if Flag, and panics if N says so
	Good           // a call ends well
	Fail           // it fails
	Ignore         // it is ignored
	Cancelled      // its caller gives up
	Deadline       // his deadline passes
	Wait           // 503 with Retry-After, or 429 if Flag
	Unmade         // it is taken back
	Answered
	Sending
	Sent
	Twice   // the end of a call that has ended, in every way
	Advance // time passes; if Flag, nobody looks until the next step
	Due     // the clock goes to just before a moment at which something is due, then onto it
	Check
	Isolate // for D if Flag
	Hold    // for D if Flag
	Release
	Reset
	TripFor
	TryNow
	Update
	Save
	Restore       // what was saved last, in place
	Restart       // the breaker is made anew from what is saved now; that takes D, or the clock goes back by D if Flag
	SetWall       // the clock is set forward by D, or back if Flag
	Suspect       // the suspect limit is set to D, or to none if Flag
	HoldSuspicion // says Flag from now on
	TripNow
	HoldTrials // for D
	Witness    // a call is asked whether it is one
	Crowd      // processors get into each other's way
	Follow     // what a fleet says, by N: for D, and twice that unless Flag
	Kinds      // how many there are
)

var names = [Kinds]string{
	"Allow", "Do", "Good", "Fail", "Ignore", "Cancelled", "Deadline", "Wait", "Unmade", "Answered", "Sending", "Sent", "Twice",
	"Advance", "Due", "Check", "Isolate", "Hold", "Release", "Reset", "TripFor", "TryNow", "Update", "Save", "Restore", "Restart",
	"SetWall", "Suspect", "HoldSuspicion", "TripNow", "HoldTrials", "Witness", "Crowd", "Follow",
}

func (k Kind) String() string { return names[k] }

func (o Op) String() string {
	s := fmt.Sprintf("%s{n: %d, d: %s, %t}", o.Kind, o.N, o.D, o.Flag)
	if o.Kind == Update {
		s += fmt.Sprintf(" %+v", o.Config)
	}
	return s
}
