package history

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/recloser-go/recloser/gateway/internal/maintenance"
)

// Shared is something in force that the nodes of a fleet have in common, and what
// this one knows of the fleet's copy.
type Shared struct {
	Kind, ID string
	Value    json.RawMessage // nil: it is no more
	Rev      Rev             // of the fleet's copy, as this node knows it last; zero: there was none
	Changes  uint64          // made here, ever
	Unsaid   bool            // the last of them is not in the fleet's copy yet
}

// Rev names a version of the fleet's copy.
type Rev struct {
	Epoch uint64 `json:"epoch,omitempty"`
	ID    uint64 `json:"id,omitempty"`
}

// The kinds that nodes of a fleet share, besides what operators set: that is part of
// what the fleet says of a breaker.
const (
	SharedDependency  = kindDependency
	SharedMaintenance = kindMaintenance
	SharedIncident    = kindIncident
	SharedDelivery    = kindDelivery
)

var sharedKinds = []string{SharedDependency, SharedMaintenance, SharedIncident, SharedDelivery}

// kindShared is of the rows that say what is known of the fleet's copies.
const kindShared = "shared"

// copied is such a row.
type copied struct {
	Rev
	Changes uint64 `json:"changes,omitempty"`
	Unsaid  bool   `json:"unsaid,omitempty"`
}

func (c copied) row(of name, at int64) (row, error) {
	text, err := json.Marshal(c)
	return row{kindShared, of.kind + "/" + of.id, at, text}, err
}

// copyOf returns what is known of the fleet's copy.
func (h *History) copyOf(ctx context.Context, of name) (c copied, err error) {
	r, found, err := h.mem.row(ctx, name{kindShared, of.kind + "/" + of.id})
	if err == nil && found {
		err = json.Unmarshal(r.value, &c)
	}
	return c, err
}

// unsay returns the rows that mark what rows change as not in the fleet's copy. It needs the turn.
func (h *History) unsay(ctx context.Context, rows []row) (marks []row, err error) {
	if h.o.Fleet == nil {
		return nil, nil
	}
	for _, r := range rows {
		if !slices.Contains(sharedKinds, r.kind) {
			continue
		}
		c, err := h.copyOf(ctx, r.name())
		if err != nil {
			return nil, err
		}
		c.Changes++
		c.Unsaid = true
		mark, err := c.row(r.name(), r.at)
		if err != nil {
			return nil, err
		}
		marks = append(marks, mark)
	}
	return marks, nil
}

// AllShared returns all that the nodes of a fleet share, what is no more included.
func (h *History) AllShared(ctx context.Context) ([]Shared, error) {
	return h.allShared(ctx, func(copied) bool { return true })
}

// Unsaid returns those of AllShared that are unsaid.
func (h *History) Unsaid(ctx context.Context) ([]Shared, error) {
	return h.allShared(ctx, func(c copied) bool { return c.Unsaid })
}

func (h *History) allShared(ctx context.Context, wanted func(copied) bool) (all []Shared, err error) {
	rows, err := h.mem.rowsOf(context.WithoutCancel(ctx), kindShared)
	known := make(map[name]bool)
	for _, r := range rows {
		kind, id, _ := strings.Cut(r.id, "/")
		known[name{kind, id}] = true
		var c copied
		if e := json.Unmarshal(r.value, &c); e != nil || !wanted(c) {
			err = errors.Join(err, e)
			continue
		}
		s, e := h.shared(ctx, name{kind, id})
		err = errors.Join(err, e)
		all = append(all, s)
	}
	for _, kind := range sharedKinds { // of before there was a fleet
		rows, e := h.mem.rowsOf(context.WithoutCancel(ctx), kind)
		err = errors.Join(err, e)
		for _, r := range rows {
			if !known[r.name()] {
				all = append(all, Shared{Kind: r.kind, ID: r.id, Value: r.value, Unsaid: true})
			}
		}
	}
	return all, err
}

func (h *History) shared(ctx context.Context, of name) (Shared, error) {
	ctx = context.WithoutCancel(ctx)
	c, err := h.copyOf(ctx, of)
	r, _, err2 := h.mem.row(ctx, of)
	return Shared{Kind: of.kind, ID: of.id, Value: r.value, Rev: c.Rev, Changes: c.Changes, Unsaid: c.Unsaid}, errors.Join(err, err2)
}

// ErrNotShared is a version that no node of this release has made.
var ErrNotShared = errors.New("it is nothing that nodes share")

// check returns ErrNotShared if s must not be taken over: whoever can write to the store
// could make tokens otherwise, or have a restart trip over what cannot be read.
func (s *Shared) check() error {
	var id string
	var err error
	switch s.Kind {
	case kindDependency:
		var d Definition
		err, id = json.Unmarshal(s.Value, &d), d.ID
	case kindMaintenance:
		var w maintenance.Window
		if err = json.Unmarshal(s.Value, &w); err == nil {
			err, id = w.Validate(), w.ID
		}
	case kindIncident, kindDelivery: // what is in them is alerts' own
		err, id = json.Unmarshal(s.Value, &json.RawMessage{}), s.ID
	default:
		return ErrNotShared
	}
	switch {
	case s.Value == nil || err == nil && id == s.ID:
		return nil
	case err == nil:
		err = fmt.Errorf("it is of %q", id)
	}
	return fmt.Errorf("%w: %w", ErrNotShared, err)
}

// Adopt takes over another node's version s of something, and reports whether it did:
// a change of this node that the fleet does not know yet comes after it. What no node can
// have made is ErrNotShared.
func (h *History) Adopt(ctx context.Context, s Shared) (taken bool, err error) {
	if err := s.check(); err != nil {
		return false, err
	}
	of := name{s.Kind, s.ID}
	err = h.change(ctx, func() (*batch, error) {
		c, err := h.copyOf(context.WithoutCancel(ctx), of)
		if err != nil {
			return nil, err
		}
		c.Rev = s.Rev
		at := h.o.Now().UnixMilli()
		mark, err := c.row(of, at)
		w := &batch{rows: []row{mark}}
		if taken = !c.Unsaid; taken {
			w.rows = append(w.rows, row{s.Kind, s.ID, at, s.Value})
		}
		if taken && s.Kind == kindDependency && s.Value == nil {
			belongs, e := h.belongings(context.WithoutCancel(ctx), s.ID, nil)
			w.rows, err = append(w.rows, belongs...), errors.Join(err, e)
		}
		return w, err
	})
	return taken && err == nil, err
}

// Said notes that the fleet's copy has the change s.Changes since s.Rev is its version.
// What has changed here since is still unsaid. If forget is set and that is the last
// of something that is no more, nothing is known of it any longer.
func (h *History) Said(ctx context.Context, s Shared, forget bool) error {
	of := name{s.Kind, s.ID}
	return h.change(ctx, func() (*batch, error) {
		c, err := h.copyOf(context.WithoutCancel(ctx), of)
		if err != nil {
			return nil, err
		}
		c.Rev = s.Rev
		c.Unsaid = c.Changes != s.Changes
		mark, err := c.row(of, h.o.Now().UnixMilli())
		if forget && !c.Unsaid {
			mark.value = nil
		}
		return &batch{rows: []row{mark}}, err
	})
}

// SharedOf returns one of AllShared, as nothing if there is none.
func (h *History) SharedOf(ctx context.Context, kind, id string) (Shared, error) {
	return h.shared(ctx, name{kind, id})
}
