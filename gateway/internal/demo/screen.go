package demo

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// sideBySide is the least width at which the lanes stand next to each other:
// that of a terminal of 100 columns, one of which stays free.
const sideBySide = 99

// oneLine is the least width of a lane at which a hotel needs one line.
const oneLine = 76

// draw lays a view out for a terminal of that size: at most height lines, none
// wider than width.
func draw(v view, width, height int) []line {
	lines := headLines(v, width)
	foot := line{{"panel  " + v.panel, dim}}.right(line{{"Ctrl-C ends the demo", dim}}, width-2) // the terminal writes ^C behind it
	lane := width
	if width >= sideBySide {
		lines = append(lines, nil)
		lane = (width - 3) / 2
	}
	with := laneBlock{view: v.with, title: span{"WITH RECLOSER", goodTitle}, width: lane}
	without := laneBlock{view: v.without, title: span{"WITHOUT", badTitle}, width: lane}
	fixed := len(with.head()) + len(with.tail())
	scale := chartScale(v)

	if width >= sideBySide {
		rows := min(max(height-len(lines)-fixed-2, 2), 10)
		left, right := with.lines(v, rows, scale), without.lines(v, rows, scale)
		for i := range left {
			lines = append(lines, left[i].fit(lane).with(line{{" │ ", dim}}).with(right[i].fit(lane)))
		}
		lines = append(lines, nil)
	} else {
		rows := min(max((height-len(lines)-1)/2-fixed, 1), 6)
		lines = append(lines, with.lines(v, rows, scale)...)
		lines = append(lines, without.lines(v, rows, scale)...)
	}
	lines = append(lines, foot)
	for i := range lines {
		lines[i] = lines[i].fit(width)
	}
	return lines[:min(len(lines), height)]
}

// headLines says what is being shown, where the script is and what comes next.
func headLines(v view, width int) []line {
	title := line{{"recloser demo", bold}, {"  the same guests twice, with and without Recloser", plain}}
	clock := words(fmt.Sprintf("%.0f s of %.0f s", v.now.Seconds(), v.script.Length.Seconds()))
	return []line{
		title.right(clock, width),
		timeline(v, width),
		words(caption(v)),
	}
}

// timeline is the script as a bar: thick as far as it has come, red where the
// hotels are ill.
func timeline(v view, width int) line {
	var l line
	for i := range width {
		at := v.script.Length * time.Duration(i) / time.Duration(width)
		s := span{"─", dim}
		if at >= v.script.FaultsFrom && at < v.script.FaultsUntil {
			s.look = bad
		}
		if at < v.now {
			s.text = "━"
			if s.look == dim {
				s.look = good
			}
		}
		if n := len(l); n > 0 && l[n-1].look == s.look && strings.HasPrefix(l[n-1].text, s.text) {
			l[n-1].text += s.text
		} else {
			l = append(l, s)
		}
	}
	return l
}

func caption(v view) string {
	const faults = "hotel-3 hangs · hotel-5 answers 500 · hotel-7 takes 4 s"
	left := func(until time.Duration) string {
		return fmt.Sprintf("in %.0f s", max(0, until-v.now).Seconds())
	}
	switch {
	case v.outage.lasts():
		return faults + " · all recover " + left(v.script.FaultsUntil)
	case v.outage.ended:
		return "all hotels are well again · the demo ends " + left(v.script.Length)
	default:
		return "all hotels are well · " + left(v.script.FaultsFrom) + ": " + faults
	}
}

// laneBlock draws one lane.
type laneBlock struct {
	view  laneView
	title span
	width int
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
	if b.width >= oneLine {
		return []line{line{b.title}.fit(16).with(now)}
	}
	return []line{{b.title}, now}
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
	for _, r := range v.hotels {
		lines = append(lines, r.lines(b.width)...)
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

// lines writes a hotel on one line if there is room, else on two.
func (r row) lines(width int) []line {
	l := line{{string(r.mark), r.look}, {fmt.Sprintf(" %-8s ", r.id), bold}, {r.status, r.look}}
	if width >= oneLine {
		if r.detail != "" {
			l = append(l, span{" · " + r.detail, plain})
		}
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
