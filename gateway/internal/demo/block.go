package demo

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// laneBlock draws one lane.
type laneBlock struct {
	view  laneView
	title span
	width int
	detail
}

func (b laneBlock) lines(v view, rows, scale int) []line {
	return slices.Concat(b.head(), b.chart(v, rows, scale), b.tail())
}

// head answers the one question: does anybody wait?
func (b laneBlock) head() []line {
	crowd := good
	if b.view.longest > longWait {
		crowd = badTitle
	}
	now := line{
		{fmt.Sprintf("%4d", b.view.waiting), crowd},
		{guests(b.view.waiting) + " waiting now, the longest ", plain},
		{tenths(b.view.longest), crowd},
	}
	switch {
	case b.width >= oneLineHead:
		return []line{line{b.title}.fit(16).with(now)}
	case b.hotels:
		return []line{{b.title}, now}
	}
	title, _, _ := strings.Cut(b.title.text, " ")
	now[1].text = " waiting, longest "
	return []line{line{{title, b.title.look}}.fit(8).with(now)}
}

// chart draws how many guests were waiting over the script's time.
func (b laneBlock) chart(v view, rows, scale int) []line {
	const gutter = 5
	columns := b.width - gutter
	var times []time.Duration
	for i := range columns {
		if start := v.script.Length * time.Duration(i) / time.Duration(columns); start <= v.now {
			times = append(times, min(v.now, v.script.Length*time.Duration(i+1)/time.Duration(columns)))
		}
	}
	crowd := crowdAt(b.view.crowd, times)
	look := good
	if b.title.look == badTitle {
		look = bad
	}
	levels := []rune(" ▁▂▃▄▅▆▇█")
	var lines []line
	for r := rows - 1; r >= 0; r-- {
		var bar strings.Builder
		for _, n := range crowd {
			eighths := (n*rows*8 + scale - 1) / scale // rounded up: one guest is seen
			bar.WriteRune(levels[min(max(eighths-r*8, 0), 8)])
		}
		label := ""
		switch r {
		case rows - 1:
			label = fmt.Sprint(scale)
		case 0:
			label = "0"
		}
		lines = append(lines, line{{fmt.Sprintf("%*s ", gutter-1, label), dim}, {bar.String(), look}})
	}
	return lines
}

// tail says what became of the guests, and how the hotels are doing.
func (b laneBlock) tail() []line {
	v := b.view
	lines := []line{
		{
			{"scans ", dim},
			{fmt.Sprintf("%6s %-6s%6s %-7s%6s %s", count(v.letIn), "let in", count(v.refused), "refused", count(v.failed), "failed"), plain},
		},
		{
			{"asks  ", dim},
			{fmt.Sprintf("%6s %-6s%6s %-7s%6s %s", count(v.yes), "yes", count(v.no), "no", count(v.unknown), "unknown"), plain},
		},
		{{"waited", dim}, {fmt.Sprintf("%6s", count(v.overLong)), bold}, {guests(v.overLong) + " so far for longer than 1 s", plain}},
	}
	lines = lines[len(lines)-b.guests:]
	if !b.hotels {
		return lines
	}
	for _, r := range v.hotels {
		lines = append(lines, r.lines(b.width, b.why)...)
	}
	return lines
}

// guests is the noun after a number, always as wide.
func guests(n int) string {
	if n == 1 {
		return " guest "
	}
	return " guests"
}

// lines writes a hotel on one line if there is room or no need to say why,
// else on two.
func (r row) lines(width int, why bool) []line {
	l := line{{string(r.mark), r.look}, {fmt.Sprintf(" %-8s ", r.id), bold}, {r.status, r.look}}
	if width >= oneLineHotel && r.detail != "" {
		l = append(l, span{" · " + r.detail, plain})
	}
	if width >= oneLineHotel || !why {
		return []line{l}
	}
	return []line{l, words(strings.Repeat(" ", 11) + r.detail)}
}

// chartScale is the top of both charts: the same, so that they can be compared.
func chartScale(v view) int {
	most := 10
	for _, l := range []laneView{v.with, v.without} {
		for _, n := range crowdAt(l.crowd, everyTenth(v.now)) {
			most = max(most, n)
		}
	}
	for _, top := range []int{10, 20, 50} {
		if most <= top {
			return top
		}
	}
	return (most + 49) / 50 * 50
}

func everyTenth(until time.Duration) []time.Duration {
	var times []time.Duration
	for t := time.Duration(0); t <= until; t += time.Second / 10 {
		times = append(times, t)
	}
	return times
}
