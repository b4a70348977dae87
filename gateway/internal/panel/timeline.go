package panel

import (
	"context"
	"encoding/csv"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/recloser-go/recloser/gateway/internal/admin"
	"github.com/recloser-go/recloser/gateway/internal/plain"
)

// timeline is the page of what was.
type timeline struct {
	Back     string
	Choices  []choice
	All      bool // lanes of those, too, that were closed all the time
	Lanes    laneChart
	Happened []happening
	Months   []monthly
}

type choice struct {
	Key, Word string
	length    time.Duration
	Here      bool
}

func backs() []choice {
	const day = 24 * time.Hour
	return []choice{
		{Key: "1h", Word: "1 hour", length: time.Hour},
		{Key: "6h", Word: "6 hours", length: 6 * time.Hour},
		{Key: "24h", Word: "24 hours", length: day},
		{Key: "7d", Word: "7 days", length: 7 * day},
		{Key: "30d", Word: "30 days", length: 30 * day},
	}
}

// monthly is how a dependency fared in a month.
type monthly struct {
	admin.Dependency
	Month string // 2027-01
	fared
}

func (p *Panel) timeline(ctx context.Context, v *view, r *http.Request) error {
	t := timeline{Choices: backs(), All: r.URL.Query().Get("all") != ""}
	begin, err := historyBegins(ctx, v.read)
	if err != nil {
		return err
	}
	chosen := chosenOf(t.Choices, r.URL.Query().Get("back"), v.Now.Sub(begin))
	t.Choices[chosen].Here = true
	t.Back = t.Choices[chosen].Key
	from := v.Now.Add(-t.Choices[chosen].length)
	past, err := readPast(ctx, v.read, "", from, v.Now)
	if err != nil {
		return err
	}
	all := v.read.Dependencies(ctx)
	t.Lanes = newLaneChart(past, all, from, v.Now, !t.All)
	t.Happened = happened(past, 100)
	if t.Months, err = months(ctx, v.read, all, v.Now); err != nil {
		return err
	}
	v.Page, v.Title, v.Renew, v.Of = "timeline", "Timeline", 120, t
	return nil
}

// chosenOf is the choice with that key, or else the shortest that shows all that is
// known, of those up to a day.
func chosenOf(choices []choice, key string, known time.Duration) int {
	if i := slices.IndexFunc(choices, func(c choice) bool { return c.Key == key }); i >= 0 {
		return i
	}
	const longest = 2
	return slices.IndexFunc(choices, func(c choice) bool { return c.length >= min(known, choices[longest].length) })
}

// months returns how each dependency fared in this month and the one before.
func months(ctx context.Context, read *admin.Reader, dependencies []admin.Dependency, now time.Time) (all []monthly, err error) {
	this := time.Date(now.UTC().Year(), now.UTC().Month(), 1, 0, 0, 0, 0, time.UTC)
	last := this.AddDate(0, -1, 0)
	past, err := readPast(ctx, read, "", last, now)
	if err != nil {
		return nil, err
	}
	for _, d := range dependencies {
		for _, begin := range []time.Time{this, last} {
			f := past.fared(&d, begin, earlier(begin.AddDate(0, 1, 0), now))
			if f.Known > 0 || begin.Equal(this) {
				all = append(all, monthly{d, begin.Format("2006-01"), f})
			}
		}
	}
	return all, nil
}

func (p *Panel) timelineCSV(w http.ResponseWriter, r *http.Request, read *admin.Reader) {
	all, err := months(r.Context(), read, read.Dependencies(r.Context()), p.Now())
	if err != nil {
		p.Log.ErrorContext(r.Context(), "timeline.csv not made", "error", err)
		http.Error(w, "the history could not be read; the gateway's log says why", http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "text/csv; charset=utf-8")
	w.Header().Set("Content-Disposition", `attachment; filename="recloser-months.csv"`)
	out := csv.NewWriter(w)
	_ = out.Write([]string{
		"dependency", "name", "group", "month", "availability", "known_seconds", "cut_off_seconds", "by_hand_seconds",
		"trips", "recovery_median_seconds", "recovery_worst_seconds", "open_for_seconds", "max_open_for_seconds", "would_be_cut_off_seconds",
	})
	seconds := func(d time.Duration) string { return strconv.FormatFloat(d.Seconds(), 'f', 1, 64) }
	for _, m := range all {
		availability := ""
		if m.Known > 0 {
			availability = strconv.FormatFloat(m.Share(), 'f', 6, 64)
		}
		_ = out.Write([]string{
			inCell(m.ID), inCell(m.Name), inCell(m.Group), m.Month, availability, seconds(m.Known), seconds(m.CutOff), seconds(m.ByHand),
			strconv.Itoa(m.Trips), seconds(m.Median), seconds(m.Worst),
			seconds(time.Duration(m.Limits.OpenForMS) * time.Millisecond), seconds(time.Duration(m.Limits.MaxOpenForMS) * time.Millisecond), seconds(m.WouldBe),
		})
	}
	out.Flush() // an error is the client's, who is gone
}

// inCell keeps a spreadsheet from taking a name for a formula.
func inCell(text string) string {
	if text = plain.Line(text); text != "" && strings.ContainsRune("=+-@", rune(text[0])) {
		return "'" + text
	}
	return text
}

// Availability is the share of time in which calls passed, for people.
func (f fared) Availability() string {
	if f.Known <= 0 {
		return "–"
	}
	p := f.Share() * 100
	if p > 99.99 && p < 100 {
		return "> 99.99 %"
	}
	return fmt.Sprintf("%.2f %%", p)
}

// Long writes one of its times; "–" for none.
func (f fared) Long(d time.Duration) string {
	if d <= 0 {
		return "–"
	}
	return span(d)
}
