package admin

import (
	"context"
	"fmt"
	"net/http"
	"reflect"
	"strconv"

	"github.com/danielgtaylor/huma/v2"

	"github.com/recloser-go/recloser/gateway/internal/auth"
)

// bearer is the name of the way to sign in, in the API's description.
const bearer = "bearer"

// operation is one operation of the API with what all have in common.
type operation struct {
	huma.Operation
	role    auth.Role // who may, at least
	whole   bool      // not for callers that see one group only
	request any       // an example of the request's body; nil: it has none
	answer  any       // an example of the answer's
}

// isAct reports whether it changes something.
func (op operation) isAct() bool { return op.Method != http.MethodGet }

// register routes an operation and describes it.
func register[I, O any](a *api, op operation, do func(context.Context, *I) (*O, error)) {
	op.Security = []map[string][]string{{bearer: {}}}
	op.Middlewares = append(op.Middlewares, a.permit(op.role, op.whole))
	op.Description = fmt.Sprintf("%s\n\nRole: %s.", op.Description, op.role)
	op.Errors = append(op.Errors, http.StatusUnauthorized, http.StatusForbidden, http.StatusTooManyRequests, http.StatusServiceUnavailable)
	if op.isAct() {
		a.describeAct(&op)
	}
	huma.Register(a.routes, op.Operation, do)
	described := a.described(op)
	if op.request != nil {
		described.RequestBody.Content["application/json"].Example = op.request
	}
	if op.answer == nil {
		return
	}
	if op.DefaultStatus == 0 {
		op.DefaultStatus = http.StatusOK
	}
	for _, kind := range described.Responses[strconv.Itoa(op.DefaultStatus)].Content {
		kind.Example = op.answer
	}
}

// described returns what the description has of an operation that is registered.
func (a *api) described(op operation) *huma.Operation {
	path := a.routes.OpenAPI().Paths[op.Path]
	switch op.Method {
	case http.MethodGet:
		return path.Get
	case http.MethodPut:
		return path.Put
	case http.MethodPost:
		return path.Post
	case http.MethodPatch:
		return path.Patch
	}
	return path.Delete
}

// describeAct adds what all acts can be asked with, and answer.
func (a *api) describeAct(op *operation) {
	op.Errors = append(op.Errors, http.StatusUnprocessableEntity)
	op.Parameters = append(op.Parameters, &huma.Param{
		Name: keyHeader, In: "header",
		Description: "Any text of the client's own. The same request with the same key within 24 h is answered as the first one was and not done again, with the header Idempotency-Replayed: true; another request with that key is a 422.",
		Schema:      &huma.Schema{Type: "string", MinLength: new(1), MaxLength: new(longestKey)},
		Example:     "9f1c7c9e-6a55",
	})
	op.Responses = map[string]*huma.Response{
		"409": {
			Description: "It has changed, or the act does not fit what it is now",
			Content: map[string]*huma.MediaType{
				"application/problem+json": {Schema: a.routes.OpenAPI().Components.Schemas.Schema(reflect.TypeFor[Conflict](), true, "Conflict")},
			},
		},
	}
}

// permit refuses callers of a lesser role.
func (a *api) permit(role auth.Role, whole bool) func(huma.Context, func(huma.Context)) {
	return func(ctx huma.Context, next func(huma.Context)) {
		c := auth.From(ctx.Context())
		var why string
		switch {
		case !c.Role.Covers(role):
			why = fmt.Sprintf("%s is %s, and this takes the role %s", c.Name, withArticle(c.Role), role)
		case whole && c.Group != "":
			why = partial(c)
		default:
			next(ctx)
			return
		}
		_ = huma.WriteErr(a.routes, ctx, http.StatusForbidden, why)
	}
}

// partial says why a caller that sees one group only is refused what concerns all
// of them; "" for one that sees all.
func partial(c auth.Caller) string {
	if c.Group == "" {
		return ""
	}
	return fmt.Sprintf("%s may look at and act on the group %q only, and this concerns the whole gateway", c.Name, c.Group)
}

func withArticle(r auth.Role) string {
	if r == auth.Viewer {
		return "a viewer"
	}
	return "an " + string(r)
}

// absent is the answer of a part that this gateway has not.
func absent(what string) error {
	return huma.NewError(http.StatusNotImplemented, "this gateway has no "+what)
}
