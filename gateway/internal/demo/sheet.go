package demo

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/recloser-go/recloser/gateway/internal/message"
)

// sheet is a view as the page's template wants it.
type sheet struct {
	Panel    string // URL
	Phase    string // said aloud when it changes
	Headline string
	Clock    string
	Caption  string
	Script   axis
	Ways     []way
	Happened []happening // newest first
	Told     []paper     // newest first
	Past     []outcome   // newest first
}

// way is one lane on the page.
type way struct {
	Key      string // with, without
	Name     string
	State    string // its mark
	Word     string
	Waiting  int
	Longest  string
	Crowd    int // figures drawn
	Chart    chart
	Scans    [3]pair
	Asks     [3]pair
	OverLong int
	Hotels   []bed
}

type pair struct{ Name, Value string }

// bed is how one hotel is doing.
type bed struct{ State, Name, Status, Detail string }

// happening is one line of what happened.
type happening struct{ After, State, Who, Text string }

// paper is a message to people.
type paper struct {
	State, Title, Clock string
	Facts               []string
	URL                 string // of what it is about, on the panel
}

const (
	mostFigures  = 320 // people drawn: without Recloser about as many wait at the end of an outage
	mostHappened = 8
	mostPapers   = 4
	mostPast     = 5
)

func sheetOf(v view) sheet {
	s := sheet{
		Panel: v.panelURL, Phase: phase(v), Headline: headline(v), Clock: clockText(v), Caption: caption(v),
		Script: axisOf(v), Ways: []way{wayOf(v, v.with, "with", "With Recloser"), wayOf(v, v.without, "without", "Without")},
		Past: newest(v.past, mostPast),
	}
	for _, t := range newest(v.events, mostHappened) {
		s.Happened = append(s.Happened, happening{tenths(v.clock.of(t.At)), t.To.String(), t.Name, strings.TrimPrefix(eventText(t), t.Name+" ")})
	}
	for _, n := range newest(v.told, mostPapers) {
		p := paper{State: markOf(n), Title: n.Title, Clock: n.At.Local().Format("15:04:05"), Facts: n.Facts, URL: v.panelURL + "/"}
		if n.About != "" {
			p.URL += "d/" + n.About
		}
		s.Told = append(s.Told, p)
	}
	return s
}

// newest returns at most n of a list, the last of it first.
func newest[T any](list []T, n int) []T {
	last := slices.Clone(list[max(0, len(list)-n):])
	slices.Reverse(last)
	return last
}

// markOf is the mark of a message.
func markOf(n notice) string {
	switch message.Kind(n.Kind) {
	case message.Started, message.Reminder, message.Flapping:
		return "open"
	case message.Isolated:
		return "isolated"
	case message.Held:
		return "held-closed"
	case message.Ended, message.Calm, message.Released:
		return "closed"
	case message.Ending, message.Endless, message.Removed, message.Test:
	}
	return "unknown"
}

// phase is where the script is, in words that stay the same for a while.
func phase(v view) string {
	switch {
	case v.ending:
		return "The demo ends."
	case v.outage.lasts():
		return fmt.Sprintf("%d of %d hotels are ill.", len(illHotels()), hotelsPerLane)
	case v.outage.ended:
		return "All hotels are well again."
	default:
		return "All hotels are well."
	}
}

// headline says in plain words what there is to see.
func headline(v view) string {
	text := phase(v)
	switch {
	case v.outage.lasts():
		return text + " With Recloser " + crowdNow(v.with) + ". Without it " + crowdNow(v.without) + "."
	case v.outage.ended:
		return text + fmt.Sprintf(" With Recloser %s over 1 s, without it %s.",
			people(v.with.overLong, "has waited", "have waited"), people(v.without.overLong, "has", "have"))
	case v.ending:
		return text
	}
	return text + fmt.Sprintf(" %d of them fall ill in %.0f s.", len(illHotels()), max(0, v.script.FaultsFrom-v.now).Seconds())
}

func crowdNow(l laneView) string {
	text := people(l.waiting, "waits", "wait")
	if l.waiting > 0 {
		text += ", the longest for " + tenths(l.longest)
	}
	return text
}

// people writes how many do something.
func people(n int, one, many string) string {
	switch n {
	case 0:
		return "nobody " + one
	case 1:
		return "1 person " + one
	}
	return count(n) + " people " + many
}

func wayOf(v view, l laneView, key, name string) way {
	w := way{
		Key: key, Name: name, State: "closed", Word: "nobody waits long", Waiting: l.waiting, Longest: tenths(l.longest),
		Crowd: min(l.waiting, mostFigures), Chart: chartOf(v, l.crowd, max(chartScale(v), leastTop)), OverLong: l.overLong,
		Scans: [3]pair{{"let in", count(l.letIn)}, {"turned away at once, as their hotel was cut off", count(l.refused)}, {"failed", count(l.failed)}},
		Asks:  [3]pair{{"yes", count(l.yes)}, {"no", count(l.no)}, {"unknown", count(l.unknown)}},
	}
	if l.longest > longWait {
		w.State, w.Word = trouble, "people wait"
	}
	for _, r := range l.hotels {
		w.Hotels = append(w.Hotels, bed{r.state, r.id, r.status, r.detail})
	}
	return w
}

// axis is the script's time, as a drawing chartWidth wide.
type axis struct {
	Now         int // x
	From, Width int // x of the outage, and how wide it is
	Ends        string
}

// chart is how many waited over that time, as a drawing chartHeight high.
type chart struct {
	axis
	Top   int    // people at the upper edge
	Area  string // a path
	Label string // for who does not see it
}

const (
	chartWidth  = 600
	chartHeight = 110
	chartStep   = 5  // pixels
	leastTop    = 50 // people: a few that wait for milliseconds are no crowd
)

func axisOf(v view) axis {
	x := func(at time.Duration) int {
		return int(min(max(0, at), v.script.Length) * chartWidth / v.script.Length)
	}
	from := x(v.script.FaultsFrom)
	return axis{Now: x(v.now), From: from, Width: x(v.script.FaultsUntil) - from, Ends: inSeconds(v.script.Length)}
}

func chartOf(v view, crowd []visit, top int) chart {
	c := chart{axis: axisOf(v), Top: top}
	var times []time.Duration
	for at := 0; at <= c.Now; at += chartStep {
		times = append(times, v.script.Length*time.Duration(at)/chartWidth)
	}
	var path strings.Builder
	most := 0
	fmt.Fprintf(&path, "M0 %d", chartHeight)
	for _, n := range crowdAt(crowd, times) {
		most = max(most, n)
		fmt.Fprintf(&path, "V%.1fh%d", chartHeight*(1-float64(n)/float64(top)), chartStep)
	}
	c.Area = path.String() + fmt.Sprintf("V%dz", chartHeight)
	c.Label = fmt.Sprintf("People waiting over the time of this outage: %d at most", most)
	return c
}
