package panel

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/recloser-go/recloser/gateway/internal/admin"
	"github.com/recloser-go/recloser/gateway/internal/plain"
)

// overview is the page of all dependencies.
type overview struct {
	Headline headline
	Spared   admin.Spared
	Waiting  string // how long nobody had to wait
	Cards    []row
	More     int // that need attention and have no card
	Filters  []filter
	Groups   []group
	Total    int
	Together *together // trips that go together; nil: none that last
	Lanes    laneChart
	Happened []happening
}

type filter struct {
	S     state
	Count int
}

type group struct {
	Name string // "" for those of none
	Rows []row
}

// happening is a line of what happened.
type happening struct {
	At   time.Time
	S    state
	ID   string
	Word string
	Why  string // with the failure that opened it, or kept it open
	By   string
}

const mostCards = 8

// overview makes the page. A script that has it already, and knows which rows of the
// list are not right any more, asks for those with row=<id>, and with an empty one if
// there may be none: the others are only named then.
func (p *Panel) overview(ctx context.Context, v *view, r *http.Request) error {
	rows := rowsOf(ctx, v)
	wanted, some := r.URL.Query()["row"]
	for i := range rows {
		if some && !slices.Contains(wanted, rows[i].ID) {
			rows[i].Same = true
			continue
		}
		rows[i].Columns = columnsOf(ctx, v, rows[i].ID)
	}
	o := overview{Total: len(rows), Groups: groupsOf(rows), Headline: newHeadline(rows), Spared: v.read.Spared(ctx)}
	counts := make(map[string]int)
	for _, r := range rows {
		counts[r.S.Key]++
	}
	o.Waiting = hours(time.Duration(o.Spared.WaitMS) * time.Millisecond)
	o.Cards, o.More = cardsOf(ctx, v, rows)
	for _, s := range states() {
		if counts[s.Key] > 0 || s.Key == open || s.Key == closed {
			o.Filters = append(o.Filters, filter{s, counts[s.Key]})
		}
	}
	past, err := readPast(ctx, v.read, "", v.Now.Add(-time.Hour), v.Now)
	if err != nil {
		return err
	}
	o.Lanes = newLaneChart(past, dependenciesOf(rows), v.Now.Add(-time.Hour), v.Now, onlyWithNews)
	o.Together = newTogether(past, rows, v.Now)
	o.Happened = happened(past, 12)
	v.Page, v.Title, v.Renew, v.Of = "overview", o.Headline.Text, 120, o
	return nil
}

// cardsOf returns what needs attention, most first, as far as there is room, and how
// much more there is.
func cardsOf(ctx context.Context, v *view, rows []row) (cards []row, more int) {
	for _, r := range rows {
		if r.S.rank > 0 {
			cards = append(cards, r)
		}
	}
	slices.SortStableFunc(cards, func(a, b row) int { return a.S.rank - b.S.rank })
	if more = len(cards) - mostCards; more > 0 {
		cards = cards[:mostCards]
	}
	for i := range cards {
		cards[i].recall(ctx, v.read)
	}
	return cards, max(0, more)
}

func rowsOf(ctx context.Context, v *view) []row {
	var rows []row
	told := outages(ctx, v.read)
	for _, d := range v.read.Dependencies(ctx) {
		r := newRow(ctx, v.read, d)
		r.outage(ctx, v.read, told)
		rows = append(rows, r)
	}
	return rows
}

func dependenciesOf(rows []row) []admin.Dependency {
	var all []admin.Dependency
	for _, r := range rows {
		all = append(all, r.Dependency)
	}
	return all
}

// groupsOf keeps the order of the configuration, and puts those of no group last.
func groupsOf(rows []row) []group {
	var groups []group
	index := make(map[string]int)
	var others group
	for _, r := range rows {
		if r.InGroup == "" {
			others.Rows = append(others.Rows, r)
			continue
		}
		i, ok := index[r.InGroup]
		if !ok {
			i = len(groups)
			index[r.InGroup] = i
			groups = append(groups, group{Name: r.InGroup})
		}
		groups[i].Rows = append(groups[i].Rows, r)
	}
	if len(others.Rows) > 0 {
		groups = append(groups, others)
	}
	return groups
}

// happened are the latest changes of state, newest first.
func happened(past *past, most int) []happening {
	var all []happening
	for _, e := range slices.Backward(past.events) {
		if len(all) == most {
			break
		}
		h := happening{At: e.At, S: stateOfEvent(e), ID: e.Dependency, By: plain.Line(e.By)}
		if h.Word = strings.ToLower(h.S.Says()); h.S.Key == shadowed {
			h.Word = h.S.Effect + " (shadow)"
		}
		if e.By != "" {
			h.Why = plain.Line(e.Note)
		} else {
			h.Why = plain.Line(whyOfEvent(e))
		}
		if e.To == open {
			h.Why = plain.Because(h.Why, plain.Line(e.Cause))
		}
		all = append(all, h)
	}
	return all
}

// together is that dependencies tripped at about the same time: one cause is likely
// then, and it is rather not theirs.
type together struct {
	At   time.Time // of the last of them
	Text string
}

// newTogether finds the latest, as long as one of them is not well again.
func newTogether(past *past, rows []row, now time.Time) *together {
	const within, fewest = time.Minute, 3
	groupOf, out := make(map[string]string), make(map[string]bool)
	for _, r := range rows {
		groupOf[r.ID], out[r.ID] = r.InGroup, r.Dependency.Automatic != closed
	}
	var trips []admin.Event
	for _, e := range past.events {
		if e.From == closed && e.To == open && now.Sub(e.At) < 15*time.Minute {
			trips = append(trips, e)
		}
	}
	for last, latest := range slices.Backward(trips) {
		ids := make(map[string]bool)
		groups := make(map[string]bool)
		first, lasts := last, false
		for i := last; i >= 0 && latest.At.Sub(trips[i].At) <= within; i-- {
			if past.closedBetween(trips[i], latest.At) {
				continue // that outage was over
			}
			id := trips[i].Dependency
			ids[id], groups[groupOf[id]] = true, true
			first, lasts = i, lasts || out[id]
		}
		if len(ids) < fewest || !lasts {
			continue
		}
		text := fmt.Sprintf("%d dependencies were cut off within %s", len(ids), span(max(time.Second, latest.At.Sub(trips[first].At))))
		if group := groupOf[latest.Dependency]; len(groups) == 1 && group != "" {
			text += ", all in group " + group
		}
		return &together{latest.At, text + ". One cause is likely: look at what they share before the partners."}
	}
	return nil
}
