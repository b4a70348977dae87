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
	promises promises
	messages []string
	width    int
}

func (s summary) lines() []line {
	return slices.Concat(s.which(), s.cards(), s.table(), s.notes(), s.promises.lines(s.width), s.bottomLine())
}

// which says which of several outages this is about.
func (s summary) which() []line {
	if s.number == 0 {
		return nil
	}
	return heading(fmt.Sprintf("Outage %d, the last that was played to its end", s.number), s.width)
}

// cards draws what people were told.
func (s summary) cards() []line {
	if len(s.messages) == 0 {
		return nil
	}
	lines := heading("What the cards in Microsoft Teams would say", s.width)
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
	return append(heading("Where it looks better without Recloser, and why", s.width), lines...)
}

// bottomLine is the whole run in three lines.
func (s summary) bottomLine() []line {
	if !s.outage.begun {
		return append([]line{nil}, paragraph(line{{"– ", bold}}, s.notReached(), bold, s.width)...)
	}
	lines := s.promises.sum(sawAll(s.script), s.width)
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
