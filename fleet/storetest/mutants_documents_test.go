package storetest

import (
	"bytes"
	"context"
	"errors"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/recloser-go/recloser/fleet"
)

func documentMutants() []mutant {
	// expecting replaces what Put compares with what is there.
	expecting := func(matches func(expect, is fleet.Rev) bool) func(*altered) {
		return func(a *altered) {
			put := a.put
			a.put = func(ctx context.Context, expect fleet.Rev, next fleet.Doc) (fleet.Doc, error) {
				if is := a.rev(ctx, next.Key); is.ID != 0 && matches(expect, is) {
					next.Rev.Epoch = max(next.Rev.Epoch, is.Epoch+1)
					runtime.Gosched()
					expect = is
				}
				return put(ctx, expect, next)
			}
		}
	}
	shown := func(show func(fleet.Doc) fleet.Doc) func(*altered) {
		return func(a *altered) { a.shownAs(show) }
	}
	// looked is a Put that looks first, and then puts whatever came in between.
	looked := func(a *altered) {
		put := a.put
		a.put = func(ctx context.Context, expect fleet.Rev, next fleet.Doc) (fleet.Doc, error) {
			is := a.rev(ctx, next.Key)
			runtime.Gosched()
			d, err := put(ctx, expect, next)
			if is == expect && errors.Is(err, fleet.ErrConflict) {
				next.Rev.Epoch = max(next.Rev.Epoch, d.Rev.Epoch+1)
				return put(ctx, d.Rev, next)
			}
			return d, err
		}
	}
	return []mutant{
		{name: "a Put that compares nothing", found: "PutAndLoad", alter: expecting(func(_, _ fleet.Rev) bool { return true })},
		{name: "a Put that compares epochs", found: "PutAndLoad", alter: expecting(func(expect, is fleet.Rev) bool { return expect.Epoch == is.Epoch })},
		{name: "a Put that compares ids", found: "PutAndLoad", alter: expecting(func(expect, is fleet.Rev) bool { return expect.ID == is.ID })},
		{name: "a Put that replaces if none is expected", found: "PutAndLoad", alter: expecting(func(expect, _ fleet.Rev) bool { return expect == fleet.Rev{} })},
		{name: "a conflict without its document", found: "PutAndLoad", alter: func(a *altered) {
			put := a.put
			a.put = func(ctx context.Context, expect fleet.Rev, next fleet.Doc) (fleet.Doc, error) {
				d, err := put(ctx, expect, next)
				if err != nil {
					d = fleet.Doc{}
				}
				return d, err
			}
		}},
		{name: "an order of letters without case", found: "LoadInOrder", alter: func(a *altered) {
			load := a.load
			a.load = func(ctx context.Context) ([]fleet.Doc, uint64, error) {
				docs, at, err := load(ctx)
				slices.SortStableFunc(docs, func(a, b fleet.Doc) int {
					return strings.Compare(strings.ToLower(a.Key), strings.ToLower(b.Key))
				})
				return docs, at, err
			}
		}},
		{name: "data as text", found: "Data", alter: shown(func(d fleet.Doc) fleet.Doc { d.Data = bytes.ToValidUTF8(d.Data, []byte("?")); return d })},
		{name: "data cut", found: "Data", alter: shown(func(d fleet.Doc) fleet.Doc { d.Data = d.Data[:min(len(d.Data), fleet.MaxData-1)]; return d })},
		{name: "data of the caller", found: "Data", alter: func() func(*altered) {
			var theirs sync.Map
			return func(a *altered) {
				put := a.put
				a.put = func(ctx context.Context, expect fleet.Rev, next fleet.Doc) (fleet.Doc, error) {
					theirs.Store(next.Rev.ID, next.Data)
					return put(ctx, expect, next)
				}
				a.shownAs(func(d fleet.Doc) fleet.Doc {
					b, _ := theirs.Load(d.Rev.ID)
					d.Data, _ = b.([]byte)
					return d
				})
			}
		}()},
		{name: "ids as floats", found: "Data", alter: shown(func(d fleet.Doc) fleet.Doc { d.Rev.ID = uint64(float64(d.Rev.ID>>11)) << 11; return d })},
		{name: "epochs that are signed", found: "Data", alter: shown(func(d fleet.Doc) fleet.Doc { d.Rev.Epoch &= 1<<63 - 1; return d })},
		{name: "a Put that looks first", found: "OneWinnerOf50", alter: looked},
		{name: "a Put that creates twice", found: "CreateRace", alter: looked},
		{name: "a Put that overwrites", found: "NoLostUpdate", alter: looked},
		{name: "documents that do not age", found: "DocumentAge", alter: shown(func(d fleet.Doc) fleet.Doc { d.Age = 0; return d })},
		{name: "documents that are older", found: "DocumentAge", alter: shown(func(d fleet.Doc) fleet.Doc { d.Age += 50 * time.Millisecond; return d })},
		{name: "documents that stay", found: "DocumentTTL", alter: func(a *altered) {
			a.living(func(time.Duration) time.Duration { return time.Hour })
			a.shownAs(func(d fleet.Doc) fleet.Doc {
				if d.TTL == time.Hour {
					d.TTL = 150 * time.Millisecond
				}
				return d
			})
		}},
		{name: "documents that go early", found: "DocumentTTL", alter: func(a *altered) {
			a.living(func(ttl time.Duration) time.Duration { return ttl / 2 })
		}},
		{name: "contexts that do not count", found: "EndedContext", alter: func(a *altered) { a.within(context.WithoutCancel) }},
	}
}

// rev returns the version that is there.
func (a *altered) rev(ctx context.Context, key string) fleet.Rev {
	docs, _, _ := a.Store.Load(ctx)
	for _, d := range docs {
		if d.Key == key {
			return d.Rev
		}
	}
	return fleet.Rev{}
}

func nameMutants() []mutant {
	named := func(name func(string) string) func(*altered) {
		return func(a *altered) {
			a.named(name)
			a.shownAs(func(d fleet.Doc) fleet.Doc { return d })
		}
	}
	valid := func(s string) string {
		s = strings.Map(func(r rune) rune {
			if r < ' ' || r >= 0x7f && r < 0xa0 {
				return 'x'
			}
			return r
		}, strings.ToValidUTF8(s, "x"))
		if s = s[:min(len(s), fleet.MaxKey)]; s == "" {
			return "x"
		}
		return s
	}
	// bounded has each value put into its bounds instead of refusing it.
	bounded := func(a *altered) {
		put := a.put
		a.living(func(ttl time.Duration) time.Duration { return min(max(ttl, time.Millisecond), fleet.MaxTTL) })
		a.put = func(ctx context.Context, expect fleet.Rev, next fleet.Doc) (fleet.Doc, error) {
			next.Slots = min(max(next.Slots, 0), fleet.MaxSlots)
			return put(ctx, expect, next)
		}
	}
	return []mutant{
		{name: "names in lower case", found: "Names", alter: named(strings.ToLower)},
		{name: "names without spaces around", found: "Names", alter: named(func(s string) string {
			if s = strings.TrimSpace(s); s == "" {
				return "-"
			}
			return s
		})},
		{name: "names cut", found: "Names", alter: named(func(s string) string { return s[:min(len(s), fleet.MaxKey-1)] })},
		{name: "rows under key and node in one", found: "Names", alter: func(a *altered) {
			say, said := a.say, a.said
			a.say = func(ctx context.Context, rows []fleet.Row, ttl time.Duration) error {
				for _, r := range rows {
					all := r.Key + ":" + r.Node
					r.Key, r.Node = strings.SplitN(all, ":", 2)[0], strings.SplitN(all, ":", 2)[1]
					if err := say(ctx, []fleet.Row{r}, ttl); err != nil {
						return err
					}
				}
				return nil
			}
			a.said = func(ctx context.Context, key string) ([]fleet.Row, error) {
				return said(ctx, strings.SplitN(key, ":", 2)[0])
			}
		}},
		{name: "names made valid", found: "BadNames", alter: named(valid)},
		{name: "values made valid", found: "BadValues", alter: bounded},
		{name: "rows said up to the bad one", found: "BadValues", alter: func(a *altered) {
			say := a.say
			a.say = func(ctx context.Context, rows []fleet.Row, ttl time.Duration) error {
				for _, r := range rows {
					if err := say(ctx, []fleet.Row{r}, ttl); err != nil {
						return err
					}
				}
				return nil
			}
		}},
		{name: "times to live up to an hour", found: "Extremes", alter: func(a *altered) {
			a.living(func(ttl time.Duration) time.Duration {
				if ttl > time.Hour {
					return time.Millisecond
				}
				return ttl
			})
		}},
		{name: "times to live in seconds", found: "Extremes", alter: func(a *altered) {
			a.living(func(ttl time.Duration) time.Duration { return max(ttl.Truncate(time.Second), time.Second) })
		}},
		{name: "no prefixes", found: "TwoPrefixesApart", serve: func(_ *server, h *Harness) {
			open := h.New
			h.New = func(t testing.TB, _ string) fleet.Store { return open(t, "all") }
		}},
		{name: "prefixes joined with keys", found: "TwoPrefixesApart", serve: func(_ *server, h *Harness) {
			open := h.New
			h.New = func(t testing.TB, prefix string) fleet.Store {
				if p, more, joined := strings.Cut(prefix, ":"); joined {
					return alter(open(t, p), func(a *altered) { a.named(func(s string) string { return more + ":" + s }) })
				}
				return open(t, prefix)
			}
		}},
	}
}

func watchMutants() []mutant {
	watching := func(change func(a *altered, ctx context.Context, after uint64, f func(fleet.Doc)) error) func(*altered) {
		return func(a *altered) {
			a.watch = func(ctx context.Context, after uint64, f func(fleet.Doc)) error { return change(a, ctx, after, f) }
		}
	}
	return []mutant{
		{name: "a Watch that leaves one out", found: "WatchSeesTheLastVersion", alter: watching(func(a *altered, ctx context.Context, after uint64, f func(fleet.Doc)) error {
			return a.Store.Watch(ctx, after, func(d fleet.Doc) {
				if rand.IntN(10) > 0 {
					f(d)
				}
			})
		})},
		{name: "a Watch that calls from two sides", found: "WatchSeesTheLastVersion", alter: watching(func(a *altered, ctx context.Context, after uint64, f func(fleet.Doc)) error {
			go func() { _ = a.Store.Watch(ctx, after, f) }()
			return a.Store.Watch(ctx, after, f)
		})},
		{name: "a Watch that goes back", found: "WatchSeesTheLastVersion", alter: watching(func(a *altered, ctx context.Context, after uint64, f func(fleet.Doc)) error {
			return a.Store.Watch(ctx, after, func(d fleet.Doc) {
				f(d)
				if before := d; d.Rev.Epoch > 1 {
					before.Rev.Epoch--
					before.Rev.ID++
					f(before)
					f(d)
				}
			})
		})},
		{name: "a Watch that gives up", found: "WatchSeesTheLastVersion", alter: watching(func(a *altered, ctx context.Context, after uint64, f func(fleet.Doc)) error {
			ctx, cancel := context.WithCancel(ctx)
			defer cancel()
			err := a.Store.Watch(ctx, after, func(d fleet.Doc) { f(d); cancel() })
			if errors.Is(err, context.Canceled) {
				return fleet.ErrResync
			}
			return err
		})},
		{name: "a Watch from now", found: "WatchFromAPosition", alter: watching(func(a *altered, ctx context.Context, _ uint64, f func(fleet.Doc)) error {
			_, now, err := a.Store.Load(ctx)
			if err != nil {
				return err
			}
			return a.Store.Watch(ctx, now, f)
		})},
		{name: "a Watch that ends without a reason", found: "WatchEndsWithItsContext", alter: watching(func(a *altered, ctx context.Context, after uint64, f func(fleet.Doc)) error {
			_ = a.Store.Watch(ctx, after, f)
			return nil
		})},
		{name: "a Watch that does not end", found: "WatchEndsWithItsContext", alter: watching(func(a *altered, ctx context.Context, after uint64, f func(fleet.Doc)) error {
			return a.Store.Watch(context.WithoutCancel(ctx), after, f)
		})},
		{name: "pushes that must not be lost", found: "WatchAfterALostPush", serve: func(_ *server, h *Harness) {
			var unheard sync.Map
			open := h.New
			h.Quiet = altering(open, func(a *altered) {
				put := a.put
				a.put = func(ctx context.Context, expect fleet.Rev, next fleet.Doc) (fleet.Doc, error) {
					unheard.Store(next.Rev, true)
					return put(ctx, expect, next)
				}
			})
			h.New = altering(open, watching(func(a *altered, ctx context.Context, after uint64, f func(fleet.Doc)) error {
				return a.Store.Watch(ctx, after, func(d fleet.Doc) {
					if _, quiet := unheard.Load(d.Rev); !quiet {
						f(d)
					}
				})
			}))
		}},
		{name: "a Watch that hears nothing after its connection", found: "WatchAfterLostConnections", alter: watching(func(a *altered, ctx context.Context, after uint64, f func(fleet.Doc)) error {
			err := a.Store.Watch(ctx, after, f)
			<-ctx.Done()
			return err
		})},
	}
}
