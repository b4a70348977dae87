package demo

import (
	"fmt"
	"slices"
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

// check is one promise, what the run found, and whether that keeps it.
type check struct {
	verdict verdict
	promise string
	found   string // empty if the run was too short to tell, or the promise says it all
}

func (c check) String() string {
	if c.found == "" {
		return c.promise
	}
	return c.promise + ": " + c.found
}

// promises are checks in order.
type promises []check

// add adds a promise. found is told if the run was long enough to tell whether it holds.
func (p *promises) add(seen, holds bool, found, promise string, values ...any) {
	c := check{promise: fmt.Sprintf(promise, values...)}
	if seen {
		c.found, c.verdict = found, broken
		if holds {
			c.verdict = held
		}
	}
	*p = append(*p, c)
}

// kept reports whether none is broken.
func (p promises) kept() bool {
	return !slices.ContainsFunc(p, func(c check) bool { return c.verdict == broken })
}

// lines lists them.
func (p promises) lines(width int) []line {
	lines := heading("What must hold", width)
	for _, c := range p {
		mark, l := span{"  – unseen  ", dim}, dim
		switch c.verdict {
		case held:
			mark, l = span{"  " + string(markHeld) + " holds   ", good}, plain
		case broken:
			mark, l = span{"  " + string(markBroken) + " broken  ", bad}, plain
		case notSeen:
		}
		lines = append(lines, paragraph(line{mark}, c.String(), l, width)...)
	}
	return lines
}

// sum is all of them in a sentence. whole is how long a run must be to see them all.
func (p promises) sum(whole time.Duration, width int) []line {
	var of [3]int // verdicts
	for _, c := range p {
		of[c.verdict]++
	}
	mark, text := span{string(markHeld) + " ", goodTitle}, fmt.Sprintf("All %d things that must hold do.", len(p))
	switch {
	case of[broken] > 0:
		mark, text = span{string(markBroken) + " ", badTitle}, fmt.Sprintf("Broken: %d of the %d things that must hold.", of[broken], len(p))
	case of[notSeen] > 0:
		mark, text = span{"– ", bold}, fmt.Sprintf("Held: %d of the %d things that must hold. The run was too short to see the others: that takes %s.",
			of[held], len(p), inSeconds(whole))
	}
	return append([]line{nil}, paragraph(line{mark}, text, mark.look, width)...)
}

// checks compares a report with what must hold. LetInWrongly is how many
// guests of the protected lane went in without a yes.
func checks(r Report, s Script, letInWrongly int) (all promises) {
	add := all.add
	sawOutage := s.Length >= s.FaultsUntil
	sawRecovery := s.Length >= sawAll(s)

	for _, number := range illHotels() {
		id := hotelID(number)
		with, without := r.Lanes.Protected.Hotels[id], r.Lanes.Unprotected.Hotels[id]
		if with.Fault == Errors {
			add(sawOutage, with.CallsReached <= maxErrorCalls, count(with.CallsReached),
				"%s (%s): at most %d calls reach it while it is ill", id, with.Fault, maxErrorCalls)
			continue
		}
		add(sawOutage, with.WaitedOver1s <= maxLongWaits, count(with.WaitedOver1s),
			"%s (%s): at most %d guests wait over 1 s", id, with.Fault, maxLongWaits)
		add(sawOutage, without.WaitedOver1s >= minTimesFewer*max(1, with.WaitedOver1s), count(without.WaitedOver1s)+" without",
			"%s (%s): at least %d times fewer than without", id, with.Fault, minTimesFewer)
		add(sawOutage, with.FirstRefusalS != nil && *with.FirstRefusalS <= maxFirstRefusal, orNever(with.FirstRefusalS),
			"%s (%s): the first is turned away within %.1f s", id, with.Fault, maxFirstRefusal)
		add(sawRecovery, with.FullAgainS != nil && *with.FullAgainS <= maxFullAgain, orNever(with.FullAgainS),
			"%s (%s): all are served again within %.0f s", id, with.Fault, maxFullAgain)
	}
	troubled := 0
	for _, h := range r.Lanes.Protected.Hotels {
		if h.Fault == NoFault && (h.OK == 0 || h.Failed+h.Refused > 0) {
			troubled++
		}
	}
	add(sawOutage, troubled == 0, unless(troubled, "not so at %d"),
		"the %d other hotels: every scan is answered, none refused or failed", hotelsPerLane-len(illHotels()))
	add(sawOutage, letInWrongly == 0, unless(letInWrongly, "%d were"), "nobody is let in without a hotel's yes")
	return all
}

// sawAll is how long a run must be to tell whether everything held.
func sawAll(s Script) time.Duration {
	return s.FaultsUntil + time.Duration((maxFullAgain+1)*float64(time.Second))
}

// unless says how many were not so, nothing if none was.
func unless(n int, format string) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprintf(format, n)
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

func orNever(s *float64) string {
	if s == nil {
		return "never"
	}
	return fmt.Sprintf("%.2f s", *s)
}
