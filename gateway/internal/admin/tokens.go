package admin

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/danielgtaylor/huma/v2"

	"github.com/recloser-go/recloser/gateway/internal/auth"
	"github.com/recloser-go/recloser/gateway/internal/config"
	"github.com/recloser-go/recloser/gateway/internal/history"
)

// TokenRequest makes a token.
type TokenRequest struct {
	Name  string `json:"name" minLength:"1" maxLength:"100" doc:"Who or what uses it, for the audit; each has one of its own"`
	Role  string `json:"role" enum:"viewer,operator,admin" doc:"viewer looks; operator isolates, holds closed, releases, tries, resets and plans maintenance; admin does all"`
	Group string `json:"group,omitempty" maxLength:"100" doc:"It sees and acts on dependencies of this group only; default: on all"`
	Lasting
	Reason string `json:"reason,omitempty" maxLength:"500" doc:"Why"`
	By     string `json:"by,omitempty" maxLength:"100" doc:"Who makes it; noted beside the token's name"`
}

// Token lets somebody in.
type Token struct {
	ID       string     `json:"id" doc:"The part of it that is no secret"`
	Name     string     `json:"name"`
	Role     string     `json:"role" enum:"viewer,operator,admin"`
	Group    string     `json:"group" doc:"Empty: all"`
	Created  time.Time  `json:"created"`
	By       string     `json:"by" doc:"Who made it"`
	Expires  *time.Time `json:"expires" doc:"null: never"`
	LastUsed *time.Time `json:"last_used" doc:"By the second, and what a kill has cost is at most the last minute of it; in a fleet, on this node. null: never"`
	Secret   string     `json:"secret,omitempty" doc:"The token itself: in the answer to its making, and nowhere else ever"`
}

func newToken(t history.Token) Token {
	return Token{
		ID: t.ID, Name: t.Name, Role: t.Role, Group: t.Group, Created: stamp(t.Created), By: t.By,
		Expires: stampOrNull(t.Expires), LastUsed: stampOrNull(t.LastUsed),
	}
}

// TokenList is all tokens.
type TokenList struct {
	Tokens []Token `json:"tokens" nullable:"false"`
}

type (
	tokenInput  struct{ Body TokenRequest }
	revokeInput struct {
		ID string `path:"id" doc:"ID of the token"`
		Words
	}
	tokenOutput     struct{ Body Token }
	tokenListOutput struct{ Body TokenList }
)

const tokensPath = "/api/v1/tokens" //nolint:gosec // a path

func (a *api) registerTokens() {
	example := Token{
		ID: "k3v7q2ab", Name: "cms", Role: "operator", Group: "coast", Created: exampleTime, By: "ines", Expires: new(exampleTime.AddDate(0, 3, 0)),
	}
	made := example
	made.Secret = "rcl_k3v7q2ab_…"
	register(a, operation{
		Operation: huma.Operation{
			OperationID: "list-tokens", Method: http.MethodGet, Path: tokensPath,
			Summary:     "Tokens",
			Description: "Without their secrets, which are kept nowhere.",
			Errors:      []int{http.StatusNotImplemented},
		},
		role: auth.Admin, whole: true, answer: TokenList{[]Token{example}},
	}, a.listTokens)
	register(a, operation{
		Operation: huma.Operation{
			OperationID: "create-token", Method: http.MethodPost, Path: tokensPath, DefaultStatus: http.StatusCreated,
			Summary:     "Make a token",
			Description: "The answer has its secret, this once: an answer that is replayed for an Idempotency-Key has not.",
		},
		role: auth.Admin, whole: true, answer: made,
		request: TokenRequest{Name: "cms", Role: "operator", Group: "coast", Lasting: Lasting{For: "90d"}, By: "ines"},
	}, a.createToken)
	register(a, operation{
		Operation: huma.Operation{
			OperationID: "revoke-token", Method: http.MethodDelete, Path: tokensPath + "/{id}",
			Summary:     "Revoke a token",
			Description: "The next request with it gets 401.",
			Errors:      []int{http.StatusNotFound},
		},
		role: auth.Admin, whole: true,
	}, a.revokeToken)
}

func (a *api) listTokens(ctx context.Context, _ *struct{}) (*tokenListOutput, error) {
	if a.Tokens == nil || a.History == nil {
		return nil, absent("tokens")
	}
	all, err := a.Tokens.All(ctx)
	if err != nil {
		return nil, a.unread(ctx, err)
	}
	out := &tokenListOutput{TokenList{[]Token{}}}
	for _, t := range all {
		out.Body.Tokens = append(out.Body.Tokens, newToken(t))
	}
	return out, nil
}

func (a *api) createToken(ctx context.Context, in *tokenInput) (*tokenOutput, error) {
	if a.Tokens == nil || a.History == nil {
		return nil, absent("tokens")
	}
	req := in.Body
	w, err := whoActs(ctx, "body", req.By, req.Reason)
	if err != nil {
		return nil, err
	}
	expires, err := req.end(w.at)
	if err != nil {
		return nil, err
	}
	name, group := strings.TrimSpace(req.Name), strings.TrimSpace(req.Group)
	switch {
	case name == "" || strings.ContainsFunc(name+group, unicode.IsControl):
		return nil, invalid("body.name", "must be one line with text in it", req.Name)
	case group == config.Everyone:
		return nil, invalid("body.group", "leave it out: a token without a group is for all", req.Group)
	}
	end, err := a.begin(ctx)
	if err != nil {
		return nil, err
	}
	defer end()
	all, err := a.Tokens.All(ctx)
	if err != nil {
		return nil, a.unread(ctx, err)
	}
	if slices.ContainsFunc(all, func(t history.Token) bool { return t.Name == name }) {
		return nil, newConflict(fmt.Sprintf("a token %q is there already; revoke it first, or take another name", name))
	}
	secret, t := auth.Create(name, auth.Role(req.Role), group, expires)
	t.By = w.by
	entry := a.entry("create token", t.ID, w, expires)
	if err := a.commit(ctx, entry, history.PutToken(t)); err != nil {
		return nil, err
	}
	a.logAct(ctx, "token", entry)
	out := &tokenOutput{newToken(t)}
	out.Body.Secret = secret
	return out, nil
}

func (a *api) revokeToken(ctx context.Context, in *revokeInput) (*struct{}, error) {
	if a.Tokens == nil || a.History == nil {
		return nil, absent("tokens")
	}
	w, end, err := a.takeTurn(ctx, "query", in.By, in.Reason)
	if err != nil {
		return nil, err
	}
	defer end()
	all, err := a.Tokens.All(ctx)
	if err != nil {
		return nil, a.unread(ctx, err)
	}
	if !slices.ContainsFunc(all, func(t history.Token) bool { return t.ID == in.ID }) {
		return nil, huma.Error404NotFound(fmt.Sprintf("no token %q; recloser token list shows those there are, and so does GET %s", cut(in.ID, 64), tokensPath))
	}
	entry := a.entry("revoke token", in.ID, w, time.Time{})
	if err := a.commit(ctx, entry, history.DeleteToken(in.ID)); err != nil {
		return nil, err
	}
	a.logAct(ctx, "token", entry)
	return nil, nil
}
