package admin

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/recloser-go/recloser/gateway/internal/auth"
	"github.com/recloser-go/recloser/gateway/internal/history"
	"github.com/recloser-go/recloser/gateway/internal/maintenance"
)

// MaintenanceRequest plans a maintenance.
type MaintenanceRequest struct {
	Name         string            `json:"name,omitempty" maxLength:"100" doc:"For people; default the reason"`
	Dependencies []string          `json:"dependencies,omitempty" doc:"These, by ID"`
	Groups       []string          `json:"groups,omitempty" doc:"And all of these groups; * is every one"`
	Labels       map[string]string `json:"labels,omitempty" doc:"And all that have all of these labels"`
	From         *time.Time        `json:"from,omitempty" doc:"When it begins; default now. With calendar: not before"`
	To           *time.Time        `json:"to,omitempty" doc:"When it ends. With calendar: the rule ends by then"`
	Calendar     *Calendar         `json:"calendar,omitempty" doc:"A rule by which it comes again"`
	Effect       string            `json:"effect,omitempty" enum:"cut-off,no-messages" default:"cut-off" doc:"cut-off: no calls pass; no-messages: they go on, only nobody gets messages about them"`
	Reason       string            `json:"reason" minLength:"1" maxLength:"500" pattern:"\\S" patternDescription:"text" doc:"Why; shown to everybody who looks"`
	By           string            `json:"by,omitempty" maxLength:"100" doc:"Who; noted beside the token's name"`
}

// Calendar is a rule by which a maintenance comes again.
type Calendar struct {
	_    struct{} `nullable:"true"`
	Days []string `json:"days" doc:"On which it begins: mon, tue, wed, thu, fri, sat, sun" nullable:"false"`
	From string   `json:"from" example:"22:00" doc:"Time of day"`
	For  string   `json:"for" example:"2h" doc:"How long, from 1m to 24h"`
	Zone string   `json:"zone,omitempty" example:"Europe/Berlin" doc:"Time zone of the days and the time of day; default UTC"`
}

// Maintenance is a planned isolation.
type Maintenance struct {
	ID           string            `json:"id"`
	Name         string            `json:"name"`
	Dependencies []string          `json:"dependencies" nullable:"false"`
	Groups       []string          `json:"groups" nullable:"false"`
	Labels       map[string]string `json:"labels" nullable:"false"`
	From         *time.Time        `json:"from"`
	To           *time.Time        `json:"to"`
	Calendar     *Calendar         `json:"calendar"`
	Effect       string            `json:"effect" enum:"cut-off,no-messages"`
	Reason       string            `json:"reason"`
	By           string            `json:"by"`
	Created      time.Time         `json:"created"`

	Active   bool       `json:"active" doc:"It is in force now"`
	NextFrom *time.Time `json:"next_from" doc:"When the one that is in force began, or else the next one will; null: it is over"`
	NextTo   *time.Time `json:"next_to"`
	Covers   []string   `json:"covers" nullable:"false" doc:"IDs of the dependencies it concerns now"`
}

// MaintenanceList is all that is planned.
type MaintenanceList struct {
	Maintenance []Maintenance `json:"maintenance" nullable:"false"`
}

type (
	planInput   struct{ Body MaintenanceRequest }
	replanInput struct {
		ID   string `path:"id" doc:"ID of the maintenance"`
		Body MaintenanceRequest
	}
	maintenanceInput struct {
		ID string `path:"id" doc:"ID of the maintenance"`
	}
	endInput struct {
		ID string `path:"id" doc:"ID of the maintenance"`
		Words
	}
	maintenanceOutput     struct{ Body Maintenance }
	maintenanceListOutput struct{ Body MaintenanceList }
)

const maintenancePath = "/api/v1/maintenance"

// mostWindows is how many there can be, those that are over included: the runner
// looks at each of them every second.
const mostWindows = 1000

func (a *api) registerMaintenance() {
	request := MaintenanceRequest{
		Groups: []string{"coast"}, Reason: "backup", By: "ines",
		Calendar: &Calendar{Days: []string{"sat", "sun"}, From: "03:00", For: "90m", Zone: "Europe/Berlin"},
	}
	answer := exampleMaintenance()
	register(a, operation{
		Operation: huma.Operation{
			OperationID: "list-maintenance", Method: http.MethodGet, Path: maintenancePath,
			Summary: "Planned isolations",
			Errors:  []int{http.StatusNotImplemented},
		},
		role: auth.Viewer, answer: MaintenanceList{[]Maintenance{answer}},
	}, a.listMaintenance)
	register(a, operation{
		Operation: huma.Operation{
			OperationID: "get-maintenance", Method: http.MethodGet, Path: maintenancePath + "/{id}",
			Summary: "One planned isolation",
			Errors:  []int{http.StatusNotFound},
		},
		role: auth.Viewer, answer: answer,
	}, a.getMaintenance)
	register(a, operation{
		Operation: huma.Operation{
			OperationID: "plan-maintenance", Method: http.MethodPost, Path: maintenancePath, DefaultStatus: http.StatusCreated,
			Summary:     "Plan an isolation",
			Description: "Once, from from to to, or by a calendar rule. What an operator has set by hand stays his.",
		},
		role: auth.Operator, request: request, answer: answer,
	}, func(ctx context.Context, in *planInput) (*maintenanceOutput, error) {
		return a.putWindow(ctx, "plan maintenance", "", in.Body)
	})
	register(a, operation{
		Operation: huma.Operation{
			OperationID: "change-maintenance", Method: http.MethodPut, Path: maintenancePath + "/{id}",
			Summary:     "Plan it otherwise",
			Description: "In place of what was planned.",
			Errors:      []int{http.StatusNotFound},
		},
		role: auth.Operator, request: request, answer: answer,
	}, func(ctx context.Context, in *replanInput) (*maintenanceOutput, error) {
		return a.putWindow(ctx, "change maintenance", in.ID, in.Body)
	})
	register(a, operation{
		Operation: huma.Operation{
			OperationID: "end-maintenance", Method: http.MethodDelete, Path: maintenancePath + "/{id}",
			Summary:     "End or cancel it",
			Description: "What it isolates is released at once.",
			Errors:      []int{http.StatusNotFound},
		},
		role: auth.Operator,
	}, a.endMaintenance)
}

func (a *api) windows(ctx context.Context) ([]maintenance.Window, error) {
	if a.History == nil {
		return nil, absent("maintenance")
	}
	all, err := a.History.Maintenance(ctx)
	if err != nil {
		return nil, a.unread(ctx, err)
	}
	// He who sees one group only sees what concerns nothing else.
	return slices.DeleteFunc(all, func(w maintenance.Window) bool { return !a.mayPlan(ctx, &w) }), nil
}

// mayPlan reports whether a window concerns only what is the caller's business,
// whatever comes and goes.
func (a *api) mayPlan(ctx context.Context, w *maintenance.Window) bool {
	c := auth.From(ctx)
	if c.Group == "" {
		return true
	}
	for _, id := range w.Dependencies {
		if !a.sees(ctx, id) {
			return false
		}
	}
	return len(w.Labels) == 0 && !slices.ContainsFunc(w.Groups, func(g string) bool { return g != c.Group })
}

func (a *api) window(ctx context.Context, id string) (maintenance.Window, error) {
	all, err := a.windows(ctx)
	if err != nil {
		return maintenance.Window{}, err
	}
	i := slices.IndexFunc(all, func(w maintenance.Window) bool { return w.ID == id })
	if i < 0 {
		return maintenance.Window{}, huma.Error404NotFound(fmt.Sprintf("no maintenance %q; recloser maintenance list shows those there are, and so does GET %s", cut(id, 64), maintenancePath))
	}
	return all[i], nil
}

func (a *api) listMaintenance(ctx context.Context, _ *struct{}) (*maintenanceListOutput, error) {
	all, err := a.windows(ctx)
	if err != nil {
		return nil, err
	}
	out := &maintenanceListOutput{MaintenanceList{[]Maintenance{}}}
	for _, w := range all {
		out.Body.Maintenance = append(out.Body.Maintenance, a.viewWindow(ctx, w))
	}
	return out, nil
}

func (a *api) getMaintenance(ctx context.Context, in *maintenanceInput) (*maintenanceOutput, error) {
	w, err := a.window(ctx, in.ID)
	if err != nil {
		return nil, err
	}
	return &maintenanceOutput{a.viewWindow(ctx, w)}, nil
}

// putWindow writes a window down and puts it in force, in place of the one with
// that ID; "" is a new one.
func (a *api) putWindow(ctx context.Context, name, id string, req MaintenanceRequest) (*maintenanceOutput, error) {
	if a.History == nil || a.Maintenance == nil {
		return nil, absent("maintenance")
	}
	who, err := whoActs(ctx, "body", req.By, req.Reason)
	if err != nil {
		return nil, err
	}
	w, err := req.window(who)
	if err != nil {
		return nil, err
	}
	if err := w.Validate(); err != nil {
		return nil, invalid("body", err.Error(), nil)
	}
	if !w.To.IsZero() && !w.To.After(who.at) {
		return nil, invalid("body.to", "must lie ahead", w.To)
	}
	for _, id := range w.Dependencies {
		if !a.sees(ctx, id) {
			return nil, invalid("body.dependencies", a.unknown(ctx, id), id)
		}
	}
	if !a.mayPlan(ctx, &w) {
		return nil, invalid("body", fmt.Sprintf("with this token it can concern only the group %q, and no labels", auth.From(ctx).Group), nil)
	}
	err = a.changeWindows(ctx, func() error {
		if err := a.replaces(ctx, id, &w); err != nil {
			return err
		}
		return a.commitWindow(ctx, name, w, who, w.To, history.PutMaintenance(w))
	})
	if err != nil {
		return nil, err
	}
	return &maintenanceOutput{a.viewWindow(ctx, w)}, nil
}

// replaces has w take the place of the window with that ID; "" is none.
func (a *api) replaces(ctx context.Context, id string, w *maintenance.Window) error {
	if id != "" {
		old, err := a.window(ctx, id)
		w.ID, w.Created, w.Released = old.ID, old.Created, old.Released
		return err
	}
	all, err := a.History.Maintenance(ctx)
	if err != nil {
		return a.unread(ctx, err)
	}
	if len(all) >= mostWindows {
		return newConflict(fmt.Sprintf("%d maintenances are planned or over, and more are not possible; end some", len(all)))
	}
	return nil
}

func (a *api) endMaintenance(ctx context.Context, in *endInput) (*struct{}, error) {
	who, err := whoActs(ctx, "query", in.By, in.Reason)
	if err != nil {
		return nil, err
	}
	return nil, a.changeWindows(ctx, func() error {
		w, err := a.window(ctx, in.ID)
		if err != nil {
			return err
		}
		return a.commitWindow(ctx, "end maintenance", w, who, time.Time{}, history.DeleteMaintenance(w.ID))
	})
}

// changeWindows runs a change of what is planned and puts it in force. Nobody else
// acts, and the runner writes nothing, between what it reads and what it writes.
func (a *api) changeWindows(ctx context.Context, change func() error) error {
	end, err := a.begin(ctx)
	if err != nil {
		return err
	}
	defer end()
	if a.Maintenance == nil {
		return change()
	}
	return a.Maintenance.Change(context.WithoutCancel(ctx), change)
}

// commitWindow writes down an act on a window, with the change that it makes.
func (a *api) commitWindow(ctx context.Context, name string, w maintenance.Window, who who, until time.Time, change history.Change) error {
	entry := a.entry(name, w.ID, who, until)
	entry.Detail, _ = json.Marshal(actDetail{Dependencies: a.covered(w)}) // strings always can be
	if err := a.commit(ctx, entry, change); err != nil {
		return err
	}
	a.logAct(ctx, "maintenance", entry)
	return nil
}

// window makes the window that is asked for.
func (r MaintenanceRequest) window(who who) (maintenance.Window, error) {
	w := maintenance.Window{
		ID: strings.ToLower(rand.Text()[:8]), Name: strings.TrimSpace(r.Name),
		Dependencies: r.Dependencies, Groups: r.Groups, Labels: r.Labels,
		Effect: maintenance.Effect(r.Effect), Reason: who.reason, By: who.by, Created: stamp(who.at),
	}
	if w.Name == "" {
		w.Name = cut(who.reason, 100)
	}
	if w.Effect == "" {
		w.Effect = maintenance.CutOff
	}
	if r.From != nil {
		w.From = r.From.UTC()
	}
	if r.To != nil {
		w.To = r.To.UTC()
	}
	if r.Calendar == nil {
		if w.From.IsZero() {
			w.From = stamp(who.at)
		}
		return w, nil
	}
	long, err := time.ParseDuration(r.Calendar.For)
	if err != nil {
		return w, invalid("body.calendar.for", "must be a time, such as 90m or 2h", r.Calendar.For)
	}
	w.Calendar = &maintenance.Calendar{Days: r.Calendar.Days, From: r.Calendar.From, For: long, Zone: r.Calendar.Zone}
	return w, nil
}

// covered returns the IDs of what a window concerns now.
func (a *api) covered(w maintenance.Window) []string {
	ids := []string{}
	for _, d := range a.Dependencies.All() {
		if w.Covers(maintenance.Target{ID: d.ID, Group: d.Group, Labels: d.Labels}) {
			ids = append(ids, d.ID)
		}
	}
	return ids
}

func (a *api) viewWindow(ctx context.Context, w maintenance.Window) Maintenance {
	now := time.Now()
	v := Maintenance{
		ID: w.ID, Name: w.Name, Dependencies: w.Dependencies, Groups: w.Groups, Labels: w.Labels,
		From: stampOrNull(w.From), To: stampOrNull(w.To), Effect: string(w.Effect), Reason: w.Reason, By: w.By, Created: stamp(w.Created),
		Covers: slices.DeleteFunc(a.covered(w), func(id string) bool { return !a.sees(ctx, id) }),
	}
	if v.Dependencies == nil {
		v.Dependencies = []string{}
	}
	if v.Groups == nil {
		v.Groups = []string{}
	}
	if v.Labels == nil {
		v.Labels = map[string]string{}
	}
	if c := w.Calendar; c != nil {
		v.Calendar = &Calendar{Days: c.Days, From: c.From, For: c.For.String(), Zone: c.Zone}
	}
	_, _, v.Active = w.Active(now)
	if from, to, ok := w.Next(now); ok {
		v.NextFrom, v.NextTo = stampOrNull(from), stampOrNull(to)
	}
	return v
}
