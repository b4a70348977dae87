package main

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/recloser-go/recloser/gateway/internal/auth"
	"github.com/recloser-go/recloser/gateway/internal/client"
	"github.com/recloser-go/recloser/gateway/internal/config"
	"github.com/recloser-go/recloser/gateway/internal/history"
	"github.com/recloser-go/recloser/internal/suggest"
)

// storage opens the file where a gateway keeps its tokens, beside the gateway if
// that runs. The first token of all is made here: nobody can show one yet.
func (t *tokenRun) storage() (*history.History, error) {
	c, err := config.Load(t.config, config.Environment()...)
	switch {
	case err != nil:
		return nil, exit{exitBadConfig, err}
	case c.Storage.Path == "":
		return nil, exit{exitFailed, fmt.Errorf("%s has storage: off, so no token outlives its gateway: make one at the gateway, without -c", t.config)}
	}
	if owner, yes := strangerTo(c.Storage.Path); yes { // what root makes beside the file, the gateway could not write
		return nil, exit{exitFailed, fmt.Errorf("the storage %s is of another user: run this as that one, with sudo -u '#%d'", c.Storage.Path, owner)}
	}
	h := history.Open(history.Options{Path: c.Storage.Path, Beside: true})
	if s := h.Status(); !s.OnDisk {
		_ = h.Close(context.Background())
		return nil, exit{exitFailed, fmt.Errorf("the storage %s cannot be used: %s", s.Path, s.Fault)}
	}
	return h, nil
}

func (t *tokenRun) createOffline(ctx context.Context, expires time.Time) (token client.NewToken, body []byte, err error) {
	h, err := t.storage()
	if err != nil {
		return token, nil, err
	}
	defer h.Close(ctx)
	secret, kept := auth.Create(t.name, auth.Role(t.role), t.group, expires.UTC().Truncate(time.Second))
	if expires.IsZero() {
		kept.Expires = time.Time{}
	}
	kept.By = by()
	if err := h.Commit(ctx, t.audit("create token", kept.ID), history.PutToken(kept)); err != nil {
		return token, nil, fmt.Errorf("the token is not made: %w", err)
	}
	token = client.NewToken{Token: shown(kept), Secret: secret}
	body, err = json.Marshal(token) //nolint:gosec // to show the secret is what the command is for
	return token, body, err
}

func (t *tokenRun) listOffline(ctx context.Context) ([]client.Entry[client.Token], time.Time, error) {
	h, err := t.storage()
	if err != nil {
		return nil, time.Time{}, err
	}
	defer h.Close(ctx)
	all, err := auth.NewTokens(h, nil).All(ctx)
	if err != nil {
		return nil, time.Time{}, err
	}
	entries := make([]client.Entry[client.Token], len(all))
	for i, kept := range all {
		entries[i].Value = shown(kept)
		if entries[i].Raw, err = json.Marshal(entries[i].Value); err != nil {
			return nil, time.Time{}, err
		}
	}
	return entries, time.Now(), nil
}

func (t *tokenRun) revokeOffline(ctx context.Context, id string) error {
	h, err := t.storage()
	if err != nil {
		return err
	}
	defer h.Close(ctx)
	all, err := h.Tokens(ctx)
	if err != nil {
		return err
	}
	var ids []string
	for _, kept := range all {
		ids = append(ids, kept.ID)
	}
	if !slices.Contains(ids, id) {
		return exit{exitNotFound, fmt.Errorf("no token %q; %s", id, suggest.DidYouMean(id, slices.Values(ids)))}
	}
	return h.Commit(ctx, t.audit("revoke token", id), history.DeleteToken(id))
}

// audit is what the gateway's own record says of it.
func (t *tokenRun) audit(name, id string) history.Act {
	return history.Act{Name: name, Target: id, By: by(), Role: string(auth.Admin), From: "command line", Reason: t.reason, Result: "done"}
}

// shown is a token without what only the storage needs.
func shown(t history.Token) client.Token {
	out := client.Token{ID: t.ID, Name: t.Name, Role: t.Role, Group: t.Group, Created: t.Created, By: t.By}
	if !t.Expires.IsZero() {
		out.Expires = &t.Expires
	}
	if !t.LastUsed.IsZero() {
		out.LastUsed = &t.LastUsed
	}
	return out
}
