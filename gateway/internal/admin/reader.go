package admin

import (
	"context"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/recloser-go/recloser/gateway/internal/auth"
	"github.com/recloser-go/recloser/gateway/internal/config"
)

// Reader answers in process what the API answers, by the very functions behind it:
// what a page shows and what a program reads cannot differ. Who may see what is as
// there, too: the caller is the one in the context. It is safe for concurrent use.
type Reader struct{ a *api }

// Dependencies are those of GET /api/v1/dependencies.
func (r *Reader) Dependencies(ctx context.Context) []Dependency {
	all := []Dependency{}
	for _, d := range r.a.seen(ctx) {
		all = append(all, r.a.view(d))
	}
	return all
}

// Dependency is that of GET /api/v1/dependencies/{id}. An error has the status of
// the answer there, see huma.StatusError.
func (r *Reader) Dependency(ctx context.Context, id string) (Dependency, error) {
	d, err := r.a.find(ctx, id)
	if err != nil {
		return Dependency{}, err
	}
	return r.a.view(d), nil
}

// Numbers are what the stream carries of a dependency, as they are now; those of
// one that is not there are zero.
func (r *Reader) Numbers(ctx context.Context, id string) Numbers {
	d, err := r.a.find(ctx, id)
	if err != nil {
		return Numbers{}
	}
	return r.a.numbersOf(ctx, d, time.Now())
}

// Spared is what the stream carries of all dependencies together, as it is now.
func (r *Reader) Spared(ctx context.Context) (all Spared) {
	for _, d := range r.a.seen(ctx) {
		all.add(sparedBy(d.Stats()))
	}
	return all
}

// Points are those of GET /api/v1/dependencies/{id}/series; step is "" or as there.
func (r *Reader) Points(ctx context.Context, id string, from, to time.Time, step string) ([]Point, error) {
	out, err := r.a.seriesOf(ctx, &seriesInput{ID: id, From: from, To: to, Step: step})
	if err != nil {
		return nil, err
	}
	return out.Body.Points, nil
}

// EventsQuery says which events.
type EventsQuery struct {
	Dependency, Kind string // "": all
	Page
}

// Events are those of GET /api/v1/events.
func (r *Reader) Events(ctx context.Context, q EventsQuery) (EventList, error) {
	out, err := r.a.events(ctx, &eventsInput{Dependency: q.Dependency, Kind: q.Kind, Page: q.Page})
	if err != nil {
		return EventList{}, err
	}
	return out.Body, nil
}

// ActsQuery says which acts.
type ActsQuery struct {
	Target, By, Name string // "": all
	Page
}

// Acts are those of GET /api/v1/audit.
func (r *Reader) Acts(ctx context.Context, q ActsQuery) (ActList, error) {
	out, err := r.a.audit(ctx, &auditInput{Target: q.Target, By: q.By, Name: q.Name, Page: q.Page})
	if err != nil {
		return ActList{}, err
	}
	return out.Body, nil
}

// Maintenance is that of GET /api/v1/maintenance.
func (r *Reader) Maintenance(ctx context.Context) ([]Maintenance, error) {
	out, err := r.a.listMaintenance(ctx, nil)
	if err != nil {
		return nil, err
	}
	return out.Body.Maintenance, nil
}

// Fleet is that of GET /api/v1/nodes.
func (r *Reader) Fleet() *Fleet { return r.a.fleetSeen() }

// Incidents are those of GET /api/v1/alerts/incidents.
func (r *Reader) Incidents(ctx context.Context) ([]Incident, error) {
	out, err := r.a.incidents(ctx, nil)
	if err != nil {
		return nil, err
	}
	return out.Body.Incidents, nil
}

// Channels are those of GET /api/v1/alerts/channels, for those who see all groups;
// others get a 403, as there.
func (r *Reader) Channels(ctx context.Context) ([]Channel, error) {
	if why := partial(auth.From(ctx)); why != "" {
		return nil, huma.Error403Forbidden(why)
	}
	out, err := r.a.channels(ctx, nil)
	if err != nil {
		return nil, err
	}
	return out.Body.Channels, nil
}

// DeliveriesQuery says which deliveries.
type DeliveriesQuery struct {
	Channel, Dependency, Result, Before string // "": all
	Limit                               int
}

// Deliveries are those of GET /api/v1/alerts/deliveries, for those who see all
// groups; others get a 403, as there.
func (r *Reader) Deliveries(ctx context.Context, q DeliveriesQuery) (DeliveryList, error) {
	if why := partial(auth.From(ctx)); why != "" {
		return DeliveryList{}, huma.Error403Forbidden(why)
	}
	in := deliveriesInput(q)
	out, err := r.a.deliveries(ctx, &in)
	if err != nil {
		return DeliveryList{}, err
	}
	return out.Body, nil
}

// Nodes are those of GET /api/v1/nodes.
func (r *Reader) Nodes(ctx context.Context) []Node { return r.a.nodes(ctx) }

// Me is that of GET /api/v1/me.
func (r *Reader) Me(ctx context.Context) Me { return r.a.me(ctx) }

// Settings are those of GET /api/v1/config, for those who may see them; others get
// none.
func (r *Reader) Settings(ctx context.Context) []config.Setting {
	c := auth.From(ctx)
	if r.a.Config == nil || !c.Role.Covers(auth.Admin) || c.Group != "" {
		return nil
	}
	return r.a.Config().Show()
}
