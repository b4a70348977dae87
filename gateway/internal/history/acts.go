package history

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"time"
)

// Act is what somebody did: the audit's line.
type Act struct {
	ID     int64           `json:"id"`
	At     time.Time       `json:"at"` // kept to the millisecond; default: now
	Name   string          `json:"name"`
	Target string          `json:"target,omitempty"` // a dependency, a window, a token
	By     string          `json:"by"`
	Role   string          `json:"role,omitempty"`
	From   string          `json:"from,omitempty"` // address
	Reason string          `json:"reason,omitempty"`
	Until  time.Time       `json:"until,omitzero"`
	Result string          `json:"result,omitempty"`
	Key    string          `json:"key,omitempty"` // of idempotency
	Detail json.RawMessage `json:"detail,omitempty"`
}

// ActQuery selects acts; a zero field selects all.
type ActQuery struct {
	Target string
	By     string
	Name   string
	Since  time.Time // at that moment or later
	Until  time.Time // before it
	After  int64     // with a greater ID: the answer is in order then, oldest first; else newest first
	Before int64     // with a smaller ID
	Limit  int       // at most; default 100, never above 10 000
}

// Acts returns the acts that q selects. Without a disk it knows only the last
// ones.
func (h *History) Acts(ctx context.Context, q ActQuery) ([]Act, error) {
	entries, err := read(ctx, h, func(ctx context.Context, b *base) ([]entry, error) { return b.acts(ctx, q) })
	var acts []Act
	for _, e := range entries {
		acts = append(acts, e.Act)
	}
	return acts, err
}

func (b *base) acts(ctx context.Context, q ActQuery) ([]entry, error) {
	var f filter
	f.equal("target", q.Target)
	f.equal("by", q.By)
	f.equal("name", q.Name)
	f.between(q.Since, q.Until, q.After, q.Before)
	rows, err := b.r.QueryContext(ctx, "SELECT * FROM act "+f.where(q.After > 0, q.Limit), f.values...) //nolint:gosec // the text is this package's own; what comes from outside is bound
	if err != nil {
		return nil, err
	}
	defer func() { _ = rows.Close() }()
	var acts []entry
	for rows.Next() {
		var a entry
		var at, until int64
		var detail string
		if err := rows.Scan(&a.ID, &a.nonce, &at, &a.Name, &a.Target, &a.By, &a.Role, &a.From, &a.Reason, &until,
			&a.Result, &a.Key, &detail); err != nil {
			return nil, err
		}
		a.At, a.Until = fromMilli(at), fromMilli(until)
		if detail != "" {
			a.Detail = json.RawMessage(detail)
		}
		acts = append(acts, a)
	}
	return acts, rows.Err()
}

// Commit keeps an act and what it changes, all or nothing. When it returns nil
// they are on disk; without one they are in memory, Status says so, and they are
// written when there is one again. An act without a Name makes no entry. An
// error means that nothing was changed: ctx was done before its turn came, or a
// change cannot be written down.
func (h *History) Commit(ctx context.Context, a Act, changes ...Change) error {
	if a.Detail != nil && !json.Valid(a.Detail) {
		return fmt.Errorf("history: the detail of the act %s is no JSON", a.Name)
	}
	rows, err := h.encode(changes)
	if err != nil {
		return err
	}
	shares := false
	err = h.change(ctx, func() (*batch, error) {
		w := &batch{}
		for _, r := range rows {
			w.rows = append(w.rows, r)
			if r.kind == kindDependency && r.value == nil {
				belongs, err := h.belongings(context.WithoutCancel(ctx), r.id, w.rows)
				if err != nil {
					return nil, err
				}
				w.rows = append(w.rows, belongs...)
			}
		}
		marks, err := h.unsay(context.WithoutCancel(ctx), w.rows)
		if err != nil {
			return nil, err
		}
		shares = len(marks) > 0
		w.rows = append(w.rows, marks...)
		if a.Name != "" {
			if a.At.IsZero() {
				a.At = h.o.Now()
			}
			h.mu.Lock()
			a.ID = h.nextID()
			h.mu.Unlock()
			w.acts = []entry{{a, rand.Int64()}}
		}
		return w, nil
	})
	if err == nil && shares {
		h.o.Fleet()
	}
	return err
}
