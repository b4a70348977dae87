package admin

import (
	"context"
	"net/http"
	"slices"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/recloser-go/recloser/gateway/internal/auth"
	"github.com/recloser-go/recloser/gateway/internal/history"
)

// Event is something that happened.
type Event struct {
	ID         int64     `json:"id" doc:"Increases, not without gaps"`
	At         time.Time `json:"at"`
	Dependency string    `json:"dependency,omitempty" doc:"Its ID, if it is about one"`
	Key        string    `json:"key,omitempty" doc:"Of a dependency with breakers by key: the key that from and to are of; absent: they are of the dependency's own"`
	Kind       string    `json:"kind" enum:"transition,probe,act,gateway,maintenance"`
	From       string    `json:"from,omitempty" doc:"State before"`
	To         string    `json:"to,omitempty" doc:"State after"`
	Reason     string    `json:"reason,omitempty" doc:"In the words of the metrics"`
	By         string    `json:"by,omitempty" doc:"Who, of an operator's act"`
	Note       string    `json:"note,omitempty" doc:"Why, in the operator's words"`
	Cause      string    `json:"cause,omitempty" doc:"The last failure seen"`
	OpenForMS  int64     `json:"open_for_ms,omitempty" doc:"Length of the open time that begins"`
	Step       int       `json:"step,omitempty" doc:"How often the open time has been doubled"`
	Good       uint64    `json:"good,omitempty" doc:"Calls that the decision rests on"`
	Failed     uint64    `json:"failed,omitempty"`
	Slow       uint64    `json:"slow,omitempty"`
	Run        int       `json:"run,omitempty" doc:"Length of the row of bad calls"`
	Shadow     bool      `json:"shadow,omitempty" doc:"Calls passed all the same (breaker.shadow); what operators set counts all the same"`
	Text       string    `json:"text" doc:"All of it in a line"`
}

func newEvent(e history.Event) Event {
	return Event{
		ID: e.ID, At: stamp(e.At), Dependency: e.Dependency, Key: e.Key, Kind: e.Kind, From: e.From, To: e.To, Reason: e.Reason, By: e.By, Note: e.Note,
		Cause: cut(e.Cause, maxCause), OpenForMS: e.OpenFor.Milliseconds(), Step: e.Step,
		Good: e.Good, Failed: e.Failed, Slow: e.Slow, Run: e.Run, Shadow: e.Shadow, Text: e.Text,
	}
}

// EventList is a page of events.
type EventList struct {
	Events []Event `json:"events" nullable:"false" doc:"Newest first; with after oldest first"`
	Next   int64   `json:"next" doc:"For the next page, as before or as after, whichever the order goes by; 0: there is none"`
}

// Act is what somebody did.
type Act struct {
	ID     int64      `json:"id"`
	At     time.Time  `json:"at"`
	Name   string     `json:"name" doc:"What"`
	Target string     `json:"target,omitempty" doc:"On what"`
	By     string     `json:"by" doc:"Who"`
	Role   string     `json:"role,omitempty"`
	From   string     `json:"from,omitempty" doc:"Address that it came from"`
	Reason string     `json:"reason,omitempty" doc:"Why"`
	Until  *time.Time `json:"until,omitempty" doc:"Until when"`
	Result string     `json:"result,omitempty" doc:"done, or why not"`
	Of     []string   `json:"dependencies,omitempty" doc:"IDs, if it is on more than one dependency"`
}

func newAct(e history.Act) Act {
	return Act{
		ID: e.ID, At: stamp(e.At), Name: e.Name, Target: e.Target, By: e.By, Role: e.Role, From: e.From,
		Reason: e.Reason, Until: stampOrNull(e.Until), Result: e.Result, Of: actedOn(e),
	}
}

// ActList is a page of acts.
type ActList struct {
	Acts []Act `json:"acts" nullable:"false" doc:"Newest first; with after oldest first"`
	Next int64 `json:"next" doc:"For the next page, as before or as after, whichever the order goes by; 0: there is none"`
}

// Page says which part of the past.
type Page struct {
	Since  time.Time `query:"since" doc:"Not before"`
	Until  time.Time `query:"until" doc:"Before"`
	After  int64     `query:"after" minimum:"0" doc:"Those with a greater ID, oldest first"`
	Before int64     `query:"before" minimum:"0" doc:"Those with a smaller ID"`
	Limit  int       `query:"limit" minimum:"1" maximum:"1000" default:"100" doc:"How many at most"`
}

type eventsInput struct {
	Dependency string `query:"dependency" doc:"Only those of this dependency"`
	Kind       string `query:"kind" enum:"transition,probe,act,gateway,maintenance" doc:"Only those of this kind"`
	Page
}

type auditInput struct {
	Target string `query:"target" doc:"Only those on this: a dependency's ID, a token's, a maintenance's"`
	By     string `query:"by" doc:"Only those of this person or token"`
	Name   string `query:"name" doc:"Only those of this name"`
	Page
}

type (
	eventsOutput struct{ Body EventList }
	auditOutput  struct{ Body ActList }
)

func (a *api) registerHistory() {
	register(a, operation{
		Operation: huma.Operation{
			OperationID: "list-events", Method: http.MethodGet, Path: "/api/v1/events",
			Summary:     "What happened",
			Description: "Changes of state, what probes said, acts, maintenance, and what the gateway did. To be told as it happens, see /api/v1/stream.",
			Errors:      []int{http.StatusUnprocessableEntity},
		},
		role: auth.Viewer,
		answer: EventList{Next: 0, Events: []Event{{
			ID: 41, At: exampleTime, Dependency: "hotel-1", Kind: history.KindTransition, From: "closed", To: "open",
			Reason: "run", Cause: "connection refused", OpenForMS: 5000, Failed: 5, Run: 5, Text: "hotel-1: closed -> open (run): 5 bad calls in a row",
		}}},
	}, a.events)
	register(a, operation{
		Operation: huma.Operation{
			OperationID: "list-acts", Method: http.MethodGet, Path: "/api/v1/audit",
			Summary:     "Who did what",
			Description: "Every act, with who, why, until when and from where.",
			Errors:      []int{http.StatusUnprocessableEntity},
		},
		role: auth.Viewer,
		answer: ActList{Acts: []Act{{
			ID: 12, At: exampleTime, Name: "override isolated", Target: "hotel-1", By: "ines (cms)", Role: "operator", From: "10.0.0.7",
			Reason: "their database moves", Until: new(exampleTime.Add(90 * time.Minute)), Result: "done",
		}}},
	}, a.audit)
}

func (a *api) events(ctx context.Context, in *eventsInput) (*eventsOutput, error) {
	if a.History == nil {
		return nil, absent("history")
	}
	visible := a.visible(ctx)
	all, next, err := paged(in.Page, func(p Page) ([]history.Event, error) {
		return a.History.Events(ctx, history.EventQuery{
			Dependency: in.Dependency, Kind: in.Kind, Since: p.Since, Until: p.Until, After: p.After, Before: p.Before, Limit: p.Limit,
		})
	}, func(e history.Event) int64 { return e.ID }, func(e history.Event) bool { return visible(e.Dependency) })
	if err != nil {
		return nil, a.unread(ctx, err)
	}
	out := &eventsOutput{EventList{Events: []Event{}, Next: next}}
	for _, e := range all {
		out.Body.Events = append(out.Body.Events, newEvent(e))
	}
	return out, nil
}

func (a *api) audit(ctx context.Context, in *auditInput) (*auditOutput, error) {
	if a.History == nil {
		return nil, absent("history")
	}
	visible := a.visible(ctx)
	all, next, err := paged(in.Page, func(p Page) ([]history.Act, error) {
		return a.History.Acts(ctx, history.ActQuery{
			Target: in.Target, By: in.By, Name: in.Name, Since: p.Since, Until: p.Until, After: p.After, Before: p.Before, Limit: p.Limit,
		})
	}, func(e history.Act) int64 { return e.ID }, func(e history.Act) bool {
		if of := actedOn(e); len(of) > 0 {
			return !slices.ContainsFunc(of, func(id string) bool { return !visible(id) })
		}
		return visible(e.Target)
	})
	if err != nil {
		return nil, a.unread(ctx, err)
	}
	out := &auditOutput{ActList{Acts: []Act{}, Next: next}}
	for _, e := range all {
		out.Body.Acts = append(out.Body.Acts, newAct(e))
	}
	return out, nil
}

// visible returns whether what is about a dependency is the caller's business.
// What is about none is, unless he sees one group only.
func (a *api) visible(ctx context.Context) func(id string) bool {
	c := auth.From(ctx)
	return func(id string) bool { return c.Group == "" || a.sees(ctx, id) }
}

// paged reads what is the caller's business, as much as was asked for. He who sees
// one group only may get less than that although there is more: only so much is
// looked through at once.
func paged[T any](in Page, read func(Page) ([]T, error), id func(T) int64, visible func(T) bool) (all []T, next int64, err error) {
	const rounds = 10
	want := in.Limit
	for range rounds {
		batch, err := read(in)
		if err != nil {
			return nil, 0, err
		}
		for _, e := range batch {
			if next = id(e); visible(e) {
				all = append(all, e)
			}
			if len(all) == want {
				return all, next, nil
			}
		}
		if len(batch) < in.Limit {
			return all, 0, nil
		}
		if in.After > 0 {
			in.After = next
		} else {
			in.Before = next
		}
		in.Limit = 1000
	}
	return all, next, nil
}
