package admin

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/recloser-go/recloser/gateway/internal/auth"
	"github.com/recloser-go/recloser/gateway/internal/config"
	"github.com/recloser-go/recloser/gateway/internal/dependency"
	"github.com/recloser-go/recloser/gateway/internal/history"
)

// mostRunTime is how many dependencies can be added at run time: nobody means to
// add more, but a script in a loop might.
const mostRunTime = 1000

// DefinitionRequest adds a dependency.
type DefinitionRequest struct {
	ID         string         `json:"id" minLength:"1" maxLength:"100" doc:"Its ID, as in the configuration file"`
	Definition map[string]any `json:"definition" doc:"The keys that a dependency has in the configuration file. What is not given is as the file's defaults say"`
	Reason     string         `json:"reason,omitempty" maxLength:"500" doc:"Why"`
	By         string         `json:"by,omitempty" maxLength:"100" doc:"Who; noted beside the token's name"`
}

// RedefinitionRequest changes a dependency.
type RedefinitionRequest struct {
	Definition map[string]any `json:"definition" doc:"The keys that change (RFC 7396): null takes one away, what is not given stays"`
	Reason     string         `json:"reason,omitempty" maxLength:"500" doc:"Why"`
	By         string         `json:"by,omitempty" maxLength:"100" doc:"Who; noted beside the token's name"`
	IfVersion  *uint64        `json:"if_version,omitempty" doc:"Change it only if its definition_version is still this"`
}

// Definition is how a dependency was added.
type Definition struct {
	ID         string         `json:"id"`
	Version    uint64         `json:"version" doc:"definition_version of the dependency"`
	Definition map[string]any `json:"definition" doc:"As it was given"`
}

type (
	defineInput   struct{ Body DefinitionRequest }
	redefineInput struct {
		ID   string `path:"id" doc:"ID of the dependency"`
		Body RedefinitionRequest
	}
	removeInput struct {
		ID string `path:"id" doc:"ID of the dependency"`
		Words
		Versioned
	}
	definitionOutput struct{ Body Definition }
)

func (a *api) registerDefinitions() {
	example := map[string]any{"url": "https://api.hotel-9.example/v1", "group": "coast", "probe": map[string]any{"path": "/ping"}}
	const one = "/api/v1/dependencies/{id}"
	register(a, operation{
		Operation: huma.Operation{
			OperationID: "add-dependency", Method: http.MethodPost, Path: "/api/v1/dependencies", DefaultStatus: http.StatusCreated,
			Summary:     "Add a dependency",
			Description: "It is there at once and outlives a restart. The definition has the very keys of the configuration file and is checked as the file is. Link-local addresses and those of cloud metadata services are refused, now and when connecting, unless admin.allow_targets has them.",
		},
		role: auth.Admin, request: DefinitionRequest{ID: "hotel-9", Definition: example, Reason: "new partner", By: "ines"}, answer: exampleDependency(),
	}, a.define)
	register(a, operation{
		Operation: huma.Operation{
			OperationID: "get-definition", Method: http.MethodGet, Path: one + "/definition",
			Summary: "How a dependency was added",
			Errors:  []int{http.StatusNotFound},
		},
		role: auth.Viewer, answer: Definition{ID: "hotel-9", Version: 2, Definition: example},
	}, a.definition)
	register(a, operation{
		Operation: huma.Operation{
			OperationID: "change-dependency", Method: http.MethodPatch, Path: one,
			Summary:     "Change a dependency that was added at run time",
			Description: "It keeps the state of its breaker. One of the configuration file is changed there: 409.",
			Errors:      []int{http.StatusNotFound},
		},
		role: auth.Admin, request: RedefinitionRequest{Definition: map[string]any{"timeout": "2s", "probe": nil}, Reason: "no ping there"}, answer: exampleDependency(),
	}, a.redefine)
	register(a, operation{
		Operation: huma.Operation{
			OperationID: "remove-dependency", Method: http.MethodDelete, Path: one,
			Summary:     "Remove a dependency that was added at run time",
			Description: "Calls that run go on. One of the configuration file is removed there: 409.",
			Errors:      []int{http.StatusNotFound},
		},
		role: auth.Admin,
	}, a.remove)
}

func (a *api) define(ctx context.Context, in *defineInput) (*dependencyOutput, error) {
	w, end, err := a.takeTurn(ctx, "body", in.Body.By, in.Body.Reason)
	if err != nil {
		return nil, err
	}
	defer end()
	if d, ok := a.Dependencies.Get(in.Body.ID); ok {
		if !w.caller.Sees(d.Group) {
			return nil, newConflict(fmt.Sprintf("the ID %q is taken; choose another one", d.ID))
		}
		if !d.RunTime {
			return nil, a.ofFile(d)
		}
		return nil, a.newConflict(d, fmt.Sprintf("%s is there already: change that one, or take another id", d.ID))
	}
	there := 0
	for _, d := range a.Dependencies.All() {
		if d.RunTime {
			there++
		}
	}
	if there >= mostRunTime {
		return nil, newConflict(fmt.Sprintf("%d dependencies were added at run time, and more are not possible; remove some, or put them into the configuration file", there))
	}
	return a.put(ctx, true, in.Body.ID, in.Body.Definition, w)
}

func (a *api) redefine(ctx context.Context, in *redefineInput) (*dependencyOutput, error) {
	w, end, err := a.takeTurn(ctx, "body", in.Body.By, in.Body.Reason)
	if err != nil {
		return nil, err
	}
	defer end()
	d, err := a.runTime(ctx, in.ID, in.Body.IfVersion)
	if err != nil {
		return nil, err
	}
	old, err := a.given(ctx, d.ID)
	if err != nil {
		return nil, err
	}
	return a.put(ctx, false, d.ID, merge(old, in.Body.Definition), w)
}

// put checks a definition, writes it down and puts it in force.
func (a *api) put(ctx context.Context, isNew bool, id string, definition map[string]any, w who) (*dependencyOutput, error) {
	if a.Config == nil || a.History == nil {
		return nil, absent("dependencies added at run time")
	}
	text, err := json.Marshal(definition)
	if err != nil {
		return nil, invalid("body.definition", err.Error(), nil)
	}
	lines, err := json.MarshalIndent(definition, "", "  ") // a fault shows its line
	if err != nil {
		return nil, invalid("body.definition", err.Error(), nil)
	}
	c, err := a.Config().Dependency(id, lines)
	if err != nil {
		return nil, ofConfig(err)
	}
	if !w.caller.Sees(c.Group) {
		return nil, invalid("body.definition.group", fmt.Sprintf("must be %q: with this token only that group is yours", w.caller.Group), c.Group)
	}
	if err := a.checkTarget(ctx, c.URL); err != nil {
		return nil, invalid("body.definition.url", err.Error(), c.URL.Redacted())
	}
	was := history.DeleteDependency(id)
	if old, err := a.given(ctx, id); err == nil {
		text, _ := json.Marshal(old) // it was read from JSON
		was = history.PutDependency(id, text)
	}
	name, done := "change dependency", "changed"
	changes := []history.Change{history.PutDependency(id, text)}
	if isNew { // what is known of a former one of that ID, such as of the file, is not of this one
		name, done = "add dependency", "added"
		changes = append([]history.Change{history.DeleteDependency(id)}, changes...)
	}
	entry := a.entry(name, id, w, time.Time{})
	if err := a.commit(ctx, entry, changes...); err != nil {
		return nil, err
	}
	d, err := a.Dependencies.Put(c)
	if err != nil { // the config found nothing wrong, but the file may have got one of that ID meanwhile
		entry.Result = "not done: " + cut(err.Error(), maxCause)
		_ = a.commit(context.WithoutCancel(ctx), entry, was)
		return nil, newConflict(cut(err.Error(), maxText))
	}
	a.logAct(ctx, "dependency", entry)
	a.record(id, w, fmt.Sprintf("%s was %s at run time", id, done))
	return &dependencyOutput{Body: a.view(d)}, nil
}

func (a *api) remove(ctx context.Context, in *removeInput) (*struct{}, error) {
	w, end, err := a.takeTurn(ctx, "query", in.By, in.Reason)
	if err != nil {
		return nil, err
	}
	defer end()
	d, err := a.runTime(ctx, in.ID, in.version())
	if err != nil {
		return nil, err
	}
	entry := a.entry("remove dependency", d.ID, w, time.Time{})
	if err := a.commit(ctx, entry, history.DeleteDependency(d.ID), history.ClearOverride(d.ID)); err != nil {
		return nil, err
	}
	if err := a.Dependencies.Remove(d.ID); err != nil {
		return nil, newConflict(cut(err.Error(), maxText)) // it is gone, or of the file now: in neither case is a definition needed
	}
	a.logAct(ctx, "dependency", entry)
	a.record(d.ID, w, d.ID+" was removed at run time")
	return nil, nil
}

func (a *api) definition(ctx context.Context, in *idInput) (*definitionOutput, error) {
	d, err := a.find(ctx, in.ID)
	if err != nil {
		return nil, err
	}
	if !d.RunTime {
		return nil, huma.Error404NotFound(a.ofFile(d).Error())
	}
	given, err := a.given(ctx, d.ID)
	if err != nil {
		return nil, err
	}
	return &definitionOutput{Definition{ID: d.ID, Version: d.Version, Definition: given}}, nil
}

// runTime finds a dependency that was added at run time, of that version.
func (a *api) runTime(ctx context.Context, id string, version *uint64) (*dependency.Dependency, error) {
	d, err := a.find(ctx, id)
	switch {
	case err != nil:
		return nil, err
	case !d.RunTime:
		return nil, a.ofFile(d)
	case version != nil && *version != d.Version:
		return nil, a.newConflict(d, fmt.Sprintf(
			"the definition of %s has changed meanwhile: it is at version %d, not %d; look again and decide anew", d.ID, d.Version, *version))
	}
	return d, nil
}

func (a *api) ofFile(d *dependency.Dependency) error {
	file := "the configuration file"
	if a.Config != nil {
		file = cmp.Or(a.Config().File, file)
	}
	return a.newConflict(d, fmt.Sprintf("%s is defined in %s: change it there, then reload", d.ID, file))
}

// given returns the definition of a dependency as it was given.
func (a *api) given(ctx context.Context, id string) (map[string]any, error) {
	if a.History == nil {
		return nil, absent("dependencies added at run time")
	}
	all, err := a.History.Dependencies(ctx)
	if err != nil {
		return nil, a.unread(ctx, err)
	}
	i := slices.IndexFunc(all, func(d history.Definition) bool { return d.ID == id })
	if i < 0 {
		return nil, huma.Error404NotFound(fmt.Sprintf("no definition of %q is kept", cut(id, 64)))
	}
	var given map[string]any
	if err := json.Unmarshal(all[i].Definition, &given); err != nil {
		return nil, a.unread(ctx, err)
	}
	return given, nil
}

// unread is the answer if what is kept cannot be read.
func (a *api) unread(ctx context.Context, err error) error {
	a.Log.ErrorContext(ctx, "history not read", "error", err)
	return huma.Error503ServiceUnavailable("the history cannot be read just now; the gateway's log says why")
}

// merge applies a JSON merge patch (RFC 7396).
func merge(old, patch map[string]any) map[string]any {
	merged := make(map[string]any, len(old)+len(patch))
	maps.Copy(merged, old)
	for key, value := range patch {
		switch inner, ok := value.(map[string]any); {
		case value == nil:
			delete(merged, key)
		case ok:
			was, _ := merged[key].(map[string]any)
			merged[key] = merge(was, inner)
		default:
			merged[key] = value
		}
	}
	return merged
}

// ofConfig is the answer to a definition that the config refuses.
func ofConfig(err error) error {
	var faults config.Errors
	if !errors.As(err, &faults) {
		return invalid("body.definition", err.Error(), nil)
	}
	details := make([]error, 0, len(faults))
	for _, f := range faults {
		text := f.What
		if f.Do != "" {
			text += "; " + f.Do
		}
		detail := &huma.ErrorDetail{Location: "body.definition", Message: text}
		if line := strings.Trim(f.Source, " ,"); len(line) > 1 { // not a bracket alone
			detail.Value = cut(line, maxCause)
		}
		details = append(details, detail)
	}
	return huma.Error422UnprocessableEntity("validation failed", details...)
}
