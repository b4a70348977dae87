package admin

import (
	"context"
	"fmt"
	"math"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/recloser-go/recloser/gateway/internal/auth"
	"github.com/recloser-go/recloser/gateway/internal/config"
	"github.com/recloser-go/recloser/gateway/internal/incident"
	"github.com/recloser-go/recloser/gateway/internal/outbox"
	"github.com/recloser-go/recloser/gateway/internal/plain"
)

// Channel is a way to reach people. Its URL is told to nobody.
type Channel struct {
	Name     string    `json:"name"`
	Kind     string    `json:"kind" enum:"teams,slack,webhook,alertmanager,shoutrrr"`
	URL      string    `json:"url" doc:"Always ***: whoever knows it can post"`
	Groups   []string  `json:"groups" nullable:"false" doc:"Of dependencies that it is told about"`
	All      bool      `json:"all" doc:"It is told about all of them"`
	Fallback string    `json:"fallback" doc:"Channel that gets what this one does not take; empty: none"`
	Waiting  int       `json:"waiting" doc:"Messages that are not sent yet"`
	Last     *Delivery `json:"last" doc:"The latest message to it; null: none is known"`
}

// Delivery is one message to one channel.
type Delivery struct {
	_            struct{}   `nullable:"true"`
	ID           string     `json:"id"`
	At           time.Time  `json:"at" doc:"When it was due"`
	Channel      string     `json:"channel"`
	Kind         string     `json:"kind" enum:"started,ended,reminder,flapping,calm,isolated,held,released,ending,endless,removed,test"`
	Title        string     `json:"title"`
	Dependencies []string   `json:"dependencies" nullable:"false" doc:"IDs of those that it is about"`
	Result       string     `json:"result" enum:"waiting,accepted,merged,overtaken,handed over,refused,given up" doc:"accepted: the other side took it; whether it shows it is not told. overtaken: something newer made it stale. handed over: the fallback got it"`
	Tries        int        `json:"tries"`
	Fault        string     `json:"fault" doc:"Why the last try failed; empty if it did not"`
	Done         *time.Time `json:"done" doc:"When it was accepted or given up; null: it waits"`
	Next         *time.Time `json:"next" doc:"When it is tried again; null: it is done, or was not tried yet"`
}

func newDelivery(d outbox.Delivery) Delivery {
	v := Delivery{
		ID: d.ID, At: stamp(d.At), Channel: d.Channel, Kind: string(d.Kind), Title: d.Title, Dependencies: []string{},
		Result: string(d.Result), Tries: d.Tries, Fault: cut(d.Why, maxCause), Done: stampOrNull(d.Done),
		Next: stampOrNull(d.Next),
	}
	v.Dependencies = append(v.Dependencies, d.Dependencies...)
	return v
}

// Incident lasts from the first trip of a dependency until it has stayed closed for
// a while.
type Incident struct {
	Dependency string     `json:"dependency" doc:"Its ID"`
	Name       string     `json:"name" doc:"For people"`
	Group      string     `json:"group"`
	State      string     `json:"state" enum:"closed,open,half-open,isolated,held-closed" doc:"As state of the dependency"`
	Shadow     bool       `json:"shadow" doc:"As shadow of the dependency"`
	Since      time.Time  `json:"since" doc:"The first trip"`
	Trips      int        `json:"trips"`
	Spared     uint64     `json:"spared" doc:"Calls refused meanwhile"`
	Why        string     `json:"why" doc:"Of the first trip, in the words of messages"`
	Told       bool       `json:"told" doc:"There was a message about it"`
	Flapping   bool       `json:"flapping" doc:"One of too many: there is no message about each"`
	Closed     *time.Time `json:"closed" doc:"Since when calls pass again: it is over once they have for a while; null: they do not"`
}

func newIncident(i incident.Running) Incident {
	return Incident{
		Dependency: i.Dependency, Name: i.Name, Group: i.Group, State: i.State.String(), Shadow: i.Shadow, Since: stamp(i.Since), Trips: i.Trips,
		Spared: i.Spared, Why: i.Why.InWords(), Told: i.Told, Flapping: i.Flapping, Closed: stampOrNull(i.Over),
	}
}

// IncidentList is all that are not over.
type IncidentList struct {
	Incidents []Incident `json:"incidents" nullable:"false"`
}

// ChannelList is all channels.
type ChannelList struct {
	Channels []Channel `json:"channels" nullable:"false"`
}

// DeliveryList is a page of deliveries.
type DeliveryList struct {
	Deliveries []Delivery `json:"deliveries" nullable:"false" doc:"Newest first"`
	Next       string     `json:"next" doc:"For the next page, as before; empty: there is none"`
}

// TestRequest sends a test.
type TestRequest struct {
	Channel string `json:"channel,omitempty" maxLength:"200" doc:"Name of one; default: all, fallbacks as well"`
	Reason  string `json:"reason,omitempty" maxLength:"500" doc:"Why"`
	By      string `json:"by,omitempty" maxLength:"100" doc:"Who; noted beside the token's name"`
}

type deliveriesInput struct {
	Channel    string `query:"channel" doc:"Only those to this channel"`
	Dependency string `query:"dependency" doc:"Only those about this dependency"`
	Result     string `query:"result" enum:"waiting,accepted,merged,overtaken,handed over,refused,given up" doc:"Only those of which this has become"`
	Before     string `query:"before" doc:"Those before this ID"`
	Limit      int    `query:"limit" minimum:"1" maximum:"1000" default:"100" doc:"How many at most"`
}

// wants reports whether a delivery is asked for.
func (in *deliveriesInput) wants(d outbox.Delivery) bool {
	return (in.Result == "" || in.Result == string(d.Result)) && (in.Dependency == "" || slices.Contains(d.Dependencies, in.Dependency))
}

type (
	incidentsOutput  struct{ Body IncidentList }
	channelsOutput   struct{ Body ChannelList }
	deliveriesOutput struct{ Body DeliveryList }
	testInput        struct{ Body *TestRequest }
)

func (a *api) registerAlerts() {
	delivery := Delivery{
		ID: "00068e1b4f1d2400", At: exampleTime, Channel: "operators", Kind: "started", Title: "Aurora Central is cut off",
		Dependencies: []string{"hotel-1"}, Result: "accepted", Tries: 1, Done: new(exampleTime.Add(time.Second)),
	}
	register(a, operation{
		Operation: huma.Operation{
			OperationID: "list-channels", Method: http.MethodGet, Path: "/api/v1/alerts/channels",
			Summary:     "Where messages go",
			Description: "In the order of the configuration.",
			Errors:      []int{http.StatusNotImplemented},
		},
		role: auth.Viewer, whole: true,
		answer: ChannelList{[]Channel{{Name: "operators", Kind: "teams", URL: "***", Groups: []string{}, All: true, Fallback: "mail", Last: &delivery}}},
	}, a.channels)
	register(a, operation{
		Operation: huma.Operation{
			OperationID: "list-deliveries", Method: http.MethodGet, Path: "/api/v1/alerts/deliveries",
			Summary:     "What became of messages",
			Description: "The last 1000, and all that wait.",
			Errors:      []int{http.StatusNotImplemented},
		},
		role: auth.Viewer, whole: true, answer: DeliveryList{Deliveries: []Delivery{delivery}},
	}, a.deliveries)
	register(a, operation{
		Operation: huma.Operation{
			OperationID: "list-incidents", Method: http.MethodGet, Path: "/api/v1/alerts/incidents",
			Summary:     "What is wrong now, as messages tell it",
			Description: "Incidents that are not over. What operators have set is none; neither is what a maintenance covers.",
			Errors:      []int{http.StatusNotImplemented},
		},
		role: auth.Viewer,
		answer: IncidentList{[]Incident{{
			Dependency: "hotel-1", Name: "Aurora Central", Group: "coast", State: "open", Since: exampleTime, Trips: 1, Spared: 120,
			Why: "5 bad calls in a row; of the last 12 calls: 7 good, 5 failed", Told: true,
		}}},
	}, a.incidents)
	tested := delivery
	tested.Kind, tested.Title, tested.Dependencies = "test", "A test of Recloser's alerts", []string{}
	register(a, operation{
		Operation: huma.Operation{
			OperationID: "test-alerts", Method: http.MethodPost, Path: "/api/v1/alerts/test",
			Summary:     "Send a test message",
			Description: "At once, past what waits. The answer says how it went, for each channel.",
			Errors:      []int{http.StatusNotFound, http.StatusNotImplemented},
		},
		role: auth.Operator, whole: true,
		request: TestRequest{Channel: "operators", By: "ines"}, answer: DeliveryList{Deliveries: []Delivery{tested}},
	}, a.testAlerts)
}

func (a *api) channels(context.Context, *struct{}) (*channelsOutput, error) {
	if a.Alerts == nil {
		return nil, absent("alerts")
	}
	out := &channelsOutput{ChannelList{Channels: []Channel{}}}
	all := config.Alerts{Channels: a.Alerts().Channels()}
	for _, c := range all.Channels {
		v := Channel{
			Name: c.Name, Kind: string(c.Kind), URL: c.URL.String(), Groups: []string{}, All: len(c.Groups) == 0 && !all.IsFallback(c.Name),
			Fallback: c.Fallback, Waiting: a.Alerts().Waits(c.Name),
		}
		v.Groups = append(v.Groups, c.Groups...)
		for _, d := range a.Alerts().Deliveries(c.Name, "", 1) {
			v.Last = new(newDelivery(d))
		}
		out.Body.Channels = append(out.Body.Channels, v)
	}
	return out, nil
}

func (a *api) deliveries(_ context.Context, in *deliveriesInput) (*deliveriesOutput, error) {
	if a.Alerts == nil {
		return nil, absent("alerts")
	}
	out := &deliveriesOutput{DeliveryList{Deliveries: []Delivery{}}}
	for _, d := range a.Alerts().Deliveries(in.Channel, in.Before, math.MaxInt) {
		if !in.wants(d) {
			continue
		}
		if n := len(out.Body.Deliveries); n == in.Limit {
			out.Body.Next = out.Body.Deliveries[n-1].ID
			break
		}
		out.Body.Deliveries = append(out.Body.Deliveries, newDelivery(d))
	}
	return out, nil
}

func (a *api) incidents(ctx context.Context, _ *struct{}) (*incidentsOutput, error) {
	if a.Alerts == nil {
		return nil, absent("alerts")
	}
	out := &incidentsOutput{IncidentList{Incidents: []Incident{}}}
	for _, i := range a.Alerts().Incidents() {
		if a.sees(ctx, i.Dependency) {
			out.Body.Incidents = append(out.Body.Incidents, newIncident(i))
		}
	}
	return out, nil
}

func (a *api) testAlerts(ctx context.Context, in *testInput) (*deliveriesOutput, error) {
	if a.Alerts == nil {
		return nil, absent("alerts")
	}
	var req TestRequest
	if in.Body != nil {
		req = *in.Body
	}
	w, err := whoActs(ctx, "body", req.By, req.Reason)
	if err != nil {
		return nil, err
	}
	var names []string
	for _, c := range a.Alerts().Channels() {
		if req.Channel == "" || c.Name == req.Channel {
			names = append(names, c.Name)
		}
	}
	if len(names) == 0 {
		missing := "no channel is configured: add one under alerts in the gateway's file"
		if req.Channel != "" {
			missing = fmt.Sprintf("there is no channel %q", req.Channel)
		}
		if r := a.node().Reload; r != nil && !r.Taken {
			missing += "\n" + plain.Refused(r.Fault) // it may be in there
		}
		return nil, huma.Error404NotFound(missing)
	}
	entry := a.entry("test alerts", req.Channel, w, time.Time{})
	if err := a.commit(ctx, entry); err != nil {
		return nil, err
	}
	// All at once: one that hangs must not make the others wait.
	results := make([]Delivery, len(names))
	var running sync.WaitGroup
	for i, name := range names {
		running.Go(func() { results[i] = newDelivery(a.Alerts().Test(ctx, name, w.by)) })
	}
	running.Wait()
	a.logAct(ctx, "target", entry)
	return &deliveriesOutput{DeliveryList{Deliveries: results}}, nil
}
