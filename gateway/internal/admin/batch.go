package admin

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/recloser-go/recloser"
	"github.com/recloser-go/recloser/gateway/internal/auth"
	"github.com/recloser-go/recloser/gateway/internal/config"
	"github.com/recloser-go/recloser/gateway/internal/dependency"
	"github.com/recloser-go/recloser/gateway/internal/history"
)

// Selector says which dependencies. All that is given must fit; nothing given
// fits none.
type Selector struct {
	IDs    []string          `json:"ids,omitempty" doc:"These; each must be there"`
	Group  string            `json:"group,omitempty" doc:"Those of this group; * is all"`
	Labels map[string]string `json:"labels,omitempty" doc:"Those with all of these labels"`
	State  string            `json:"state,omitempty" enum:"closed,open,half-open,isolated,held-closed,maintenance" doc:"Those in this state"`
}

// BatchRequest asks to override many dependencies.
type BatchRequest struct {
	Selector Selector `json:"selector" doc:"Which; at least one of its fields"`
	Mode     string   `json:"mode" enum:"isolated,held-closed,release" doc:"isolated: cut off; held-closed: all calls pass; release: take the override back"`
	Lasting
	Reason   string            `json:"reason" minLength:"1" maxLength:"500" pattern:"\\S" patternDescription:"text" doc:"Why; shown to everybody who looks"`
	By       string            `json:"by,omitempty" maxLength:"100" doc:"Who; noted beside the token's name"`
	Versions map[string]uint64 `json:"if_versions,omitempty" doc:"By ID: act only if each of these still has this version"`
	DryRun   bool              `json:"dry_run,omitempty" doc:"Change nothing, only say what would be done"`
}

// BatchAnswer says what was done to each. It is all or nothing: if one could not
// be done none was, and there is a problem in place of this.
type BatchAnswer struct {
	DryRun       bool        `json:"dry_run" doc:"Nothing was changed"`
	Changed      int         `json:"changed" doc:"How many were, or would be"`
	Dependencies []BatchLine `json:"dependencies" nullable:"false" doc:"Those that the selector fits"`
}

// BatchLine is what was done to one dependency.
type BatchLine struct {
	ID      string     `json:"id"`
	From    string     `json:"from" doc:"Its state before"`
	To      string     `json:"to" doc:"Its state after, or what it would be"`
	Result  string     `json:"result" enum:"done,would be done,nothing to do"`
	Text    string     `json:"text" doc:"The same in a sentence"`
	Until   *time.Time `json:"until" doc:"When the override ends"`
	Version uint64     `json:"version" doc:"After it; of a dry run, now"`
}

type batchInput struct{ Body BatchRequest }

type batchOutput struct{ Body BatchAnswer }

func (a *api) registerBatch() {
	register(a, operation{
		Operation: huma.Operation{
			OperationID: "batch-override",
			Method:      http.MethodPost,
			Path:        "/api/v1/overrides/batch",
			Summary:     "Isolate, hold closed or release many",
			Description: "All or nothing: one transaction writes all of it down before the first is touched, and what could be in the way of one is looked at before. With dry_run it only says what would be done.",
			Errors:      []int{http.StatusNotFound},
		},
		role: auth.Operator,
		request: BatchRequest{
			Selector: Selector{Group: "coast"}, Mode: "isolated", Lasting: Lasting{For: "2h"},
			Reason: "the coast's line is being mended", By: "ines", DryRun: true,
		},
		answer: BatchAnswer{DryRun: true, Changed: 1, Dependencies: []BatchLine{{
			ID: "hotel-1", From: "open", To: "isolated", Result: "would be done",
			Text: "hotel-1 would be cut off by hand (now open: cut off)", Until: new(exampleTime.Add(2 * time.Hour)), Version: 7,
		}}},
	}, a.batch)
}

func (a *api) batch(ctx context.Context, in *batchInput) (*batchOutput, error) {
	req := in.Body
	var until time.Time
	var err error
	if req.Mode != release {
		until, err = req.end(time.Now())
	} else if req.Lasting != (Lasting{}) {
		err = invalid("body", "a release lasts: leave for, until and no_expiry out", nil)
	}
	if err != nil {
		return nil, err
	}
	w, end, err := a.takeTurn(ctx, "body", req.By, req.Reason)
	if err != nil {
		return nil, err
	}
	defer end()
	chosen, err := a.choose(ctx, req.Selector)
	if err != nil {
		return nil, err
	}
	if err := a.sameVersions(chosen, req.Versions); err != nil {
		return nil, err
	}
	out := &batchOutput{Body: BatchAnswer{DryRun: req.DryRun, Dependencies: []BatchLine{}}}
	var todo []*dependency.Dependency
	for _, d := range chosen {
		line := a.plan(d, req.Mode, until)
		if line.Result != nothingToDo {
			todo = append(todo, d)
		}
		out.Body.Dependencies = append(out.Body.Dependencies, line)
	}
	out.Body.Changed = len(todo)
	if req.DryRun || len(todo) == 0 {
		return out, nil
	}
	if err := a.batchCommit(ctx, req.Mode, todo, w, until); err != nil {
		return nil, err
	}
	for i := range out.Body.Dependencies {
		line := &out.Body.Dependencies[i]
		d, _ := a.Dependencies.Get(line.ID)
		if line.Result == nothingToDo || d == nil {
			continue
		}
		entry := a.entry("override "+req.Mode, d.ID, w, until)
		if err := override(d, req.Mode, w, until); err != nil { // only if the end has passed meanwhile, and then for all
			a.undo(ctx, entry, d)
			return nil, err
		}
		after := a.view(d)
		line.To, line.Version, line.Result = after.State, after.Version, "done"
		line.Text = fmt.Sprintf("%s is %s (was %s)", d.ID, after.Effect, line.From)
		a.logAct(ctx, "dependency", entry)
	}
	return out, nil
}

const nothingToDo = "nothing to do"

// plan says what would be done to a dependency.
func (a *api) plan(d *dependency.Dependency, mode string, until time.Time) BatchLine {
	now := a.view(d)
	line := BatchLine{ID: d.ID, From: now.State, To: mode, Result: "would be done", Until: stampOrNull(until), Version: now.Version}
	effect := recloser.Isolated.Effect()
	switch {
	case mode == release && now.Override == nil:
		line.To, line.Result = now.State, nothingToDo
		line.Text = fmt.Sprintf("%s has no override: it is %s", d.ID, now.Effect)
		return line
	case mode == release:
		line.To = now.Automatic
		line.Text = fmt.Sprintf("%s would be released to %s (now %s)", d.ID, now.Automatic, now.Effect)
		return line
	case mode == recloser.HeldClosed.String():
		effect = recloser.HeldClosed.Effect()
	}
	line.Text = fmt.Sprintf("%s would be %s (now %s: %s)", d.ID, effect, now.State, now.Effect)
	return line
}

// batchCommit writes all of it down, in one transaction.
func (a *api) batchCommit(ctx context.Context, mode string, todo []*dependency.Dependency, w who, until time.Time) error {
	var changes []history.Change
	var ids []string
	for _, d := range todo {
		ids = append(ids, d.ID)
		changes = append(changes, keepOverride(d, mode, w, until)...)
	}
	entry := a.entry("batch "+mode, fmt.Sprintf("%d dependencies", len(ids)), w, until)
	if len(ids) <= 5 {
		entry.Target = strings.Join(ids, ", ")
	}
	entry.Detail, _ = json.Marshal(actDetail{Dependencies: ids}) // strings always can be
	return a.commit(ctx, entry, changes...)
}

// actDetail is what the audit knows of an act on more than one dependency.
type actDetail struct {
	Dependencies []string `json:"dependencies"`
}

// actedOn returns the IDs that an act's detail has; none if it is on one dependency.
func actedOn(e history.Act) []string {
	var detail actDetail
	if json.Unmarshal(e.Detail, &detail) != nil {
		return nil
	}
	return detail.Dependencies
}

// choose returns what a selector fits, of what is the caller's business.
func (a *api) choose(ctx context.Context, s Selector) ([]*dependency.Dependency, error) {
	if len(s.IDs) == 0 && s.Group == "" && len(s.Labels) == 0 && s.State == "" {
		return nil, invalid("body.selector", "says nothing: give ids, group, labels or state; group * is all", nil)
	}
	var unknown []string
	for _, id := range s.IDs {
		if !a.sees(ctx, id) {
			unknown = append(unknown, a.unknown(ctx, id))
		}
	}
	if len(unknown) > 0 {
		return nil, huma.Error404NotFound("nothing was done: " + strings.Join(unknown[:min(5, len(unknown))], "; "))
	}
	var chosen []*dependency.Dependency
	seen := a.seen(ctx)
	if s.Group != "" && s.Group != config.Everyone && !slices.ContainsFunc(seen, func(d *dependency.Dependency) bool { return d.Group == s.Group }) {
		return nil, invalid("body.selector.group", "there is no such group: nothing was done", s.Group)
	}
	for _, d := range seen {
		if len(s.IDs) > 0 && !slices.Contains(s.IDs, d.ID) ||
			s.Group != "" && s.Group != config.Everyone && s.Group != d.Group ||
			!hasLabels(d, s.Labels) {
			continue
		}
		if is, _ := a.stateOf(d, d.Breaker.Stats()); s.State != "" && s.State != is {
			continue
		}
		chosen = append(chosen, d)
	}
	return chosen, nil
}

// sameVersions fails with 409 if one has another version than the one asked for.
func (a *api) sameVersions(chosen []*dependency.Dependency, versions map[string]uint64) error {
	for id := range versions {
		if !slices.ContainsFunc(chosen, func(d *dependency.Dependency) bool { return d.ID == id }) {
			return newConflict(fmt.Sprintf("nothing was done: if_versions names %q, which the selector does not fit", cut(id, 64)))
		}
	}
	for _, d := range chosen {
		if want, ok := versions[d.ID]; ok {
			if err := a.sameVersion(d, &want); err != nil {
				return err
			}
		}
	}
	return nil
}
