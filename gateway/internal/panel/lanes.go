package panel

import (
	"fmt"
	"slices"
	"time"

	"github.com/recloser-go/recloser/gateway/internal/admin"
	"github.com/recloser-go/recloser/gateway/internal/plain"
)

// laneChart shows the states of dependencies over time, a lane each.
type laneChart struct {
	Lanes []lane
	Ticks []tick
	Keys  []state // what the marks of the lanes mean
}

type lane struct {
	ID       string
	Segments []drawn
}

// drawn is a segment that is not closed, placed in percent of the width.
type drawn struct {
	S        state
	X, Width string
	Title    string
}

type tick struct {
	X  string
	At time.Time
}

const onlyWithNews = true

// newLaneChart draws lanes; with onlyNews, of those only that were not closed all
// the time.
func newLaneChart(p *past, all []admin.Dependency, from, to time.Time, onlyNews bool) laneChart {
	var c laneChart
	shown := map[string]bool{closed: true, open: true, halfOpen: true, isolated: true, heldClosed: true, inMaintenance: true}
	length := to.Sub(from).Seconds()
	place := func(t time.Time) float64 { return 100 * t.Sub(from).Seconds() / length }
	for _, d := range all {
		l := lane{ID: d.ID}
		news := false
		for _, s := range p.segments(&d, from, to) {
			if s.S.Key == closed {
				continue
			}
			news = news || s.S.Key != unknown
			shown[s.S.Key] = true
			x := place(s.From)
			l.Segments = append(l.Segments, drawn{
				S: s.S, X: fmt.Sprintf("%.2f%%", x), Width: fmt.Sprintf("%.2f%%", max(0.3, place(s.To)-x)),
				Title: fmt.Sprintf("%s for %s from %s", s.word(), span(s.To.Sub(s.From)), clock(s.From, to)) + withWhy(s.Why),
			})
		}
		// Short times are drawn longer than they were: a trial must not hide an outage.
		slices.SortStableFunc(l.Segments, func(a, b drawn) int { return weightOf(a.S) - weightOf(b.S) })
		if news || !onlyNews {
			c.Lanes = append(c.Lanes, l)
		}
	}
	for _, s := range append(states(), stateOf(unknown)) {
		if shown[s.Key] {
			c.Keys = append(c.Keys, s)
		}
	}
	const ticks = 4
	for i := range ticks + 1 {
		at := from.Add(to.Sub(from) * time.Duration(i) / ticks)
		c.Ticks = append(c.Ticks, tick{fmt.Sprintf("%d%%", 100*i/ticks), at})
	}
	return c
}

// word names it to those who point at it. "Shadow" alone says little.
func (s segment) word() string {
	if s.S.Key == shadowed {
		return s.S.Word + ": " + s.S.Effect
	}
	return s.S.Says()
}

// weightOf says which of two states that lie over each other is to be seen.
func weightOf(s state) int {
	switch s.Key {
	case unknown:
		return 0
	case halfOpen, shadowed:
		return 1
	}
	return 2
}

func withWhy(why string) string {
	if why == "" {
		return ""
	}
	return "; " + plain.Line(why)
}
