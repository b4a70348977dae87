package demo

import (
	"fmt"
	"slices"
	"time"

	"github.com/recloser-go/recloser"
)

// view is all that is shown at one moment.
type view struct {
	number   int  // of the outage, from 1
	again    bool // others follow
	now      time.Duration
	script   Script
	outage   outage
	ending   bool // no more guests come
	with     laneView
	without  laneView
	panelURL string
	pageURL  string
	clock    clock
	events   []recloser.Transition // of the breakers, so far
	told     []notice              // to people since the start, oldest first
	past     []outcome             // of the outages before
}

// outcome is what came of one outage.
type outcome struct {
	Number        int
	With, Without crowdMet
}

// crowdMet is what the guests of one lane met.
type crowdMet struct {
	OverLong int           // guests who waited over longWait
	Longest  time.Duration // wait of a scan
}

// LongestWait writes it for people.
func (c crowdMet) LongestWait() string { return tenths(c.Longest) }

func outcomeOf(number int, r Report) outcome {
	of := func(l Lane) crowdMet {
		return crowdMet{l.waitedOver1s(), time.Duration(l.maxWaitMS()) * time.Millisecond}
	}
	return outcome{number, of(r.Lanes.Protected), of(r.Lanes.Unprotected)}
}

// laneView is one lane at one moment.
type laneView struct {
	waiting  int           // guests before a turnstile now
	longest  time.Duration // that one of them has waited
	overLong int           // guests so far who waited over longWait
	letIn    int           // scans
	refused  int
	failed   int
	yes      int // asks
	no       int
	unknown  int
	crowd    []visit // the book, to draw the crowd over time
	hotels   []row
}

// trouble is the state of a hotel without a breaker that is not well.
const trouble = "trouble"

// row says how one hotel is doing, in two pieces that fit one or two lines.
type row struct {
	state  string // as the panel's marks are called, or trouble
	mark   rune
	look   look
	id     string
	status string
	detail string
}

func viewOf(book []visit, now time.Duration) laneView {
	v := laneView{crowd: book}
	for _, b := range book {
		if b.wait(now) > longWait {
			v.overLong++
		}
		switch b.result {
		case waiting:
			v.waiting++
			v.longest = max(v.longest, b.wait(now))
		case answered:
			v.letIn++
		case refused, released:
			v.refused++
		case failed:
			v.failed++
		case yes:
			v.yes++
		case no:
			v.no++
		case unknown:
			v.unknown++
		}
	}
	return v
}

// crowdAt returns how many guests were waiting at each of those times, which
// must be in order.
func crowdAt(book []visit, times []time.Duration) []int {
	change := make([]int, len(times)+1)
	for _, v := range book {
		from, _ := slices.BinarySearch(times, v.start)
		change[from]++
		if v.result != waiting {
			until, _ := slices.BinarySearch(times, v.end)
			change[until]--
		}
	}
	crowd, n := make([]int, len(times)), 0
	for i := range times {
		n += change[i]
		crowd[i] = n
	}
	return crowd
}

// directRow says how a hotel is doing without Recloser: what its guests see.
func directRow(book []visit, number int, o outage, now time.Duration) row {
	r := row{state: recloser.Closed.String(), mark: markWell, look: good, id: hotelID(number), status: "answering"}
	people, lost := 0, 0
	var longest time.Duration
	for _, v := range book {
		switch {
		case v.ask || v.hotel != number:
		case v.result == waiting:
			people++
			longest = max(longest, v.wait(now))
		case v.result == failed && now-v.end < longWait:
			lost++
		}
	}
	switch {
	case longest > longWait:
		r.state, r.mark, r.look = trouble, markTrouble, bad
		r.status = fmt.Sprintf("%d waiting, the longest %s", people, tenths(longest))
		if o.lasts() {
			r.detail = "and every new guest joins them"
		}
	case lost > 0:
		r.state, r.mark, r.look = trouble, markTrouble, bad
		r.status = fmt.Sprintf("%d failed in the last second", lost)
		if faultOf(number) == Errors { // one that hangs or is slow has failed its guests by their timeout
			r.detail = "its health check still says 200"
		}
	case faultOf(number) == Errors && o.lasts(): // it is as ill while nobody stands there
		r.state, r.mark, r.look = trouble, markTrouble, bad
		r.status, r.detail = "fails whoever comes", "its health check still says 200"
	}
	return r
}

// guardedRow says how a hotel is doing behind the gateway: what its breaker
// does. Trip is what opened it last.
func guardedRow(s recloser.Stats, trip recloser.Transition, now time.Time) row {
	r := row{state: s.State.String(), mark: markWell, look: good, id: s.Name, status: fmt.Sprintf("%s: %s", s.State, s.Effect())}
	switch s.State {
	case recloser.Open:
		r.mark, r.look = markCutOff, bad
		r.status += ", next trial in " + tenths(max(0, s.Until.Sub(now)))
		r.detail = why(trip)
	case recloser.HalfOpen:
		r.mark, r.look = markTrial, trying
		r.status += " by one guest"
		r.detail = why(trip)
	case recloser.Isolated, recloser.HeldClosed:
		r.mark, r.look, r.detail = markTrouble, trying, "set by hand"
	case recloser.Closed:
		if s.RampLimit > 0 {
			r.detail = "slow start after the outage"
		}
	}
	return r
}

// why says in a few words why a breaker opened.
func why(t recloser.Transition) string {
	c := t.Counts
	kind := "bad"
	switch {
	case c.Slow > 0 && c.Failed == 0:
		kind = "too slow"
	case c.Failed > 0 && c.Slow == 0:
		kind = "failed"
	}
	switch t.Reason {
	case recloser.ReasonRun:
		return fmt.Sprintf("%d calls in a row %s", c.Run, kind)
	case recloser.ReasonRate:
		return fmt.Sprintf("%d of %d calls %s", c.Bad(), c.Judged(), kind)
	case recloser.ReasonSuspected:
		return fmt.Sprintf("%d calls ran longer than usual", t.Suspects)
	case "":
		return ""
	default:
		return string(t.Reason)
	}
}

// othersRow sums up the hotels that are not shown one by one.
func othersRow(rows []row) row {
	for _, r := range rows {
		if r.mark != markWell {
			return r
		}
	}
	sum := rows[0]
	sum.id, sum.detail = fmt.Sprintf("%d others", len(rows)), ""
	return sum
}

func tenths(d time.Duration) string { return fmt.Sprintf("%.1f s", d.Seconds()) }

// count writes a number with its thousands apart.
func count(n int) string {
	if n < 1000 {
		return fmt.Sprint(n)
	}
	return fmt.Sprintf("%s %03d", count(n/1000), n%1000)
}
