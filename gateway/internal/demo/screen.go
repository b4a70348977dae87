package demo

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// Least widths.
const (
	sideBySide   = 99 // of lanes next to each other: a terminal of 100 columns, one of which stays free
	oneLineHotel = 76 // of a lane at which a hotel and its detail need one line
	oneLineHead  = 59 // of a lane at which its title and crowd need one line
)

const tallestChart = 10

// detail is how much is shown.
type detail struct {
	charts int  // the least lines of the chart; 0: none
	guests int  // lines on what became of them: 3, 1 or 0
	hotels bool // a line for each
	why    bool // and one more
	bare   bool // no timeline, no caption, no foot
}

// width is that of the widest line of a lane.
func (d detail) width() int {
	if d.hotels {
		return 48
	}
	return 36
}

// details lists them from the most to the least.
func details() []detail {
	return []detail{
		{charts: 1, guests: 3, hotels: true, why: true},
		{charts: 1, guests: 1, hotels: true, why: true},
		{charts: 1, guests: 3, hotels: true},
		{charts: 1, guests: 1, hotels: true},
		{guests: 1, hotels: true},
		{charts: 1},
		{},
		{bare: true},
	}
}

// draw lays a view out for a terminal of that size: at most height lines, each
// of that width, with as much detail as they hold.
func draw(v view, width, height int) []line {
	lines := []line{words("too small a terminal")}
	for _, d := range details() {
		if all, fits := lay(v, d, width, height); fits {
			lines = all
			break
		}
	}
	for i := range lines {
		lines[i] = lines[i].fit(width)
	}
	return lines
}

// lay draws a view with that much detail, and reports whether it fits.
func lay(v view, d detail, width, height int) (lines []line, fits bool) {
	lane, abreast := width, 1
	if width >= sideBySide {
		lane, abreast = (width-3)/2, 2
	}
	with := laneBlock{view: v.with, title: span{"WITH RECLOSER", goodTitle}, width: lane, detail: d}
	without := laneBlock{view: v.without, title: span{"WITHOUT", badTitle}, width: lane, detail: d}
	head, foot := frameLines(v, d, width)
	free := (height-len(head)-len(foot))*abreast/2 - len(with.head()) - len(with.tail())
	if lane < d.width() || free < d.charts {
		return nil, false
	}
	rows, scale := min(free, tallestChart), chartScale(v)
	if d.charts == 0 {
		rows = 0
	}
	left, right := with.lines(v, rows, scale), without.lines(v, rows, scale)
	if abreast == 2 {
		for i := range left {
			left[i] = left[i].fit(lane).with(line{{" │ ", dim}}).with(right[i])
		}
		right = nil
	}
	return slices.Concat(head, left, right, foot), true
}

// frameLines are those above and below the lanes.
func frameLines(v view, d detail, width int) (head, foot []line) {
	head = headLines(v, width)
	if d.bare {
		return head[:1], nil
	}
	foot = []line{footLine(v, width)}
	if width >= sideBySide {
		head = append(head, nil)
		if d.guests == 3 {
			foot = append([]line{toldLine(v)}, foot...)
		}
		foot = append([]line{nil}, foot...)
	}
	return head, foot
}

// toldLine is what people were told last, if that was in this outage.
func toldLine(v view) line {
	if len(v.told) == 0 {
		return nil
	}
	last := v.told[len(v.told)-1]
	if last.At.Before(v.clock.start) {
		return nil
	}
	return line{{fmt.Sprintf("people were told after %s: ", tenths(v.clock.of(last.At))), plain}, {last.Title, bold}}
}

// headLines says what is being shown, where the script is and what comes next.
func headLines(v view, width int) []line {
	title := line{{"recloser demo", bold}}
	clock := words(clockText(v))
	if subtitle := (line{{"  the same guests twice, with and without Recloser", plain}}); title.width()+subtitle.width()+2+clock.width() <= width {
		title = title.with(subtitle)
	}
	lines := []line{title.right(clock, width), timeline(v, width)}
	said := paragraph(nil, caption(v), plain, width)
	for len(said) < len(wrap(longestCaption, width)) { // so that what follows does not jump
		said = append(said, nil)
	}
	return append(lines, said...)
}

func footLine(v view, width int) line {
	width -= 2 // the terminal writes ^C behind it
	panel := line{{"panel  " + v.panelURL, dim}}
	both := panel.with(line{{"  both ways  " + v.pageURL, dim}})
	for _, pages := range []line{both, panel} {
		for _, text := range []string{"  Ctrl-C ends the demo", "  Ctrl-C ends it", "  Ctrl-C"} {
			if hint := (line{{text, dim}}); pages.width()+hint.width() <= width {
				return pages.right(hint, width)
			}
		}
	}
	return panel
}

// clockText says where in the script it is.
func clockText(v view) string {
	text := fmt.Sprintf("%.0f s of %s", v.now.Seconds(), inSeconds(v.script.Length))
	if v.again {
		text = fmt.Sprintf("outage %d · %s", v.number, text)
	}
	return text
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

const (
	theFaults      = "hotel-3 hangs · hotel-5 answers 500 · hotel-7 takes 4 s"
	longestCaption = theFaults + " · the demo ends in 20 s"
)

// caption says how the hotels are and what comes next.
func caption(v view) string {
	left := func(until time.Duration) string {
		return fmt.Sprintf("in %.0f s", max(0, until-v.now).Seconds())
	}
	ends := "the demo ends " + left(v.script.Length)
	if v.again {
		ends = "the next outage " + left(v.script.Length+v.script.FaultsFrom)
	}
	switch {
	case v.ending:
		return "no more guests come: the last of them leave, and the demo ends"
	case v.outage.lasts() && (v.again || v.script.Length > v.script.FaultsUntil):
		return theFaults + " · all recover " + left(min(v.script.FaultsUntil, v.script.Length))
	case v.outage.lasts():
		return theFaults + " · " + ends
	case v.outage.ended:
		return "all hotels are well again · " + ends
	case v.script.Length > v.script.FaultsFrom:
		return "all well · " + left(v.script.FaultsFrom) + ": " + theFaults
	default:
		return "all hotels are well · " + ends + ", before any falls ill"
	}
}
