package redisstore

import (
	"context"
	"fmt"
	"time"

	"github.com/recloser-go/recloser/fleet"
	"github.com/redis/go-redis/v9"
)

// A script stops the server for others while it runs, so rows are said in parts.
const (
	rowsAtOnce  = 100
	bytesAtOnce = 256 << 10
)

// Say implements [fleet.Store].
func (s *Store) Say(ctx context.Context, rows []fleet.Row, ttl time.Duration) error {
	if err := fleet.CheckRows(rows, ttl); err != nil {
		return err
	}
	for len(rows) > 0 {
		n, size := 0, 0
		for n < len(rows) && n < rowsAtOnce && size < bytesAtOnce {
			size += len(rows[n].Data)
			n++
		}
		if err := s.say(ctx, rows[:n], ttl); err != nil {
			return err
		}
		rows = rows[n:]
	}
	return nil
}

func (s *Store) say(ctx context.Context, rows []fleet.Row, ttl time.Duration) error {
	keys := make([]string, 0, len(rows))
	args := make([]any, 0, 1+4*len(rows))
	args = append(args, ttl.Microseconds())
	for i := range rows {
		r := &rows[i]
		keys = append(keys, s.key("rows", r.Key))
		args = append(args, r.Node, fmt.Sprintf("%016x", r.Start), fmt.Sprintf("%016x", r.Seq), r.Data)
	}
	_, err := s.run(ctx, sayScript, keys, args...)
	return err
}

// Said implements [fleet.Store].
func (s *Store) Said(ctx context.Context, key string) ([]fleet.Row, error) {
	if err := fleet.CheckKey(key); err != nil {
		return nil, err
	}
	hash := s.key("rows", key)
	// Not a script, as it copies all rows into Lua and out again, which costs the server
	// five times as much; and the time by one with a key, so that in a cluster it is that of
	// the server that has the rows.
	reply, err := s.within(ctx, func(ctx context.Context) (any, error) {
		var now *redis.Cmd
		var rows *redis.MapStringStringCmd
		_, err := s.client.Pipelined(ctx, func(p redis.Pipeliner) error {
			now = p.Eval(ctx, "local t = redis.call('TIME') return t[1] * 1000000 + t[2]", []string{hash})
			rows = p.HGetAll(ctx, hash)
			return nil
		})
		return []any{now.Val(), rows.Val()}, err
	})
	if err != nil {
		return nil, err
	}
	r := s.reader(reply)
	rows, dead := r.rows(key, r.number(0), r.at(1).(map[string]string))
	if dead {
		// They are of nodes that are gone. If this fails, the next who looks does it.
		_, _ = s.run(ctx, sweepScript, []string{hash})
	}
	return rows, r.err
}
