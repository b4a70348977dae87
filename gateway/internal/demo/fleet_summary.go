package demo

import (
	"fmt"
	"slices"
)

const fleetFigureWidth = 12 // so that MostGateways fit a summary

// fleetSummary tells how a run with several gateways went: what the guests met, and last
// the verdict.
type fleetSummary struct {
	report   FleetReport
	promises promises
	width    int
}

func (s fleetSummary) lines() []line {
	return slices.Concat(s.table(), s.promises.lines(s.width), s.promises.sum(DefaultFleetScript().Length, s.width))
}

// table tells it in numbers.
func (s fleetSummary) table() []line {
	var names []string
	for _, w := range s.report.Well {
		names = append(names, w.Gateway)
	}
	lines := append([]line{nil}, s.row("What the guests met", bold, names...)...)
	for _, h := range []*FleetHang{&s.report.Together, &s.report.Alone} {
		if !h.begun {
			continue
		}
		how := "hung while the store was there"
		if h.StoreAway {
			how = "hung while the store was away"
		}
		lines = append(lines, paragraph(line{{h.Hotel, bold}, {" ", plain}}, how, plain, s.width)...)
		add := func(what string, of func(FleetGateway) string) {
			var figures []string
			for _, g := range h.Gateways {
				figures = append(figures, of(g))
			}
			lines = append(lines, s.row("  "+what, plain, figures...)...)
		}
		add("cut off after", func(g FleetGateway) string { return orDash(g.CutOffS) })
		add("caught by then", func(g FleetGateway) string { return count(g.Caught) })
		add("waited over 1 s", func(g FleetGateway) string { return count(g.WaitedOver1s) })
		add("longest wait", func(g FleetGateway) string { return milliseconds(g.MaxWaitMS) })
		add("turned away at once", func(g FleetGateway) string { return count(g.Refused) })
		add("served again after", func(g FleetGateway) string { return orDash(g.ServedAgainS) })
	}
	lines = append(lines, line{{fmt.Sprintf("the %d hotels that stayed well", fleetHotels-3), bold}})
	add := func(what string, of func(Well) string) {
		var figures []string
		for _, w := range s.report.Well {
			figures = append(figures, of(w))
		}
		lines = append(lines, s.row("  "+what, plain, figures...)...)
	}
	add("answered", func(w Well) string { return count(w.OK) })
	add("refused or failed", func(w Well) string { return count(w.Troubled) })
	add("longest wait", func(w Well) string { return milliseconds(w.MaxWaitMS) })
	add("  while the store was away", func(w Well) string { return milliseconds(w.MaxWaitAwayMS) })
	return lines
}

func (s fleetSummary) row(what string, l look, figures ...string) []line {
	var cells line
	for _, f := range figures {
		cells = append(cells, span{f, l})
	}
	return tableRow(span{what, l}, cells, fleetFigureWidth, s.width)
}
