package history

import (
	"context"
	"encoding/json"
)

// Record is something that alerts keep. What is in it is theirs: it is given and
// comes back as JSON.
type Record struct {
	ID    string
	Value json.RawMessage
}

const (
	kindIncident = "incident"
	kindDelivery = "delivery"
)

// PutIncident keeps what alerts know of a dependency; a nil value forgets it.
func PutIncident(id string, value json.RawMessage) Change { return keep(kindIncident, id, value) }

// PutDelivery keeps a message to a channel, sent or not; a nil value forgets it.
func PutDelivery(id string, value json.RawMessage) Change { return keep(kindDelivery, id, value) }

func keep(kind, id string, value json.RawMessage) Change {
	if value == nil {
		return Change{kind, id, nil}
	}
	return Change{kind, id, value}
}

// Incidents returns what alerts know of dependencies, by ID.
func (h *History) Incidents(ctx context.Context) ([]Record, error) {
	return h.records(ctx, kindIncident)
}

// Deliveries returns messages to channels, by ID.
func (h *History) Deliveries(ctx context.Context) ([]Record, error) {
	return h.records(ctx, kindDelivery)
}

func (h *History) records(ctx context.Context, kind string) (all []Record, err error) {
	rows, err := h.mem.rowsOf(context.WithoutCancel(ctx), kind)
	for _, r := range rows {
		all = append(all, Record{r.id, r.value})
	}
	return all, err
}
