package history

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"time"
)

// ErrKeyReused is returned for an Idempotency-Key that came before with another
// request.
var ErrKeyReused = errors.New("history: the Idempotency-Key was used for another request; take a new one")

// remembered is how long an answer is kept.
const remembered = 24 * time.Hour

// given is an answer that was given.
type given struct {
	Request []byte `json:"request"`
	Answer  []byte `json:"answer"`
}

// Replay returns the answer that was given to a request with that key, for 24 h.
// If the request is not the same it returns ErrKeyReused.
func (h *History) Replay(ctx context.Context, key string, request []byte) (answer []byte, found bool, err error) {
	r, found, err := h.mem.row(context.WithoutCancel(ctx), name{kindAnswer, key})
	if err != nil || !found || h.o.Now().Sub(fromMilli(r.at)) > remembered {
		return nil, false, err
	}
	var g given
	if err := json.Unmarshal(r.value, &g); err != nil {
		return nil, false, err
	}
	if !bytes.Equal(g.Request, request) {
		return nil, false, ErrKeyReused
	}
	return g.Answer, true, nil
}

// Remember keeps the answer to a request; see also Remembered.
func (h *History) Remember(ctx context.Context, key string, request, answer []byte) error {
	return h.Commit(ctx, Act{}, Remembered(key, request, answer))
}
