package history

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/recloser-go/recloser"
	"github.com/recloser-go/recloser/gateway/internal/maintenance"
)

// Change is one thing that an act changes. Make it by SetOverride and its like.
type Change struct {
	kind, id string
	value    any // nil: it is deleted
}

// Override is what an operator set for a dependency.
type Override struct {
	Dependency string         `json:"dependency"`
	State      recloser.State `json:"state"` // Isolated or HeldClosed
	By         string         `json:"by"`
	Reason     string         `json:"reason"`
	Since      time.Time      `json:"since"`
	Until      time.Time      `json:"until,omitzero"` // zero: no end
}

// Definition is a dependency that was added at run time, as it was given.
type Definition struct {
	ID         string `json:"id"`
	Definition []byte `json:"definition"`
}

// Token lets somebody use the admin API. Its secret is nowhere, only its hash.
type Token struct {
	ID       string    `json:"id"`
	Name     string    `json:"name"`
	Role     string    `json:"role"`
	Group    string    `json:"group,omitempty"` // "": all
	Hash     []byte    `json:"hash"`
	Created  time.Time `json:"created"`
	Expires  time.Time `json:"expires,omitzero"` // zero: never
	LastUsed time.Time `json:"-"`                // see TokensUsed
	By       string    `json:"by,omitempty"`
}

// The kinds of what is in force.
const (
	kindOverride    = "override"
	kindDependency  = "dependency"
	kindMaintenance = "maintenance"
	kindToken       = "token"
	kindUsed        = "used" // when tokens were, in one row
	kindBreaker     = "breaker"
	kindLatency     = "latency"
	kindAnswer      = "answer"
	kindFile        = "file" // which one it is
)

// SetOverride keeps what an operator set, in place of what he set before.
func SetOverride(o Override) Change { return Change{kindOverride, o.Dependency, o} }

// ClearOverride forgets it.
func ClearOverride(dependency string) Change { return Change{kindOverride, dependency, nil} }

// PutDependency keeps a dependency that was added or changed at run time.
func PutDependency(id string, definition []byte) Change {
	return Change{kindDependency, id, Definition{id, definition}}
}

// DeleteDependency forgets it, what was set for it, and what was saved of its
// breakers.
func DeleteDependency(id string) Change { return Change{kindDependency, id, nil} }

// PutMaintenance keeps a window.
func PutMaintenance(w maintenance.Window) Change { return Change{kindMaintenance, w.ID, w} }

// DeleteMaintenance forgets it.
func DeleteMaintenance(id string) Change { return Change{kindMaintenance, id, nil} }

// PutToken keeps a token, or a change to it.
func PutToken(t Token) Change { return Change{kindToken, t.ID, t} }

// DeleteToken forgets it.
func DeleteToken(id string) Change { return Change{kindToken, id, nil} }

// PutTokensUsed keeps when each token was used last, by ID, in place of what was kept
// before. It is beside the tokens: to write one anew would bring back one that another
// process has just revoked.
func PutTokensUsed(at map[string]time.Time) Change { return Change{kindUsed, kindToken, at} }

// SaveBreaker keeps what a dependency's own breaker saved, in the same
// transaction as the act that changed it. What was learned of its latency stays
// as it was saved last.
func SaveBreaker(id string, s recloser.Saved) Change {
	return Change{kindBreaker, breakerID(id, ""), BreakerSave{ID: id, Saved: s}}
}

// Remembered keeps the answer to a request with an Idempotency-Key, in the same
// transaction as the act. Replay returns it for 24 h.
func Remembered(key string, request, answer []byte) Change {
	return Change{kindAnswer, key, given{request, answer}}
}

// encode writes changes down.
func (h *History) encode(changes []Change) ([]row, error) {
	at := h.o.Now().UnixMilli()
	rows := make([]row, 0, len(changes))
	for _, c := range changes {
		if c.kind == "" || c.id == "" {
			return nil, fmt.Errorf("history: a change of kind %q has no id", c.kind)
		}
		r := row{kind: c.kind, id: c.id, at: at}
		if c.value != nil {
			text, err := json.Marshal(c.value)
			if err != nil {
				return nil, fmt.Errorf("history: %s %s: %w", c.kind, c.id, err)
			}
			r.value = text
		}
		rows = append(rows, r)
	}
	return rows, nil
}

// Overrides returns what operators have set, by dependency.
func (h *History) Overrides(ctx context.Context) ([]Override, error) {
	return kept[Override](ctx, h, kindOverride)
}

// Dependencies returns those that were added at run time, by ID.
func (h *History) Dependencies(ctx context.Context) ([]Definition, error) {
	return kept[Definition](ctx, h, kindDependency)
}

// Maintenance returns all windows, by ID.
func (h *History) Maintenance(ctx context.Context) ([]maintenance.Window, error) {
	return kept[maintenance.Window](ctx, h, kindMaintenance)
}

// Tokens returns all tokens, by ID. One that another process has made or
// revoked on the same file counts within half a second.
func (h *History) Tokens(ctx context.Context) ([]Token, error) {
	return kept[Token](ctx, h, kindToken)
}

// TokensUsed returns what PutTokensUsed kept last.
func (h *History) TokensUsed(ctx context.Context) (map[string]time.Time, error) {
	all, err := kept[map[string]time.Time](ctx, h, kindUsed)
	if len(all) == 0 {
		return nil, err
	}
	return all[0], err
}

// kept returns what is in force of one kind, by id. What cannot be read is
// left out, and named in the error.
func kept[T any](ctx context.Context, h *History, kind string) (all []T, err error) {
	rows, err := h.mem.rowsOf(context.WithoutCancel(ctx), kind)
	for _, r := range rows {
		var v T
		if e := json.Unmarshal(r.value, &v); e != nil {
			err = errors.Join(err, fmt.Errorf("history: %s %s: %w", kind, r.id, e))
			continue
		}
		all = append(all, v)
	}
	return all, err
}
