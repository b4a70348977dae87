package panel

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/recloser-go/recloser/gateway/internal/admin"
	"github.com/recloser-go/recloser/gateway/internal/config"
	"github.com/recloser-go/recloser/gateway/internal/plain"
)

// detail is the page of one dependency.
type detail struct {
	row
	Lanes    laneChart
	Happened []happening
	Rules    []rule
	Settings []config.Setting // with their origin; none for those who may not see them
	Lines    []commandLine
	Sent     []sent // messages about it
	ShowSent bool   // there are alerts, and the caller may see them
	MayNot   bool   // a link asked for an act, and the caller may not act
}

// rule is a setting in force, in words.
type rule struct{ Name, Is string }

// commandLine does what the page shows from a shell.
type commandLine struct{ Name, Line string }

func (p *Panel) detail(ctx context.Context, v *view, r *http.Request) error {
	d, err := v.read.Dependency(ctx, r.PathValue("id"))
	if err != nil {
		return err
	}
	from := v.Now.Add(-24 * time.Hour)
	past, err := readPast(ctx, v.read, d.ID, from, v.Now)
	if err != nil {
		return err
	}
	page := detail{
		row: newRow(ctx, v.read, d), Rules: rulesOf(&d), Lines: commandLines(&d, v.URL),
		Lanes: newLaneChart(past, []admin.Dependency{d}, from, v.Now, !onlyWithNews), Happened: happened(past, 20),
	}
	page.outage(ctx, v.read, outages(ctx, v.read))
	page.recall(ctx, v.read)
	page.MayNot = !v.Acts && r.URL.Query().Has("do")
	// Without alerts, or for one who sees one group only, there is nothing to show.
	if list, err := v.read.Deliveries(ctx, admin.DeliveriesQuery{Dependency: d.ID, Limit: 10}); err == nil {
		page.ShowSent = true
		for _, m := range list.Deliveries {
			page.Sent = append(page.Sent, newSent(m))
		}
	}
	prefix := "dependencies." + d.ID + "."
	for _, s := range v.read.Settings(ctx) {
		if name, ok := strings.CutPrefix(s.Path, prefix); ok {
			page.Settings = append(page.Settings, config.Setting{Path: name, Value: plain.Line(s.Value), Origin: plain.Line(s.Origin)})
		}
	}
	v.Page, v.Title, v.Renew, v.Of = "detail", fmt.Sprintf("%s: %s", d.ID, page.S.Effect), 10, page
	return nil
}

func rulesOf(d *admin.Dependency) []rule {
	ms := func(n int64) string { return plain.Span(time.Duration(n) * time.Millisecond) }
	rules := []rule{{"Window", fmt.Sprintf("%s, at least %d calls", ms(d.Limits.WindowMS), d.Window.MinCalls)}}
	var opens []string
	if f := d.Limits.FailureRate; f != nil {
		opens = append(opens, percent(*f)+" of calls bad")
	}
	if n := d.Limits.Consecutive; n != nil {
		opens = append(opens, fmt.Sprintf("%d bad in a row", *n))
	}
	if len(opens) == 0 {
		opens = []string{"never by itself"}
	}
	rules = append(rules, rule{"Cut off at", strings.Join(opens, ", or ")})
	if slow := d.Limits.SlowCallMS; slow != nil {
		rules = append(rules, rule{"Slow means", "over " + ms(*slow)})
	}
	if s := d.Limits.Suspect; s.ValueMS != nil {
		rules = append(rules, rule{"Unusually long means", fmt.Sprintf("over %s (%s)", plain.Span(time.Duration(*s.ValueMS*float64(time.Millisecond))), s.Origin)})
	}
	origin := "the configuration file"
	if d.Origin == "api" {
		origin = "the API, at run time"
	}
	return append(rules,
		rule{"Tried again after", fmt.Sprintf("%s, doubling to %s", ms(d.Limits.OpenForMS), ms(d.Limits.MaxOpenForMS))},
		rule{"Passes again after", fmt.Sprintf("%d good trials", d.Limits.Trials)},
		rule{"At once at most", atOnce(d.Bulkhead)},
		rule{"Calls go to", plain.Line(d.URL)},
		rule{"Defined in", origin},
	)
}

// atOnce says how many calls may run at once. One that is off has a limit that no
// machine reaches.
func atOnce(b admin.Bulkhead) string {
	const unreachable = 1_000_000
	if b.Limit > unreachable {
		return fmt.Sprintf("no limit; %d run now", b.InFlight)
	}
	return fmt.Sprintf("%d calls; %d run now", b.Limit, b.InFlight)
}

// commandLines are for a shell, whatever the ID holds.
func commandLines(d *admin.Dependency, base string) []commandLine {
	at := base + "/api/v1/dependencies/" + url.PathEscape(d.ID)
	id := quoted(d.ID)
	return []commandLine{
		{"Look", "recloser status " + id},
		{"Isolate", "recloser isolate " + id + " --for 1h --reason 'their database moves'"},
		{"Put back", "recloser release " + id + " --reason 'it is over'"},
		{"The same by the API", "curl " + quoted(at)},
		{"", "curl -X PUT " + quoted(at+"/override") + " -H 'Content-Type: application/json' -d '{\"mode\": \"isolated\", \"for\": \"1h\", \"reason\": \"their database moves\"}'"},
		{"", "curl -X DELETE " + quoted(at+"/override?reason=over")},
	}
}

// quoted writes a word for a POSIX shell.
func quoted(word string) string {
	const harmless = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.,/:%"
	if strings.Trim(word, harmless) == "" && word != "" && !strings.HasPrefix(word, "-") {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}
