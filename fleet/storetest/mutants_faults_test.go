package storetest

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/recloser-go/recloser/fleet"
)

func faultMutants() []mutant {
	return []mutant{
		{name: "methods that end with a deadline alone", found: "PausedStore", alter: func(a *altered) {
			load := a.load
			a.load = func(ctx context.Context) ([]fleet.Doc, uint64, error) {
				end, ok := ctx.Deadline()
				if ctx = context.WithoutCancel(ctx); !ok {
					return load(ctx)
				}
				ctx, cancel := context.WithDeadline(ctx, end)
				defer cancel()
				return load(ctx)
			}
		}},
		{name: "methods that end late", found: "PausedStore", alter: func(a *altered) {
			load := a.load
			a.load = func(ctx context.Context) ([]fleet.Doc, uint64, error) {
				docs, at, err := load(ctx)
				if err != nil {
					pass(100 * time.Millisecond)
				}
				return docs, at, err
			}
		}},
		{name: "a client that does not come back", found: "PausedStore", alter: func(a *altered) {
			var lost atomic.Bool
			load := a.load
			a.load = func(ctx context.Context) ([]fleet.Doc, uint64, error) {
				docs, at, err := load(ctx)
				if lost.Load() {
					return nil, 0, errors.New("lost for good")
				}
				lost.Store(err != nil)
				return docs, at, err
			}
		}},
		{name: "a Close that waits for the server", found: "CloseOfAPausedStore", serve: func(s *server, h *Harness) {
			h.New = altering(h.New, func(a *altered) {
				a.close = func() error {
					gate, _ := s.state()
					<-gate
					return a.Store.Close()
				}
			})
		}},
		{name: "a Put that comes late", found: "UnclearOutcome", alter: func(a *altered) {
			put := a.put
			a.put = func(ctx context.Context, expect fleet.Rev, next fleet.Doc) (fleet.Doc, error) {
				d, err := put(ctx, expect, next)
				if err != nil && ctx.Err() != nil {
					go func() {
						ctx := context.WithoutCancel(ctx)
						_, _, _ = a.Store.Load(ctx) // it is back
						pass(50 * time.Millisecond)
						next.Rev.Epoch += 10
						_, _ = a.Store.Put(ctx, a.rev(ctx, next.Key), next)
					}()
				}
				return d, err
			}
		}},
		{name: "a Put that says it was done", found: "UnclearOutcome", alter: func(a *altered) {
			put := a.put
			a.put = func(ctx context.Context, expect fleet.Rev, next fleet.Doc) (fleet.Doc, error) {
				d, err := put(ctx, expect, next)
				if ctx.Err() != nil {
					return next, nil
				}
				return d, err
			}
		}},
		{name: "a store that says it is durable", found: "Restart", serve: func(_ *server, h *Harness) {
			open := h.New
			h.New = func(t testing.TB, prefix string) fleet.Store { return &durable{open(t, prefix)} }
		}},
		{name: "a Watch that misses a restart", found: "Restart", alter: func(a *altered) {
			a.watch = func(ctx context.Context, after uint64, f func(fleet.Doc)) error {
				err := a.Store.Watch(ctx, after, f)
				<-ctx.Done()
				return err
			}
		}},
		{name: "a Watch that misses a flush", found: "Flush", alter: func(a *altered) {
			a.watch = func(ctx context.Context, after uint64, f func(fleet.Doc)) error {
				for {
					err := a.Store.Watch(ctx, after, f)
					if !errors.Is(err, fleet.ErrResync) {
						return err
					}
					if _, after, err = a.Store.Load(ctx); err != nil {
						return err
					}
				}
			}
		}},
		{name: "rows that a flush leaves", found: "Flush", alter: func() func(*altered) {
			var rows sync.Map
			return func(a *altered) {
				say, said := a.say, a.said
				a.say = func(ctx context.Context, all []fleet.Row, ttl time.Duration) error {
					rows.LoadOrStore("k", all)
					return say(ctx, all, ttl)
				}
				a.said = func(ctx context.Context, key string) ([]fleet.Row, error) {
					if all, ok := rows.Load(key); ok {
						return all.([]fleet.Row), ctx.Err()
					}
					return said(ctx, key)
				}
			}
		}()},
		{name: "positions that begin anew", found: "WatchFromBeforeAFlush", serve: func(_ *server, h *Harness) {
			var floor, lives atomic.Uint64
			open, wipe := h.New, h.Flush
			h.Flush = func(t testing.TB) { wipe(t); lives.Add(1); floor.Store(0) }
			h.New = altering(open, func(a *altered) {
				load := a.load
				a.load = func(ctx context.Context) ([]fleet.Doc, uint64, error) {
					docs, at, err := load(ctx)
					floor.CompareAndSwap(0, at-uint64(len(docs)))
					return docs, at - floor.Load(), err
				}
				a.watch = func(ctx context.Context, after uint64, f func(fleet.Doc)) error {
					return a.Store.Watch(ctx, after+floor.Load(), f)
				}
			})
		}},
		{name: "ages by the clock of the client", found: "SkewedClients", serve: func(_ *server, h *Harness) {
			open := h.Skewed
			h.Skewed = func(t testing.TB, prefix string, by time.Duration) fleet.Store {
				return alter(open(t, prefix, by), func(a *altered) {
					a.shownAs(func(d fleet.Doc) fleet.Doc { d.Age = max(0, d.Age+by); return d })
				})
			}
		}},
		{name: "times to live by the clock of the client", found: "SkewedClients", serve: func(_ *server, h *Harness) {
			open := h.Skewed
			h.Skewed = func(t testing.TB, prefix string, by time.Duration) fleet.Store {
				return alter(open(t, prefix, by), func(a *altered) {
					a.living(func(ttl time.Duration) time.Duration { return max(ttl+by, time.Millisecond) })
				})
			}
		}},
	}
}

// durable says that it is.
type durable struct{ fleet.Store }

func (d *durable) Caps() fleet.Caps { return fleet.Caps{Name: "boaster", Durable: true} }

func closeMutants() []mutant {
	return []mutant{
		{name: "a Close that fails the second time", found: "Close", alter: func(a *altered) {
			var closed atomic.Bool
			a.close = func() error {
				if closed.Swap(true) {
					return errors.New("closed already")
				}
				return a.Store.Close()
			}
		}},
		{name: "a Close that ends nothing", found: "Close", alter: func(a *altered) { a.close = func() error { return nil } }},
		{name: "a Watch that a Close does not end", found: "Close", alter: func(a *altered) {
			a.watch = func(ctx context.Context, after uint64, f func(fleet.Doc)) error {
				err := a.Store.Watch(ctx, after, f)
				if errors.Is(err, fleet.ErrClosed) {
					<-ctx.Done()
				}
				return err
			}
		}},
		{name: "a Close of everybody", found: "Close", serve: func(_ *server, h *Harness) {
			stores := map[string]fleet.Store{}
			open := h.New
			h.New = func(t testing.TB, prefix string) fleet.Store {
				if stores[prefix] == nil {
					stores[prefix] = open(t, prefix)
				}
				return stores[prefix]
			}
		}},
		{name: "a Close that a busy store does not hear", found: "CloseWhileInUse", alter: func(a *altered) {
			a.elect = func(ctx context.Context, role, node string, ttl time.Duration) (string, error) {
				holder, err := a.Store.Elect(ctx, role, node, ttl)
				if errors.Is(err, fleet.ErrClosed) {
					err = errors.New("no connection")
				}
				return holder, err
			}
		}},
		{name: "a goroutine that stays", found: "NoGoroutineIsLeft", alter: func(a *altered) {
			a.close = func() error {
				go func() { select {} }()
				return a.Store.Close()
			}
		}},
		{name: "a connection that stays", found: "NoConnectionIsLeft", serve: func(s *server, h *Harness) {
			h.New = altering(h.New, func(a *altered) {
				a.close = func() error { s.open.Add(1); return a.Store.Close() }
			})
		}},
	}
}
