package admin

import (
	"context"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/recloser-go/recloser"
	"github.com/recloser-go/recloser/gateway/internal/dependency"
)

// OverrideRequest asks to isolate a dependency or to hold it closed. Exactly
// one of For, Until and NoExpiry says how long.
type OverrideRequest struct {
	Mode      string     `json:"mode" enum:"isolated,held-closed" doc:"isolated: cut off; held-closed: all calls pass, whatever the rules say"`
	For       string     `json:"for,omitempty" example:"1h30m" doc:"How long, such as 45m or 1h30m"`
	Until     *time.Time `json:"until,omitempty" doc:"Until when; must lie ahead"`
	NoExpiry  bool       `json:"no_expiry,omitempty" doc:"Until it is released"`
	Reason    string     `json:"reason" minLength:"1" maxLength:"500" pattern:"\\S" patternDescription:"text" doc:"Why; shown to everybody who looks"`
	By        string     `json:"by,omitempty" maxLength:"100" doc:"Who; without it the address that the request came from is noted"`
	IfVersion *uint64    `json:"if_version,omitempty" doc:"Act only if the dependency still has this version"`
}

// end works out when the override ends; the zero time is never. A fault is
// reported at its field.
func (r OverrideRequest) end(now time.Time) (time.Time, error) {
	given := 0
	for _, is := range []bool{r.For != "", r.Until != nil, r.NoExpiry} {
		if is {
			given++
		}
	}
	if given != 1 {
		return time.Time{}, invalid("body", "give exactly one of for, until and no_expiry: how long?", nil)
	}
	switch {
	case r.Until != nil:
		if !r.Until.After(now) {
			return time.Time{}, invalid("body.until", "must lie ahead", r.Until)
		}
		return *r.Until, nil
	case r.For != "":
		d, err := time.ParseDuration(r.For)
		if err != nil || d <= 0 {
			return time.Time{}, invalid("body.for", "must be a time above 0, such as 45m or 1h30m", r.For)
		}
		return now.Add(d), nil
	}
	return time.Time{}, nil
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

type releaseInput struct {
	ID        string `path:"id" doc:"ID of the dependency"`
	Reason    string `query:"reason" maxLength:"500" doc:"Why"`
	By        string `query:"by" maxLength:"100" doc:"Who; without it the address that the request came from is noted"`
	IfVersion int64  `query:"if_version" default:"-1" minimum:"-1" doc:"Act only if the dependency still has this version; -1: whatever it has"`
}

// Resolve refuses an empty if_version: whoever sends it meant to name one, and
// must not act on whatever version there is.
func (in *releaseInput) Resolve(ctx huma.Context) []error {
	u := ctx.URL()
	for _, v := range u.Query()["if_version"] {
		if v == "" {
			return []error{&huma.ErrorDetail{Location: "query.if_version", Message: "must be a version, or left out", Value: v}}
		}
	}
	return nil
}

func (a *api) registerOverride(routes huma.API) {
	const path = "/api/v1/dependencies/{id}/override"
	huma.Register(routes, actOperation(routes, huma.Operation{
		OperationID: "set-override",
		Method:      http.MethodPut,
		Path:        path,
		Summary:     "Isolate, or hold closed",
		Description: "Replaces an override that is already there. When it ends or is released, an isolated dependency goes half-open and one held closed goes to what the rules say.",
	}), a.setOverride)
	huma.Register(routes, actOperation(routes, huma.Operation{
		OperationID: "release-override",
		Method:      http.MethodDelete,
		Path:        path,
		Summary:     "Take the override back",
		Description: "Without an override it changes nothing and is no error.",
	}), a.releaseOverride)
}

func (a *api) setOverride(ctx context.Context, in *overrideInput) (*dependencyOutput, error) {
	req := in.Body
	until, err := req.end(time.Now())
	if err != nil {
		return nil, err
	}
	act := act{name: "override " + req.Mode, in: "body", id: in.ID, by: req.By, reason: req.Reason, until: until, ifVersion: req.IfVersion}
	return a.perform(ctx, act, func(d *dependency.Dependency, by, reason string) error {
		set := d.Breaker.Isolate
		if req.Mode == recloser.HeldClosed.String() {
			set = d.Breaker.HoldClosed
		}
		if err := set(by, reason, until); err != nil {
			return invalid("body", "the end has passed meanwhile; give a later one", nil)
		}
		return nil
	})
}

func (a *api) releaseOverride(ctx context.Context, in *releaseInput) (*dependencyOutput, error) {
	act := act{name: "release", in: "query", id: in.ID, by: in.By, reason: in.Reason}
	if in.IfVersion >= 0 {
		version := uint64(in.IfVersion)
		act.ifVersion = &version
	}
	return a.perform(ctx, act, func(d *dependency.Dependency, by, reason string) error {
		d.Breaker.Release(by, reason)
		return nil
	})
}
