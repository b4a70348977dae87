package redisstore

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/recloser-go/recloser/fleet"
	"github.com/redis/go-redis/v9"
)

// Acquire implements [fleet.Store].
func (s *Store) Acquire(ctx context.Context, key string, rev fleet.Rev, node string, ttl time.Duration) (fleet.Lease, fleet.Tally, error) {
	if err := fleet.CheckKey(key, node); err != nil {
		return fleet.Lease{}, fleet.Tally{}, err
	}
	if err := fleet.CheckTTL(ttl); err != nil {
		return fleet.Lease{}, fleet.Tally{}, err
	}
	l := fleet.Lease{Key: key, Rev: rev, Token: rand.Uint64(), TTL: ttl}
	outcome, t, err := s.trial(ctx, acquireScript, l, ttl.Microseconds())
	switch {
	case err != nil:
		return fleet.Lease{}, fleet.Tally{}, err
	case outcome == "conflict":
		return fleet.Lease{}, t, fleet.ErrConflict
	case outcome == "no slot":
		return fleet.Lease{}, t, fleet.ErrNoSlot
	}
	return l, t, nil
}

// Finish implements [fleet.Store].
func (s *Store) Finish(ctx context.Context, l fleet.Lease, r fleet.Result) (fleet.Tally, error) {
	if err := fleet.CheckKey(l.Key); err != nil {
		return fleet.Tally{}, err
	}
	count := ""
	switch r {
	case fleet.Good:
		count = "good"
	case fleet.Bad:
		count = "bad"
	case fleet.Unused:
	}
	outcome, t, err := s.trial(ctx, finishScript, l, count)
	if err == nil && outcome == "stale" {
		return t, fleet.ErrStale
	}
	return t, err
}

// trial runs a script on a lease of a document, and returns its outcome and the tally.
func (s *Store) trial(ctx context.Context, script *redis.Script, l fleet.Lease, arg any) (string, fleet.Tally, error) {
	keys := []string{s.key("docs"), s.key("trials", l.Key)}
	reply, err := s.run(ctx, script, keys, l.Key, packRev(l.Rev), fmt.Sprintf("%016x", l.Token), arg)
	if err != nil {
		return "", fleet.Tally{}, err
	}
	r := s.reader(reply)
	t := fleet.Tally{Good: int(r.number(1)), Bad: int(r.number(2)), Running: int(r.number(3))}
	return r.text(0), t, r.err
}

// Elect implements [fleet.Store].
func (s *Store) Elect(ctx context.Context, role, node string, ttl time.Duration) (string, error) {
	if err := fleet.CheckKey(role, node); err != nil {
		return "", err
	}
	if ttl != 0 {
		if err := fleet.CheckTTL(ttl); err != nil {
			return "", err
		}
	}
	reply, err := s.run(ctx, electScript, []string{s.key("role", role)}, node, ttl.Milliseconds())
	if err != nil {
		return "", err
	}
	holder, _ := reply.(string)
	return holder, nil
}
