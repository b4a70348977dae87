package demo

import (
	"fmt"
	"time"
)

// What must hold in a run of the whole script.
const (
	maxLongWaits    = 10  // guests of an ill hotel who may wait over longWait
	minTimesFewer   = 15  // than without Recloser
	maxFirstRefusal = 1.8 // seconds
	maxFullAgain    = 8.0 // seconds
	maxErrorCalls   = 30  // calls that may reach the hotel that answers 500
)

// verdict is what a run says about a promise.
type verdict uint8

const (
	notSeen verdict = iota // the run was too short to tell
	held
	broken
)

// check is one promise and whether this run kept it.
type check struct {
	verdict verdict
	text    string
}

// checks compares a report with what must hold. LetInWrongly is how many
// guests of the protected lane went in without a yes.
func checks(r Report, s Script, letInWrongly int) []check {
	var all []check
	add := func(seen, holds bool, format string, values ...any) {
		v := notSeen
		switch {
		case seen && holds:
			v = held
		case seen:
			v = broken
		}
		all = append(all, check{v, fmt.Sprintf(format, values...)})
	}
	sawOutage := s.Length >= s.FaultsUntil
	sawRecovery := s.Length >= s.FaultsUntil+time.Duration((maxFullAgain+1)*float64(time.Second))

	for _, number := range illHotels() {
		id := hotelID(number)
		with, without := r.Lanes.Protected.Hotels[id], r.Lanes.Unprotected.Hotels[id]
		if with.Fault == Errors {
			add(sawOutage, with.CallsReached <= maxErrorCalls, "%s (%s): calls that reached it meanwhile: %d, at most %d",
				id, with.Fault, with.CallsReached, maxErrorCalls)
			continue
		}
		add(sawOutage, with.WaitedOver1s <= maxLongWaits, "%s (%s): guests who waited over 1 s: %d, at most %d",
			id, with.Fault, with.WaitedOver1s, maxLongWaits)
		add(sawOutage, without.WaitedOver1s >= minTimesFewer*max(1, with.WaitedOver1s),
			"%s (%s): at least %d times fewer than without (%d)", id, with.Fault, minTimesFewer, without.WaitedOver1s)
		add(sawOutage, with.FirstRefusalS != nil && *with.FirstRefusalS <= maxFirstRefusal,
			"%s (%s): first guest turned away %s, at most %.1f s", id, with.Fault, afterOrNever(with.FirstRefusalS), maxFirstRefusal)
		add(sawRecovery, with.FullAgainS != nil && *with.FullAgainS <= maxFullAgain,
			"%s (%s): all guests served again %s, at most %.0f s", id, with.Fault, afterOrNever(with.FullAgainS), maxFullAgain)
	}
	troubled := 0
	for _, h := range r.Lanes.Protected.Hotels {
		if h.Fault == NoFault && (h.OK == 0 || h.Failed+h.Refused > 0) {
			troubled++
		}
	}
	add(sawOutage, troubled == 0, "the %d other hotels: every scan answered, none refused or failed", hotelsPerLane-len(illHotels()))
	add(sawOutage, letInWrongly == 0, "guests let in without a hotel's yes: %d", letInWrongly)
	return all
}

// letInWrongly counts guests who went in though no hotel can have said yes, or
// though the answer was no yes.
func letInWrongly(book []visit) int {
	count := 0
	for _, v := range book {
		said := v.result == answered || v.result == yes
		if v.letIn && (v.hotel == 0 || !said) {
			count++
		}
	}
	return count
}

func afterOrNever(s *float64) string {
	if s == nil {
		return "never"
	}
	return fmt.Sprintf("after %.1f s", *s)
}
