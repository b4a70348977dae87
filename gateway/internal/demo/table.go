package demo

import (
	"fmt"
	"time"
)

// The columns of the table. Where they do not fit side by side, the figures
// stand below what they are about.
const (
	whatWidth   = 29
	figureWidth = 15
)

// table tells in numbers what the guests met on either way.
func (s summary) table() []line {
	lines := append([]line{nil}, s.row(span{"What the guests met", bold}, span{"with Recloser", goodTitle}, span{"without", badTitle})...)
	add := func(what, with, without string) {
		lines = append(lines, s.row(span{"  " + what, plain}, span{with, plain}, span{without, plain})...)
	}
	if s.outage.begun {
		for _, n := range illHotels() {
			a, b := s.hotel(n)
			lines = append(lines, paragraph(line{{hotelID(n), bold}, {" ", plain}}, past(a.Fault), plain, s.width)...)
			add("answered", count(a.OK), count(b.OK))
			if a.Fault == Errors {
				add("met an error", count(a.Failed), count(b.Failed))
			} else {
				add("waited over 1 s", count(a.WaitedOver1s), count(b.WaitedOver1s))
				add("longest wait", milliseconds(a.MaxWaitMS), milliseconds(b.MaxWaitMS))
			}
			add("turned away at once", count(a.Refused), count(b.Refused))
			add("  the first of them after", orDash(a.FirstRefusalS), orDash(b.FirstRefusalS))
			add("all served again after", orDash(a.FullAgainS), orDash(b.FullAgainS))
			add("calls sent to it while ill", count(a.CallsReached), count(b.CallsReached))
		}
		lines = append(lines, line{{fmt.Sprintf("the other %d hotels", hotelsPerLane-len(illHotels())), bold}})
	} else {
		lines = append(lines, line{{fmt.Sprintf("all %d hotels", hotelsPerLane), bold}})
	}
	with, without := s.report.Lanes.Protected, s.report.Lanes.Unprotected
	answeredWith, troubledWith := s.well(with)
	answeredWithout, troubledWithout := s.well(without)
	add("answered", count(answeredWith), count(answeredWithout))
	add("refused or failed", count(troubledWith), count(troubledWithout))
	lines = append(lines, line{{"guests whose hotel is not known", bold}})
	add("waited over 1 s", count(with.Asks.WaitedOver1s), count(without.Asks.WaitedOver1s))
	add("let in", count(with.Asks.Yes), count(without.Asks.Yes))
	add("not let in", count(with.Asks.No), count(without.Asks.No))
	add("unknown, so not let in", count(with.Asks.Unknown), count(without.Asks.Unknown))
	return lines
}

func (s summary) row(what, with, without span) []line {
	return tableRow(what, line{with, without}, figureWidth, s.width)
}

// tableRow sets figures, each that wide, behind what they are about, or below it.
func tableRow(what span, figures line, each, width int) []line {
	for i := range figures {
		figures[i].text = fmt.Sprintf("%*s", each, figures[i].text)
	}
	if width < whatWidth+len(figures)*each {
		return []line{{what}, figures}
	}
	return []line{line{what}.fit(whatWidth).with(figures)}
}

// well counts the scans of the hotels that no fault befell.
func (s summary) well(l Lane) (answered, troubled int) {
	for _, h := range l.Hotels {
		if h.Fault == NoFault || !s.outage.begun {
			answered += h.OK
			troubled += h.Refused + h.Failed
		}
	}
	return answered, troubled
}

// past says what was wrong with a hotel.
func past(f Fault) string {
	switch f {
	case Hang:
		return "hung: its process was stopped"
	case Slow:
		return "was slow: answers took " + inSeconds(slowAnswer)
	case Errors:
		return "answered 500, its /health said 200"
	default:
		return "was well"
	}
}

func orDash(s *float64) string {
	if s == nil {
		return "–"
	}
	return fmt.Sprintf("%.1f s", *s)
}

func milliseconds(ms int64) string { return fmt.Sprintf("%.2f s", float64(ms)/1000) }

// inSeconds writes a time of the script: 45 s, 0.5 s.
func inSeconds(d time.Duration) string { return fmt.Sprintf("%g s", d.Seconds()) }
