package panel

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/recloser-go/recloser/gateway/internal/admin"
	"github.com/recloser-go/recloser/gateway/internal/plain"
)

// alerts is the page of what people are told, and whether it arrived.
type alerts struct {
	Says      string // how the channels are, in a sentence
	Quiet     string // where there is no incident
	Incidents []admin.Incident
	Channels  []reach
	Sent      []sent
	Asked     admin.DeliveriesQuery // which of them
	Results   []outcome             // to choose from
	Older     string                // address of the next page; "": there is none
}

// reach is a channel in words.
type reach struct {
	admin.Channel
	O     outcome // of the last message that it was tried with
	Told  string  // of what
	Last  *sent   // the latest message to it
	Fault string  // why it did not take the last one; "": it did
}

// sent is a message to a channel, and what became of it.
type sent struct {
	admin.Delivery
	O outcome
}

// outcome is how it went, shown by a mark, a word and a colour.
type outcome struct{ Key, Result, Word, Means string }

func outcomes() []outcome {
	return []outcome{
		{"waiting", "waiting", "waiting", "not sent yet, or not taken yet and tried again"},
		{"accepted", "accepted", "accepted", "the other side took it; whether it shows it is not told"},
		{"passed-on", "merged", "merged", "it went out as a part of another message"},
		{"passed-on", "overtaken", "overtaken", "something newer made it stale before it was sent"},
		{"passed-on", "handed over", "handed over", "the channel did not take it, so its fallback got it"},
		{"failed", "refused", "refused", "the channel will never take it"},
		{"failed", "given up", "given up", "not taken for a day, or the channel is gone"},
	}
}

func newSent(d admin.Delivery) sent {
	s := sent{Delivery: d, O: outcome{Key: "waiting", Word: d.Result}}
	for _, o := range outcomes() {
		if o.Result == d.Result {
			s.O = o
		}
	}
	return s
}

// Names are the IDs of dependencies that the title does not name, the first of them.
func (s sent) Names() []string {
	if len(s.Dependencies) < 2 {
		return nil
	}
	return s.Dependencies[:min(mostNames, len(s.Dependencies))]
}

// More is how many there are besides.
func (s sent) More() int { return max(0, len(s.Dependencies)-mostNames) }

const (
	mostSent  = 100 // messages on a page
	mostNames = 12  // IDs of a message
)

func (p *Panel) alerts(ctx context.Context, v *view, r *http.Request) error {
	q := r.URL.Query()
	page := alerts{
		Results: outcomes(),
		Asked: admin.DeliveriesQuery{
			Channel: q.Get("channel"), Dependency: strings.TrimSpace(q.Get("dependency")), Result: q.Get("result"), Before: q.Get("before"), Limit: mostSent,
		},
	}
	channels, err := v.read.Channels(ctx)
	if err != nil {
		return err
	}
	for _, c := range channels {
		is, err := newReach(ctx, v.read, c, channels)
		if err != nil {
			return err
		}
		page.Channels = append(page.Channels, is)
	}
	page.Says, page.Quiet = sayChannels(page.Channels), sayQuiet(v.read.Dependencies(ctx), v.Away)
	if page.Incidents, err = v.read.Incidents(ctx); err != nil {
		return err
	}
	list, err := v.read.Deliveries(ctx, page.Asked)
	if err != nil {
		return err
	}
	for _, d := range list.Deliveries {
		page.Sent = append(page.Sent, newSent(d))
	}
	if list.Next != "" {
		page.Older = "/alerts?" + url.Values{
			"channel": {page.Asked.Channel}, "dependency": {page.Asked.Dependency}, "result": {page.Asked.Result}, "before": {list.Next},
		}.Encode()
	}
	v.Page, v.Title, v.Renew, v.Of = "alerts", page.Says, 5, page
	return nil
}

func newReach(ctx context.Context, read *admin.Reader, c admin.Channel, all []admin.Channel) (reach, error) {
	is := reach{Channel: c, Told: toldAbout(c, all), O: outcome{Key: "waiting", Word: "Not tried yet"}}
	if c.Last != nil {
		last := newSent(*c.Last)
		is.Last = &last
	}
	list, err := read.Deliveries(ctx, admin.DeliveriesQuery{Channel: c.Name, Limit: mostSent})
	if err != nil {
		return reach{}, err
	}
	tried := func(d admin.Delivery) bool { return d.Tries > 0 }
	if i := slices.IndexFunc(list.Deliveries, tried); i >= 0 {
		d := list.Deliveries[i]
		is.O = outcome{Key: "accepted", Word: "Accepts messages"}
		if d.Result != "accepted" {
			is.O, is.Fault = outcome{Key: "failed", Word: "Does not accept"}, plain.Line(d.Fault)
		}
	}
	return is, nil
}

// toldAbout says which dependencies a channel is told about.
func toldAbout(c admin.Channel, all []admin.Channel) string {
	switch {
	case c.All:
		return "all dependencies"
	case len(c.Groups) == 1:
		return "group " + plain.Line(c.Groups[0])
	case len(c.Groups) > 1:
		return "groups " + plain.Line(strings.Join(c.Groups, ", "))
	}
	var of []string
	for _, other := range all {
		if other.Fallback == c.Name {
			of = append(of, plain.Line(other.Name))
		}
	}
	return "only what " + strings.Join(of, " or ") + " does not take"
}

// sayChannels says in a sentence whether people are reached.
func sayChannels(all []reach) string {
	count := make(map[string]int)
	for _, c := range all {
		count[c.O.Key]++
	}
	channels := countOf(len(all), "channel", "channels")
	switch failing, untried := count["failed"], count["waiting"]; {
	case len(all) == 0:
		return "Nobody is told: there is no channel"
	case failing > 0:
		return fmt.Sprintf("%d of %s %s not accept messages", failing, channels, doesOrDo(failing))
	case untried > 0:
		return fmt.Sprintf("%d of %s %s not been tried yet", untried, channels, hasOrHave(untried))
	case len(all) == 1:
		return "The channel accepts messages"
	}
	return "All " + channels + " accept messages"
}

// sayQuiet says how things are where there is no incident.
func sayQuiet(all []admin.Dependency, away bool) string {
	byRules, byHand, planned := 0, 0, 0
	for _, d := range all {
		switch d.State {
		case open, halfOpen:
			if !d.Shadow {
				byRules++
			}
		case isolated:
			byHand++
		case inMaintenance:
			planned++
		}
	}
	var said []string
	add := func(n int, how string) {
		if n > 0 {
			said = append(said, fmt.Sprintf("%d %s cut off %s", n, isOrAre(n), how))
		}
	}
	add(byRules, "by the rules")
	add(byHand, "by hand")
	add(planned, "as planned")
	switch {
	case len(said) > 0:
		return "No incident: " + strings.Join(said, ", ") + "."
	case away:
		return "No dependency is cut off on this node."
	}
	return "No dependency is cut off. Nobody needs to be told."
}
