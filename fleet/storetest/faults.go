package storetest

import (
	"context"
	"time"

	"github.com/recloser-go/recloser/fleet"
)

func faults() []testCase {
	return []testCase{}
}

// methods returns a call of every method that talks to the server.
func methods(s fleet.Store, d fleet.Doc, at uint64) map[string]func(context.Context) error {
	return map[string]func(context.Context) error{
		"Load":  func(ctx context.Context) error { _, _, err := s.Load(ctx); return err },
		"Watch": func(ctx context.Context) error { return s.Watch(ctx, at, func(fleet.Doc) {}) },
		"Put": func(ctx context.Context) error {
			_, err := s.Put(ctx, d.Rev, fleet.Doc{Key: d.Key, Rev: after(d.Rev)})
			return err
		},
		"Say": func(ctx context.Context) error {
			return s.Say(ctx, []fleet.Row{{Key: "k", Node: "n", Start: 1, Seq: 1}}, time.Minute)
		},
		"Said": func(ctx context.Context) error { _, err := s.Said(ctx, "k"); return err },
		"Acquire": func(ctx context.Context) error {
			_, _, err := s.Acquire(ctx, d.Key, d.Rev, "n", time.Minute)
			return err
		},
		"Finish": func(ctx context.Context) error {
			_, err := s.Finish(ctx, fleet.Lease{Key: d.Key, Rev: d.Rev, Token: 1, TTL: time.Minute}, fleet.Good)
			return err
		},
		"Elect": func(ctx context.Context) error { _, err := s.Elect(ctx, "r", "n", time.Minute); return err },
	}
}
