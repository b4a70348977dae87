package channel

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/recloser-go/recloser"
	"github.com/recloser-go/recloser/fleet"
	"github.com/recloser-go/recloser/gateway/internal/message"
)

var update = flag.Bool("update", false, "write the golden files anew")

var start = time.Date(2026, 11, 29, 20, 7, 22, 0, time.UTC)

// goldenMessages are one of every kind, and some about many: those that were looked at
// as they are shown.
func goldenMessages() map[string]message.Message {
	limits := message.LimitsOf(recloser.Config{SlowCall: 2 * time.Second})
	trip := message.WhyOf(recloser.Transition{
		Name: "hotel-3", From: recloser.Closed, To: recloser.Open, At: start, Reason: recloser.ReasonRun,
		Counts: recloser.Counts{Good: 36, Failed: 0, Slow: 5, Run: 5}, OpenFor: 5 * time.Second, Cause: errors.New(ugly),
	})
	trip.Limits = limits
	rate := message.WhyOf(recloser.Transition{
		Name: "hotel-3", From: recloser.Closed, To: recloser.Open, At: start, Reason: recloser.ReasonRate,
		Counts: recloser.Counts{Good: 9, Failed: 30, Slow: 2, Run: 4}, OpenFor: 5 * time.Second,
		Cause: errors.New(`Get "https://hotel-3.example/guests/17": dial tcp 192.0.2.3:443: connect: connection refused`),
	})
	rate.Limits = limits
	back := message.WhyOf(recloser.Transition{From: recloser.HalfOpen, To: recloser.Closed, At: start.Add(760 * time.Second), Reason: recloser.ReasonTrialsGood})
	isolate := message.WhyOf(recloser.Transition{
		From: recloser.Closed, To: recloser.Isolated, At: start, Reason: recloser.ReasonIsolated, By: "ann@example.com", Note: "new boiler until *noon*",
	})
	hold := isolate
	hold.To, hold.Reason, hold.Note = recloser.HeldClosed, recloser.ReasonHeldClosed, "their health check lies"
	release := message.WhyOf(recloser.Transition{From: recloser.Isolated, To: recloser.HalfOpen, At: start.Add(time.Hour), Reason: recloser.ReasonReleased, By: "bob", Note: "done early"})

	agreed := message.WhyOf(recloser.Transition{
		From: recloser.Closed, To: recloser.Open, At: start, Reason: recloser.ReasonFleet, Note: "5 of 12 calls bad", Cause: errors.New("connection refused"),
	})

	of := func(k message.Kind, items ...message.Item) message.Message {
		return message.Message{ID: string(k), Kind: k, At: start, Items: items, Of: 12, Panel: "https://recloser.example"}
	}
	with := func(i message.Item, change func(*message.Item)) message.Item {
		change(&i)
		return i
	}
	cutOff := message.Item{
		Key: "hotel-3@1", Dependency: "hotel-3", Name: "Aurora_Central_", Group: "coast", State: recloser.Open,
		Since: start, Trips: 1, Why: trip, Next: start.Add(5 * time.Second),
	}
	plain := with(cutOff, func(i *message.Item) {
		i.Name, i.Why, i.LastKnown = "Aurora Central", rate, 15*time.Minute
	})
	ofAll := with(plain, func(i *message.Item) { i.Why, i.Seen, i.LastKnown = agreed, fleet.Seen{By: 2, Of: 3}, 0 })
	ofOne := with(plain, func(i *message.Item) { i.Seen = fleet.Seen{By: 1, Of: 3, Who: "gate-*1*", Own: true} })
	over := with(plain, func(i *message.Item) {
		i.State, i.Over, i.Now, i.Spared, i.Trips = recloser.Closed, start.Add(760*time.Second), back, 701, 3
	})
	isolated := with(plain, func(i *message.Item) {
		i.Key, i.State, i.Why, i.Until, i.Next = "hotel-3@1-by-hand", recloser.Isolated, isolate, start.Add(time.Hour), time.Time{}
	})
	held := with(isolated, func(i *message.Item) { i.State, i.Why = recloser.HeldClosed, hold })

	together, many := of(message.Started), of(message.Started)
	for i := range 7 {
		together.Items = append(together.Items, with(cutOff, func(item *message.Item) {
			item.Dependency, item.Since = fmt.Sprint("hotel-", i+1), start.Add(time.Duration(i)*time.Second)
			item.Next = item.Since.Add(5 * time.Second)
			item.Name = []string{"Aurora", ugly, "Dom", "<script>", "😀", "\u202eevil", "Beach"}[i]
		}))
	}
	together.Us = true
	for i := range 60 {
		many.Items = append(many.Items, with(plain, func(item *message.Item) { item.Dependency, item.Name = fmt.Sprint("h", i), fmt.Sprint("Hotel ", i) }))
	}
	many.Of = 200
	backTogether := of(message.Ended)
	for i := range 3 {
		backTogether.Items = append(backTogether.Items, with(over, func(item *message.Item) { item.Dependency, item.Name = fmt.Sprint("h", i), fmt.Sprint("Hotel ", i) }))
	}
	everywhere := of(message.Started, ofOne, ofAll)
	everywhere.Us, everywhere.Nodes = true, 3
	return map[string]message.Message{
		"started":           of(message.Started, cutOff),
		"started-last-know": of(message.Started, plain),
		"started-and-back":  of(message.Started, with(plain, func(i *message.Item) { i.State, i.Next = recloser.Closed, time.Time{} })),
		"started-of-fleet":  of(message.Started, ofAll),
		"started-of-node":   of(message.Started, ofOne),
		"ended-of-fleet":    of(message.Ended, with(over, func(i *message.Item) { i.Why, i.Seen = agreed, fleet.Seen{By: 2, Of: 3} })),
		"everywhere":        everywhere,
		"together":          together,
		"together-of-60":    many,
		"ended":             of(message.Ended, over),
		"ended-together":    backTogether,
		"reminder":          of(message.Reminder, with(plain, func(i *message.Item) { i.Spared = 48211; i.Next = start.Add(time.Hour + 12*time.Second) })),
		"flapping":          of(message.Flapping, with(plain, func(i *message.Item) { i.Trips = 4; i.State = recloser.HalfOpen; i.Next = time.Time{} })),
		"calm":              of(message.Calm, message.Item{Key: "hotel-3-flapping", Dependency: "hotel-3", Name: "Aurora Central", Group: "coast", Over: start}),
		"isolated":          of(message.Isolated, isolated),
		"held":              of(message.Held, held),
		"released":          of(message.Released, with(isolated, func(i *message.Item) { i.State, i.Over, i.Now = recloser.HalfOpen, release.At, release })),
		"ending":            of(message.Ending, isolated),
		"endless":           of(message.Endless, with(isolated, func(i *message.Item) { i.Until = time.Time{} })),
		"removed":           of(message.Removed, with(plain, func(i *message.Item) { i.Over, i.Spared = start.Add(time.Hour), 12 })),
		"test":              {ID: "test", Kind: message.Test, At: start, By: "ann", Panel: "https://recloser.example"},
	}
}

// forms are what each channel makes of a message.
var forms = map[string]func(message.Message) ([]byte, error){
	"teams":   Card,
	"slack":   Blocks,
	"webhook": Event,
	"alertmanager": func(m message.Message) ([]byte, error) {
		return json.Marshal(alertsOf(m, start.Add(time.Minute)))
	},
	"shoutrrr": func(m message.Message) ([]byte, error) { return json.Marshal([]string{m.Title(), m.String()}) },
}

// What each channel makes of each message is as it was when it was looked at.
func TestGolden(t *testing.T) {
	zone := time.Local
	t.Cleanup(func() { time.Local = zone })
	time.Local = time.FixedZone("CET", 3600) // of the process, in plain text
	for form, write := range forms {
		t.Run(form, func(t *testing.T) {
			file := filepath.Join("testdata", form+".json")
			got := map[string]json.RawMessage{}
			for name, m := range goldenMessages() {
				raw, err := write(m)
				must(t, err)
				got[name] = raw
			}
			if *update {
				var text bytes.Buffer
				to := json.NewEncoder(&text)
				to.SetEscapeHTML(false)
				to.SetIndent("", "  ")
				must(t, to.Encode(got))
				must(t, os.WriteFile(file, text.Bytes(), 0o644))
			}
			text, err := os.ReadFile(file)
			must(t, err)
			want := map[string]json.RawMessage{}
			must(t, json.Unmarshal(text, &want))
			if names := slices.Sorted(maps.Keys(got)); !slices.Equal(names, slices.Sorted(maps.Keys(want))) {
				t.Errorf("%s is not about %q: look at them, then run with -update", file, names)
			}
			for name := range got {
				if g, w := indented(t, got[name]), indented(t, want[name]); g != w {
					t.Errorf("%s of %s differs from %s (look at it, then run with -update):\n%s", name, form, file, g)
				}
			}
		})
	}
}

func indented(t *testing.T, raw json.RawMessage) string {
	t.Helper()
	var v any
	must(t, json.Unmarshal(raw, &v))
	text, err := json.MarshalIndent(v, "", "  ")
	must(t, err)
	return string(text)
}

func TestGoldenMessagesAreOfEveryKind(t *testing.T) {
	kinds := message.Kinds()
	for _, m := range goldenMessages() {
		kinds = slices.DeleteFunc(kinds, func(k message.Kind) bool { return k == m.Kind })
	}
	if len(kinds) > 0 {
		t.Errorf("no golden message of %q", kinds)
	}
}
