package panel

import (
	"context"
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/recloser-go/recloser"
	"github.com/recloser-go/recloser/gateway/internal/admin"
	"github.com/recloser-go/recloser/gateway/internal/maintenance"
	"github.com/recloser-go/recloser/gateway/internal/plain"
)

// row is one dependency, as a row of the list and as a card. Texts by others are
// made fit for a line in it.
type row struct {
	admin.Dependency
	S       state
	Called  string // what people call it; "" if that is its ID
	InGroup string
	Numbers admin.Numbers
	Reason  string     // why, with what it is held against
	Error   string     // the last failure
	Acted   bool       // somebody's act began it, so that is not why
	Trial   *time.Time // when the last trial failed; nil: none did since the trip
	Out     time.Time  // when the outage began, whatever trials there were since; zero: it has none
	By      string     // who set it
	Ends    *time.Time
	NoEnd   bool    // set by hand, without an end
	Limit   int     // in percent; 0: no such rule
	Columns columns // on the overview only
	Same    bool    // who asks has the row of the list as it is
}

func newRow(ctx context.Context, read *admin.Reader, d admin.Dependency) row {
	r := row{
		Dependency: d, S: stateOfDependency(&d), Called: nameOf(&d), InGroup: plain.Line(d.Group),
		Numbers: read.Numbers(ctx, d.ID), Error: plain.Line(d.Cause),
	}
	if f := d.Limits.FailureRate; f != nil {
		r.Limit = int(math.Round(*f * 100))
	}
	if o := d.Override; o != nil {
		r.By, r.Ends, r.NoEnd = plain.Line(maintenance.By(o.By, o.Reason)), o.Until, o.Until == nil
	}
	r.Reason = plain.Line(r.why())
	return r
}

// why is the API's, and of one that is at risk how near to its limit it is.
func (r row) why() string {
	d := r.Dependency
	switch {
	case r.S.Key == atRisk && d.Limits.Consecutive != nil && float64(d.Window.Run) > admin.Near*float64(*d.Limits.Consecutive):
		return fmt.Sprintf("%d bad calls in a row (limit %d)", d.Window.Run, *d.Limits.Consecutive)
	case r.S.Key == atRisk && d.Window.BadRatio != nil:
		return fmt.Sprintf("%s of calls bad (limit %d %%)", percent(*d.Window.BadRatio), r.Limit)
	}
	return d.Why
}

// Because is the reason with the failure behind it, of one that is not well.
func (r row) Because() string {
	if r.S.Key == closed || r.Acted {
		return r.Reason
	}
	return plain.Because(r.Reason, r.Error)
}

// outages returns when those began that are told as incidents: they need not be looked up
// in the history. One of more than one trip is left out: it passed calls in between.
func outages(ctx context.Context, read *admin.Reader) map[string]time.Time {
	began := make(map[string]time.Time)
	all, err := read.Incidents(ctx)
	if err != nil {
		return began // recall finds them
	}
	for _, i := range all {
		if i.Trips == 1 && i.Closed == nil {
			began[i.Dependency] = i.Since
		}
	}
	return began
}

// outage finds when the outage of a dependency began that is open or half-open: its
// state itself begins anew with each trial.
func (r *row) outage(ctx context.Context, read *admin.Reader, told map[string]time.Time) {
	switch {
	case r.State != open && r.State != halfOpen:
	case !told[r.ID].IsZero():
		r.Out = told[r.ID]
	case r.State == halfOpen, r.Dependency.Reason == string(recloser.ReasonTrialFailed), r.Dependency.Reason == string(recloser.ReasonRestored):
		r.recall(ctx, read)
	}
}

// Lasts is when the state began, or the outage that it belongs to.
func (r row) Lasts() time.Time {
	if r.Out.IsZero() {
		return r.Since
	}
	return r.Out
}

// recall finds in the history what opened a dependency that is open or half-open, when
// that was, and when its last trial failed: what the breaker says of itself is only its
// last step.
func (r *row) recall(ctx context.Context, read *admin.Reader) {
	if r.State != open && r.State != halfOpen {
		return
	}
	const farBack = 200
	list, err := read.Events(ctx, admin.EventsQuery{Dependency: r.ID, Kind: "transition", Page: admin.Page{Limit: farBack}})
	if err != nil {
		return // it shows what it has
	}
	for _, e := range list.Events {
		switch {
		case ofKey(e), e.Reason == string(recloser.ReasonRestored):
		case e.From == halfOpen && e.To == open:
			if r.Trial == nil {
				r.Trial = &e.At
			}
		case e.To == open:
			r.began(e, r.Limits.HeldAgainst(e.Reason))
			return
		case e.From != open: // somebody released it
			r.began(e, "")
			return
		}
	}
}

// began takes how an outage began from the history.
func (r *row) began(e admin.Event, limit string) {
	r.Reason = plain.Line(strings.TrimSuffix(whyOfEvent(e), ": ") + limit) // of an act without a reason
	r.Acted = e.By != ""
	if r.Out.IsZero() {
		r.Out = e.At
	}
}

// ByHand reports whether an operator or a maintenance has set the state.
func (r row) ByHand() bool { return r.Override != nil }

// Held reports whether its health check holds trials back.
func (r row) Held() bool { return r.S.Key == open && r.Probe != nil && r.Probe.HeldUntil != nil }

// OutOnTrial reports whether it is on trial since the rules have cut it off, not since an
// isolation is over.
func (r row) OutOnTrial() bool { return r.S.Key == halfOpen && r.OutSince != nil }

// CutOff reports whether calls are refused.
func (r row) CutOff() bool {
	return r.S.Key == open || r.S.Key == isolated || r.S.Key == inMaintenance
}

// Share is the bad share of the window; "–" where a number would claim more than is
// known.
func (r row) Share() string {
	if r.CutOff() || r.Numbers.Share == nil {
		return "–"
	}
	return percent(*r.Numbers.Share)
}

// NoShare says why there is no share; "" if there is one.
func (r row) NoShare() string {
	switch {
	case r.CutOff():
		return "no calls pass"
	case r.Numbers.Share == nil:
		return "not enough calls"
	}
	return ""
}

// Width is how wide the bar of the share is, in percent.
func (r row) Width() string {
	if r.CutOff() || r.Numbers.Share == nil {
		return "0"
	}
	return fmt.Sprintf("%.0f", *r.Numbers.Share*100)
}

// Search is what the search looks through.
func (r row) Search() string {
	return strings.ToLower(strings.Join([]string{r.ID, r.Called, r.InGroup}, " "))
}

// Automatic says what the rules would do, where an operator has set something else.
func (r row) Automatic() string {
	if r.State != heldClosed {
		return ""
	}
	s := stateIn(r.Dependency.Automatic, r.Shadow)
	return fmt.Sprintf("automatic would be %s: %s", strings.ToLower(s.Word), s.Effect)
}

// columns are the calls of the last minute, two seconds to a column.
type columns struct {
	Counts             string // good,bad,refused of each, for the script
	Good, Bad, Refused string // paths
}

const (
	columnCount  = 30
	columnStep   = 2 * time.Second
	columnHeight = 22
)

func columnsOf(ctx context.Context, v *view, id string) columns {
	points, err := v.read.Points(ctx, id, v.Now.Add(-time.Minute), v.Now, "1s")
	if err != nil {
		return columns{}
	}
	return newColumns(points, v.Now)
}

func newColumns(points []admin.Point, now time.Time) columns {
	var counts [columnCount][3]uint64
	end := now.Truncate(time.Second)
	for _, p := range points {
		i := columnCount - 1 - int(end.Add(-time.Second).Sub(p.At)/columnStep)
		if i < 0 || i >= columnCount {
			continue
		}
		counts[i][0] += p.Good + p.Ignored
		counts[i][1] += p.Failed + p.Slow
		counts[i][2] += p.Refused
	}
	most := uint64(4)
	for _, c := range counts {
		most = max(most, c[0]+c[1]+c[2])
	}
	var c columns
	var texts []string
	paths := [3]*strings.Builder{{}, {}, {}}
	for i, count := range counts {
		texts = append(texts, fmt.Sprintf("%d,%d,%d", count[0], count[1], count[2]))
		at := float64(columnHeight)
		for kind, n := range count {
			if n == 0 {
				continue
			}
			height := float64(n) * columnHeight / float64(most)
			fmt.Fprintf(paths[kind], "M%d %.3gv-%.3g", i*4+2, at, height)
			at -= height
		}
	}
	c.Counts = strings.Join(texts, " ")
	c.Good, c.Bad, c.Refused = paths[0].String(), paths[1].String(), paths[2].String()
	return c
}
