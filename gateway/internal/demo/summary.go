package demo

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// summaryWidth is the widest line of a summary.
const summaryWidth = 78

// summaryLines tells a run in numbers: what the guests of each ill hotel met
// on either way, what must hold, and what people were told.
func summaryLines(r Report, promises []check, messages []string) []line {
	lines := []line{
		nil,
		tableLine(span{"What the guests met", bold}, span{"with Recloser", goodTitle}, span{"without", badTitle}),
	}
	add := func(what, with, without string) {
		lines = append(lines, tableLine(span{"  " + what, plain}, span{with, plain}, span{without, plain}))
	}
	with, without := r.Lanes.Protected, r.Lanes.Unprotected
	for _, n := range illHotels() {
		a, b := with.Hotels[hotelID(n)], without.Hotels[hotelID(n)]
		lines = append(lines, line{{hotelID(n), bold}, {" " + past(a.Fault), plain}})
		if a.Fault == Errors {
			add("met an error", count(a.Failed), count(b.Failed))
		} else {
			add("waited over 1 s", count(a.WaitedOver1s), count(b.WaitedOver1s))
			add("longest wait", milliseconds(a.MaxWaitMS), milliseconds(b.MaxWaitMS))
		}
		add("turned away at once", count(a.Refused), count(b.Refused))
		add("  the first of them after", orDash(a.FirstRefusalS), orDash(b.FirstRefusalS))
		add("served again, all of them, after", orDash(a.FullAgainS), orDash(b.FullAgainS))
		add("calls sent to it while it was ill", count(a.CallsReached), count(b.CallsReached))
	}
	lines = append(lines, line{{fmt.Sprintf("the other %d hotels", hotelsPerLane-len(illHotels())), bold}})
	add("scans answered", answeredOf(with), answeredOf(without))
	lines = append(lines, line{{"guests whose hotel is not known", bold}})
	add("waited over 1 s", count(with.Asks.WaitedOver1s), count(without.Asks.WaitedOver1s))
	add("let in, not let in, unknown", asksText(with.Asks), asksText(without.Asks))

	lines = append(lines, nil, line{{"What must hold", bold}})
	unseen := false
	for _, p := range promises {
		switch p.verdict {
		case held:
			lines = append(lines, line{{"  " + string(markHeld) + " holds   ", good}, {p.text, plain}})
		case broken:
			lines = append(lines, line{{"  " + string(markBroken) + " broken  ", bad}, {p.text, plain}})
		case notSeen:
			lines = append(lines, line{{"  – unseen  " + p.text, dim}})
			unseen = true
		}
	}
	if unseen {
		lines = append(lines, line{{"  unseen: the run was too short to tell", dim}})
	}
	if len(messages) > 0 {
		lines = append(lines, nil, line{{"What the cards in Microsoft Teams would say", bold}})
	}
	for _, m := range messages {
		lines = append(lines, nil)
		lines = append(lines, cardLines(m)...)
	}
	return lines
}

// cardLines draws a message as a card: its title, and its facts below.
func cardLines(message string) []line {
	title, facts, _ := strings.Cut(message, "\n")
	lines := []line{{{"  │ ", dim}, {title, bold}}}
	for fact := range strings.Lines(facts) {
		for i, text := range wrap(fact, summaryWidth-8) {
			indent := "  "
			if i > 0 {
				indent = "    "
			}
			lines = append(lines, line{{"  │ ", dim}, {indent + text, plain}})
		}
	}
	return lines
}

func tableLine(what, with, without span) line {
	with.text, without.text = fmt.Sprintf("%18s", with.text), fmt.Sprintf("%18s", without.text)
	return line{what}.fit(40).with(line{with, without})
}

// past says what was wrong with a hotel.
func past(f Fault) string {
	switch f {
	case Hang:
		return "hung: its process was stopped"
	case Slow:
		return fmt.Sprintf("was slow: answers took %.0f s", slowAnswer.Seconds())
	case Errors:
		return "answered 500, its /health said 200"
	default:
		return "was well"
	}
}

func answeredOf(l Lane) string {
	good, all := 0, 0
	for _, h := range l.Hotels {
		if h.Fault == NoFault {
			good += h.OK
			all += h.OK + h.Failed + h.Refused
		}
	}
	return count(good) + " of " + count(all)
}

func asksText(a Asks) string {
	return fmt.Sprintf("%s, %s, %s", count(a.Yes), count(a.No), count(a.Unknown))
}

func orDash(s *float64) string {
	if s == nil {
		return "–"
	}
	return fmt.Sprintf("%.1f s", *s)
}

func milliseconds(ms int64) string { return fmt.Sprintf("%.2f s", float64(ms)/1000) }

// wrap breaks text at spaces into lines of at most that width; a longer word
// stands alone.
func wrap(text string, width int) []string {
	var lines []string
	for word := range strings.FieldsSeq(text) {
		last := len(lines) - 1
		if last >= 0 && utf8.RuneCountInString(lines[last])+1+utf8.RuneCountInString(word) <= width {
			lines[last] += " " + word
		} else {
			lines = append(lines, word)
		}
	}
	return lines
}
