package admin

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"reflect"
	"strings"
	"time"
	"unicode"

	"github.com/danielgtaylor/huma/v2"

	"github.com/recloser-go/recloser/gateway/internal/dependency"
)

// act is something an operator does to a dependency.
type act struct {
	name      string // for the log
	in        string // where the request has by and reason: "body" or "query"
	id        string // of the dependency
	by        string // "" for the address that the request came from
	reason    string
	until     time.Time // zero: no end
	ifVersion *uint64   // nil: whatever version it has
}

// perform does an act, logs it and returns the dependency as it is then. It
// fails with 404 for an unknown dependency, with 422 for a text that is not one
// line, with 409 if the dependency has
// another version, and with what do returns.
func (a *api) perform(ctx context.Context, act act, do func(d *dependency.Dependency, by, reason string) error) (*dependencyOutput, error) {
	d, err := a.find(act.id)
	if err != nil {
		return nil, err
	}
	from := caller(ctx)
	by, reason := strings.TrimSpace(act.by), strings.TrimSpace(act.reason)
	for field, text := range map[string]string{"by": by, "reason": reason} {
		if strings.ContainsFunc(text, unicode.IsControl) {
			return nil, invalid(act.in+"."+field, "must be one line, without control characters", text)
		}
	}
	if by == "" {
		by = fmt.Sprintf("operator (%s)", from)
	}

	a.acts.Lock()
	defer a.acts.Unlock()
	if version := d.Breaker.Stats().Seq; act.ifVersion != nil && *act.ifVersion != version {
		return nil, newConflict(d, fmt.Sprintf(
			"%s has changed meanwhile: it is at version %d, not %d; look again and decide anew", d.ID, version, *act.ifVersion))
	}
	if err := do(d, by, reason); err != nil {
		return nil, err
	}
	attrs := []slog.Attr{
		slog.String("act", act.name), slog.String("dependency", d.ID),
		slog.String("by", by), slog.String("reason", reason), slog.String("from", from),
	}
	if !act.until.IsZero() {
		attrs = append(attrs, slog.Time("until", act.until))
	}
	a.Log.LogAttrs(ctx, slog.LevelInfo, "operator's act", attrs...)
	return &dependencyOutput{Body: newDependency(d)}, nil
}

// ActRequest says who acts and why. All of it may be left out.
type ActRequest struct {
	Reason    string  `json:"reason,omitempty" maxLength:"500" doc:"Why"`
	By        string  `json:"by,omitempty" maxLength:"100" doc:"Who; without it the address that the request came from is noted"`
	IfVersion *uint64 `json:"if_version,omitempty" doc:"Act only if the dependency still has this version"`
}

type actInput struct {
	ID   string `path:"id" doc:"ID of the dependency"`
	Body *ActRequest
}

// act makes the act that the request asks for.
func (in *actInput) act(name string) act {
	var req ActRequest
	if in.Body != nil {
		req = *in.Body
	}
	return act{name: name, in: "body", id: in.ID, by: req.By, reason: req.Reason, ifVersion: req.IfVersion}
}

func (a *api) registerActs(routes huma.API) {
	huma.Register(routes, actOperation(routes, huma.Operation{
		OperationID: "start-trial",
		Method:      http.MethodPost,
		Path:        "/api/v1/dependencies/{id}/trial",
		Summary:     "Try an open dependency now",
		Description: "The next call goes through as a trial; only trials that end well close the breaker. 409 if it is not open.",
	}), a.startTrial)
	huma.Register(routes, actOperation(routes, huma.Operation{
		OperationID: "reset",
		Method:      http.MethodPost,
		Path:        "/api/v1/dependencies/{id}/reset",
		Summary:     "Close and forget",
		Description: "Closed, with an empty window and the first open time. An override stays.",
	}), a.reset)
}

func (a *api) startTrial(ctx context.Context, in *actInput) (*dependencyOutput, error) {
	return a.perform(ctx, in.act("trial"), func(d *dependency.Dependency, by, reason string) error {
		if !d.Breaker.TryNow(by, reason) {
			return newConflict(d, fmt.Sprintf("%s is not open but %s: there is nothing to try", d.ID, d.Breaker.State()))
		}
		return nil
	})
}

func (a *api) reset(ctx context.Context, in *actInput) (*dependencyOutput, error) {
	return a.perform(ctx, in.act("reset"), func(d *dependency.Dependency, by, reason string) error {
		d.Breaker.Reset(by, reason)
		return nil
	})
}

// actOperation adds what all acts have in common to the description.
func actOperation(routes huma.API, op huma.Operation) huma.Operation {
	op.Errors = []int{http.StatusForbidden, http.StatusNotFound, http.StatusUnprocessableEntity}
	op.Responses = map[string]*huma.Response{
		"409": {
			Description: "The dependency has changed, or the act does not fit its state",
			Content: map[string]*huma.MediaType{
				"application/problem+json": {Schema: routes.OpenAPI().Components.Schemas.Schema(reflect.TypeFor[Conflict](), true, "Conflict")},
			},
		},
	}
	return op
}

type callerKey struct{}

// rememberCaller keeps the address a request came from for the handlers, which
// see the context only.
func rememberCaller(ctx huma.Context, next func(huma.Context)) {
	addr := ctx.RemoteAddr()
	if host, _, err := net.SplitHostPort(addr); err == nil {
		addr = host
	}
	next(huma.WithValue(ctx, callerKey{}, addr))
}

func caller(ctx context.Context) string {
	addr, _ := ctx.Value(callerKey{}).(string)
	return addr
}
