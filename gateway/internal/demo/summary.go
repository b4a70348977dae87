package demo

import (
	"fmt"
	"slices"
	"strings"
)

// summaryWidth is the widest line of a summary.
const summaryWidth = 78

// summary tells how a run went: what people were told, then what the guests
// met, and last, where nothing pushes it off the screen, the verdict.
type summary struct {
	number   int // of the outage, if there were several
	report   Report
	script   Script
	outage   outage
	promises []check
	messages []string
	width    int
}

func (s summary) lines() []line {
	return slices.Concat(s.which(), s.cards(), s.table(), s.notes(), s.mustHold(), s.bottomLine())
}

// which says which of several outages this is about.
func (s summary) which() []line {
	if s.number == 0 {
		return nil
	}
	return s.heading(fmt.Sprintf("Outage %d, the last that was played to its end", s.number))
}

func (s summary) heading(text string) []line {
	return append([]line{nil}, paragraph(nil, text, bold, s.width)...)
}

// cards draws what people were told.
func (s summary) cards() []line {
	if len(s.messages) == 0 {
		return nil
	}
	lines := s.heading("What the cards in Microsoft Teams would say")
	lines = append(lines, paragraph(nil, "Spared counts every refused call, those of asks too; "+
		"\"turned away\" below counts scans only.", dim, s.width)...)
	for _, m := range s.messages {
		lines = append(lines, nil)
		lines = append(lines, cardLines(m, s.width)...)
	}
	return lines
}

// cardLines draws a message as a card: its title, and its facts below.
func cardLines(message string, width int) []line {
	title, facts, _ := strings.Cut(message, "\n")
	lines := []line{{{"  │ ", dim}, {title, bold}}}
	for fact := range strings.Lines(facts) {
		for i, text := range wrap(fact, width-8) {
			indent := "  "
			if i > 0 {
				indent = "    "
			}
			lines = append(lines, line{{"  │ ", dim}, {indent + text, plain}})
		}
	}
	return lines
}

// notes explain figures that look better without Recloser.
func (s summary) notes() []line {
	var answeredWith, answeredWithout int
	var longest int64
	quicker := false // without, to serve all again
	for _, n := range illHotels() {
		with, without := s.hotel(n)
		answeredWith += with.OK
		answeredWithout += without.OK
		longest = max(longest, without.MaxWaitMS)
		if a, b := with.FullAgainS, without.FullAgainS; a != nil && b != nil && *b < *a {
			quicker = true
		}
	}
	var lines []line
	note := func(better bool, text string) {
		if better {
			lines = append(lines, paragraph(words("  "), text, plain, s.width)...)
		}
	}
	note(answeredWith < answeredWithout, fmt.Sprintf("Answered (let in): without Recloser the guests of an ill hotel wait for it, "+
		"here up to %s, and are let in late; with Recloser they are turned away at once.", milliseconds(longest)))
	note(quicker, "Served again: without Recloser no hotel was ever cut off, so there was nothing to come back from; "+
		"its guests waited or met errors instead.")
	note(s.report.Lanes.Protected.Asks.Unknown > s.report.Lanes.Unprotected.Asks.Unknown, "Unknown: with Recloser an ask "+
		"that cannot reach a hotel that might say yes says so at once; without it the guest waits for that hotel.")
	if len(lines) == 0 {
		return nil
	}
	return append(s.heading("Where it looks better without Recloser, and why"), lines...)
}

func (s summary) mustHold() []line {
	lines := s.heading("What must hold")
	for _, p := range s.promises {
		mark, l := span{"  – unseen  ", dim}, dim
		switch p.verdict {
		case held:
			mark, l = span{"  " + string(markHeld) + " holds   ", good}, plain
		case broken:
			mark, l = span{"  " + string(markBroken) + " broken  ", bad}, plain
		case notSeen:
		}
		lines = append(lines, paragraph(line{mark}, p.String(), l, s.width)...)
	}
	return lines
}

// bottomLine is the whole run in three lines.
func (s summary) bottomLine() []line {
	var of [3]int // verdicts
	for _, p := range s.promises {
		of[p.verdict]++
	}
	all := len(s.promises)
	mark, text := span{string(markHeld) + " ", goodTitle}, fmt.Sprintf("All %d things that must hold do.", all)
	switch {
	case of[broken] > 0:
		mark, text = span{string(markBroken) + " ", badTitle}, fmt.Sprintf("Broken: %d of the %d things that must hold.", of[broken], all)
	case !s.outage.begun:
		mark, text = span{"– ", bold}, s.notReached()
	case of[notSeen] > 0:
		mark, text = span{"– ", bold}, fmt.Sprintf("Held: %d of the %d things that must hold. The run was too short to see the others: that takes %s.",
			of[held], all, inSeconds(sawAll(s.script)))
	}
	lines := append([]line{nil}, paragraph(line{mark}, text, mark.look, s.width)...)
	if !s.outage.begun {
		return lines
	}
	with, without := s.report.Lanes.Protected, s.report.Lanes.Unprotected
	lines = append(lines, paragraph(words("  "), fmt.Sprintf("Guests who waited over 1 s: %s with Recloser, %s without.",
		count(with.waitedOver1s()), count(without.waitedOver1s())), plain, s.width)...)
	return append(lines, paragraph(words("  "), fmt.Sprintf("The longest wait of a scan: %s with Recloser, %s without.",
		milliseconds(with.maxWaitMS()), milliseconds(without.maxWaitMS())), plain, s.width)...)
}

func (s summary) notReached() string {
	return fmt.Sprintf("The outage was not reached: it begins after %s, this run took %s. Run it for %s to see everything.",
		inSeconds(s.script.FaultsFrom), inSeconds(s.script.Length), inSeconds(sawAll(s.script)))
}

func (s summary) hotel(number int) (with, without Hotel) {
	id := hotelID(number)
	return s.report.Lanes.Protected.Hotels[id], s.report.Lanes.Unprotected.Hotels[id]
}

// waitedOver1s counts scans and asks.
func (l Lane) waitedOver1s() int {
	n := l.Asks.WaitedOver1s
	for _, h := range l.Hotels {
		n += h.WaitedOver1s
	}
	return n
}

func (l Lane) maxWaitMS() int64 {
	longest := int64(0)
	for _, h := range l.Hotels {
		longest = max(longest, h.MaxWaitMS)
	}
	return longest
}
