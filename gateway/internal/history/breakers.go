package history

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"

	"github.com/recloser-go/recloser"
)

// BreakerSave is what a breaker carries over a restart.
type BreakerSave struct {
	ID      string         `json:"id"`            // the dependency's
	Key     string         `json:"key,omitempty"` // which one of its breakers; "" is its own
	Saved   recloser.Saved `json:"saved"`
	Latency []byte         `json:"latency,omitempty"` // of the learned suspect limit
}

// breakerID is what a breaker is found by. No ID has a line break in it.
func breakerID(dependency, key string) string {
	if key == "" {
		return dependency
	}
	return dependency + "\n" + key
}

// SaveBreakers keeps them, in place of what was saved before; what has no Latency
// keeps the one it had. It returns when they are on disk; without a disk they are
// kept in memory.
func (h *History) SaveBreakers(ctx context.Context, saves []BreakerSave) error {
	changes := make([]Change, 0, 2*len(saves))
	for _, s := range saves {
		id, latency := breakerID(s.ID, s.Key), s.Latency
		s.Latency = nil
		changes = append(changes, Change{kindBreaker, id, s})
		if latency != nil {
			changes = append(changes, Change{kindLatency, id, latency})
		}
	}
	return h.Commit(ctx, Act{}, changes...)
}

// Breakers returns what was saved last of each, by ID and key. Those that were
// not saved for 400 days are forgotten.
func (h *History) Breakers(ctx context.Context) ([]BreakerSave, error) {
	saves, err := kept[BreakerSave](ctx, h, kindBreaker)
	if err != nil {
		return saves, err
	}
	rows, err := h.mem.rowsOf(context.WithoutCancel(ctx), kindLatency)
	if err != nil {
		return saves, err
	}
	latency := map[string][]byte{}
	for _, r := range rows {
		latency[r.id] = r.value
	}
	for i := range saves {
		s := &saves[i]
		if text := latency[breakerID(s.ID, s.Key)]; text != nil {
			err = errors.Join(err, json.Unmarshal(text, &s.Latency))
		}
	}
	return saves, err
}

// belongings returns the rows that go together with a dependency, as deleted:
// those in force, and those that the same act has put.
func (h *History) belongings(ctx context.Context, dependency string, put []row) ([]row, error) {
	gone := []row{{kind: kindOverride, id: dependency}}
	for _, kind := range []string{kindBreaker, kindLatency} {
		rows, err := h.mem.rowsOf(ctx, kind)
		if err != nil {
			return nil, err
		}
		for _, r := range slices.Concat(rows, put) {
			if r.kind == kind && (r.id == dependency || strings.HasPrefix(r.id, dependency+"\n")) {
				gone = append(gone, row{kind: kind, id: r.id})
			}
		}
	}
	return gone, nil
}
