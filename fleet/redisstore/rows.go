package redisstore

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/recloser-go/recloser/fleet"
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
	reply, err := s.run(ctx, saidScript, []string{s.key("rows", key)})
	if err != nil {
		return nil, err
	}
	r := s.reader(reply)
	now := r.number(0)
	rows := r.rows(1, key, now)
	slices.SortFunc(rows, func(a, b fleet.Row) int { return strings.Compare(a.Node, b.Node) })
	return rows, r.err
}
