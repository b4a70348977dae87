package incident

import (
	"cmp"
	"encoding/json"
	"maps"
	"slices"

	"github.com/recloser-go/recloser/gateway/internal/message"
)

// Kept is what is to be written down of one dependency.
type Kept struct {
	ID    string
	Value json.RawMessage // nil: nothing any more
}

// Changed returns what has changed since it was called last.
func (s *Incidents) Changed() []Kept {
	var all []Kept
	for id := range s.changed {
		k := Kept{ID: id}
		if r := s.records[id]; r != nil && !r.blank() {
			k.Value, _ = json.Marshal(r) // of plain values: it does not fail
		}
		all = append(all, k)
	}
	clear(s.changed)
	slices.SortFunc(all, func(a, b Kept) int { return cmp.Compare(a.ID, b.ID) })
	return all
}

// Restore takes over what was written down. Call it before all else.
func (s *Incidents) Restore(k Kept) error {
	r := &record{unseen: true}
	if err := json.Unmarshal(k.Value, r); err != nil {
		return err
	}
	s.records[k.ID] = r
	return nil
}

// Running is an incident that is not over.
type Running struct {
	message.Item      // Over: since when it is closed; zero: it is not
	Told         bool // people know of it
	Flapping     bool // one of too many: they are not told of each
}

// Running returns the incidents that are not over, the oldest first. What a maintenance
// covers is none.
func (s *Incidents) Running() []Running {
	var all []Running
	for _, id := range slices.Sorted(maps.Keys(s.records)) {
		r := s.records[id]
		i := r.Incident
		if i == nil || s.world.Covers(id) {
			continue
		}
		is := Running{Item: s.lasting(id, r, s.item(id, i)), Told: i.Told, Flapping: !r.Flapping.IsZero()}
		is.Over = i.Closed
		all = append(all, is)
	}
	slices.SortStableFunc(all, func(a, b Running) int { return a.Since.Compare(b.Since) })
	return all
}

// Lasting returns what lasts of what people were told: incidents as a Reminder,
// and what operators have set as Endless.
func (s *Incidents) Lasting() []message.Message {
	incidents, overrides := message.Message{Kind: message.Reminder}, message.Message{Kind: message.Endless}
	for _, id := range slices.Sorted(maps.Keys(s.records)) {
		r := s.records[id]
		if i := r.Incident; i != nil && i.Told {
			incidents.Items = append(incidents.Items, s.lasting(id, r, s.item(id, i)))
		}
		if o := r.Override; o != nil && !o.Quiet {
			overrides.Items = append(overrides.Items, s.lasting(id, r, o.item()))
		}
	}
	var all []message.Message
	for _, m := range []message.Message{incidents, overrides} {
		if len(m.Items) > 0 {
			all = append(all, m)
		}
	}
	return all
}

// lasting is what lasts of a dependency, as it is now.
func (s *Incidents) lasting(id string, r *record, i message.Item) message.Item {
	i.State = r.State
	return s.named(id, r, i)
}
