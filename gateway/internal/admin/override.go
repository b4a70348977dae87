package admin

import (
	"context"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/recloser-go/recloser"
	"github.com/recloser-go/recloser/gateway/internal/auth"
	"github.com/recloser-go/recloser/gateway/internal/dependency"
	"github.com/recloser-go/recloser/gateway/internal/history"
)

// Lasting says how long something lasts. Exactly one of its fields is given.
type Lasting struct {
	For      string     `json:"for,omitempty" example:"1h30m" doc:"How long, such as 45m, 1h30m or 90d"`
	Until    *time.Time `json:"until,omitempty" doc:"Until when; must lie ahead"`
	NoExpiry bool       `json:"no_expiry,omitempty" doc:"Until it is taken back"`
}

// lastYear is the last that RFC 3339 can write. Answers are in UTC, where a time
// may be in another year than in the zone that it was given in.
const lastYear = 9999

// end works out when it ends; the zero time is never. A fault is reported at its
// field.
func (l Lasting) end(now time.Time) (time.Time, error) {
	given := 0
	for _, is := range []bool{l.For != "", l.Until != nil, l.NoExpiry} {
		if is {
			given++
		}
	}
	if given != 1 {
		return time.Time{}, invalid("body", "give exactly one of for, until and no_expiry: how long?", nil)
	}
	switch {
	case l.Until != nil:
		if !l.Until.After(now) {
			return time.Time{}, invalid("body.until", "must lie ahead", l.Until)
		}
		if l.Until.UTC().Year() > lastYear {
			return time.Time{}, invalid("body.until", "must be before the year 10000, in UTC", l.Until.Format(time.RFC3339))
		}
		return *l.Until, nil
	case l.For != "":
		d, err := span64(l.For)
		if err != nil || d <= 0 {
			return time.Time{}, invalid("body.for", "must be a time above 0, such as 45m, 1h30m or 90d", l.For)
		}
		return now.Add(d), nil
	}
	return time.Time{}, nil
}

// span64 reads a duration, which may be in days.
func span64(text string) (time.Duration, error) {
	if days, ok := strings.CutSuffix(text, "d"); ok {
		n, err := strconv.ParseUint(days, 10, 16)
		return time.Duration(n) * 24 * time.Hour, err
	}
	return time.ParseDuration(text)
}

// OverrideRequest asks to isolate a dependency or to hold it closed.
type OverrideRequest struct {
	Mode string `json:"mode" enum:"isolated,held-closed" doc:"isolated: cut off; held-closed: all calls pass, whatever the rules say"`
	Lasting
	Reason    string  `json:"reason" minLength:"1" maxLength:"500" pattern:"\\S" patternDescription:"text" doc:"Why; shown to everybody who looks"`
	By        string  `json:"by,omitempty" maxLength:"100" doc:"Who; noted beside the token's name"`
	IfVersion *uint64 `json:"if_version,omitempty" doc:"Act only if the dependency still has this version"`
}

// invalid is what huma answers to a body that its schema refuses.
func invalid(location, message string, value any) error {
	return huma.Error422UnprocessableEntity("validation failed",
		&huma.ErrorDetail{Location: location, Message: message, Value: value})
}

type overrideInput struct {
	ID   string `path:"id" doc:"ID of the dependency"`
	Body OverrideRequest
}

// Versioned is if_version of an act without a body.
type Versioned struct {
	IfVersion int64 `query:"if_version" default:"-1" minimum:"-1" doc:"Act only if it still has this version; -1: whatever it has"`
}

// Resolve refuses an empty if_version: whoever sends it meant to name one, and
// must not act on whatever version there is.
func (in *Versioned) Resolve(ctx huma.Context) []error {
	u := ctx.URL()
	for _, v := range u.Query()["if_version"] {
		if v == "" {
			return []error{&huma.ErrorDetail{Location: "query.if_version", Message: "must be a version, or left out", Value: v}}
		}
	}
	return nil
}

func (in *Versioned) version() *uint64 {
	if in.IfVersion < 0 {
		return nil
	}
	return new(uint64(in.IfVersion))
}

// Words say who acts and why, of an act without a body.
type Words struct {
	Reason string `query:"reason" maxLength:"500" doc:"Why"`
	By     string `query:"by" maxLength:"100" doc:"Who; noted beside the token's name"`
}

type releaseInput struct {
	ID string `path:"id" doc:"ID of the dependency"`
	Words
	Versioned
}

func (a *api) registerOverride() {
	const path = "/api/v1/dependencies/{id}/override"
	register(a, operation{
		Operation: huma.Operation{
			OperationID: "set-override",
			Method:      http.MethodPut,
			Path:        path,
			Summary:     "Isolate, or hold closed",
			Description: "Replaces an override that is already there. When it ends or is released, an isolated dependency goes half-open and one held closed goes to what the rules say. It outlives a restart.",
			Errors:      []int{http.StatusNotFound},
		},
		role:    auth.Operator,
		request: OverrideRequest{Mode: "isolated", Lasting: Lasting{For: "1h30m"}, Reason: "their database moves", By: "ines"},
		answer:  exampleDependency(),
	}, a.setOverride)
	register(a, operation{
		Operation: huma.Operation{
			OperationID: "release-override",
			Method:      http.MethodDelete,
			Path:        path,
			Summary:     "Take the override back",
			Description: "Without an override it changes nothing and is no error.",
			Errors:      []int{http.StatusNotFound},
		},
		role: auth.Operator, answer: exampleDependency(),
	}, a.releaseOverride)
}

func (a *api) setOverride(ctx context.Context, in *overrideInput) (*dependencyOutput, error) {
	req := in.Body
	until, err := req.end(time.Now())
	if err != nil {
		return nil, err
	}
	return a.perform(ctx, act{
		name: "override " + req.Mode, in: "body", id: in.ID, by: req.By, reason: req.Reason, until: until, ifVersion: req.IfVersion,
		keep: func(d *dependency.Dependency, _ recloser.Stats, w who) ([]history.Change, error) {
			return keepOverride(d, req.Mode, w, until), nil
		},
		do: func(d *dependency.Dependency, w who) error { return override(d, req.Mode, w, until) },
	})
}

// release is the mode that takes an override back.
const release = "release"

// keepOverride is what is to be written down of an override. The breaker is saved
// with one that is taken back: the state that it begins with then may be newer than
// what was saved last.
func keepOverride(d *dependency.Dependency, mode string, w who, until time.Time) []history.Change {
	state := recloser.Isolated
	switch mode {
	case release:
		saved := d.Breaker.Save()
		saved.Override = nil
		return []history.Change{history.ClearOverride(d.ID), history.SaveBreaker(d.ID, saved)}
	case recloser.HeldClosed.String():
		state = recloser.HeldClosed
	}
	return []history.Change{history.SetOverride(history.Override{
		Dependency: d.ID, State: state, By: w.by, Reason: w.reason, Since: w.at, Until: until,
	})}
}

// override puts one in force, or takes it back.
func override(d *dependency.Dependency, mode string, w who, until time.Time) error {
	set := d.Operator().Isolate
	switch mode {
	case release:
		d.Operator().Release(w.by, w.reason)
		return nil
	case recloser.HeldClosed.String():
		set = d.Operator().HoldClosed
	}
	if err := set(w.by, w.reason, until); err != nil {
		return invalid("body", "the end has passed meanwhile; give a later one", nil)
	}
	return nil
}

func (a *api) releaseOverride(ctx context.Context, in *releaseInput) (*dependencyOutput, error) {
	return a.perform(ctx, act{
		name: "release", in: "query", id: in.ID, by: in.By, reason: in.Reason, ifVersion: in.version(),
		keep: func(d *dependency.Dependency, _ recloser.Stats, w who) ([]history.Change, error) {
			return keepOverride(d, release, w, time.Time{}), nil
		},
		do: func(d *dependency.Dependency, w who) error { return override(d, release, w, time.Time{}) },
	})
}
