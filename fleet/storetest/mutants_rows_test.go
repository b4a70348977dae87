package storetest

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/recloser-go/recloser/fleet"
)

func rowMutants() []mutant {
	// replacing says a row as another, so that the store replaces what it should not or the reverse.
	replacing := func(as func(a *altered, ctx context.Context, r fleet.Row) fleet.Row) func(*altered) {
		return func(a *altered) {
			var seqs sync.Map // what was meant, by what was said
			say, said := a.say, a.said
			a.say = func(ctx context.Context, rows []fleet.Row, ttl time.Duration) error {
				rows = slices.Clone(rows)
				for i, r := range rows {
					rows[i] = as(a, ctx, r)
					seqs.Store([2]uint64{rows[i].Start, rows[i].Seq}, r)
				}
				return say(ctx, rows, ttl)
			}
			a.said = func(ctx context.Context, key string) ([]fleet.Row, error) {
				rows, err := said(ctx, key)
				for i, r := range rows {
					if was, ok := seqs.Load([2]uint64{r.Start, r.Seq}); ok {
						rows[i].Start, rows[i].Seq = was.(fleet.Row).Start, was.(fleet.Row).Seq
					}
				}
				return rows, err
			}
		}
	}
	var count atomic.Uint64
	newest := func(_ *altered, _ context.Context, r fleet.Row) fleet.Row { r.Seq = count.Add(1); return r }
	age := func(change func(fleet.Row) time.Duration) func(*altered) {
		return func(a *altered) {
			said := a.said
			a.said = func(ctx context.Context, key string) ([]fleet.Row, error) {
				rows, err := said(ctx, key)
				for i := range rows {
					rows[i].Age = change(rows[i])
				}
				return rows, err
			}
		}
	}
	saying := func(change func(rows []fleet.Row) []fleet.Row) func(*altered) {
		return func(a *altered) {
			say := a.say
			a.say = func(ctx context.Context, rows []fleet.Row, ttl time.Duration) error {
				return say(ctx, change(slices.Clone(rows)), ttl)
			}
		}
	}
	return []mutant{
		{name: "rows in any order", found: "SayAndSaid", alter: func(a *altered) {
			said := a.said
			a.said = func(ctx context.Context, key string) ([]fleet.Row, error) {
				rows, err := said(ctx, key)
				slices.Reverse(rows)
				return rows, err
			}
		}},
		{name: "rows of all keys", found: "SayAndSaid", alter: func(a *altered) {
			a.said = func(ctx context.Context, _ string) ([]fleet.Row, error) {
				rows, _ := a.Store.Said(ctx, "k")
				more, err := a.Store.Said(ctx, "other")
				return append(rows, more...), err
			}
		}},
		{name: "rows that always replace", found: "RowsReplaceBySeq", alter: replacing(newest)},
		{name: "seqs as floats", found: "RowsReplaceBySeq", alter: replacing(func(_ *altered, _ context.Context, r fleet.Row) fleet.Row {
			r.Seq = uint64(float64(r.Seq / 2 * 2))
			return r
		})},
		{name: "seqs as text", found: "RowsReplaceBySeq", alter: replacing(func(_ *altered, _ context.Context, r fleet.Row) fleet.Row {
			s := (strconv.FormatUint(r.Seq, 10) + "00000000000000000")[:17]
			r.Seq, _ = strconv.ParseUint(s, 10, 64)
			return r
		})},
		{name: "seqs that are signed", found: "RowsReplaceBySeq", alter: replacing(func(_ *altered, _ context.Context, r fleet.Row) fleet.Row {
			r.Seq ^= 1 << 63
			return r
		})},
		{name: "starts that do not count", found: "RowsReplaceBySeq", alter: replacing(func(_ *altered, _ context.Context, r fleet.Row) fleet.Row {
			r.Start = 1
			return r
		})},
		{name: "rows that do not age", found: "RowAge", alter: age(func(fleet.Row) time.Duration { return 0 })},
		{name: "rows that age from when they were new", found: "RowAge", alter: func(a *altered) {
			var first atomic.Int64
			say := a.say
			a.say = func(ctx context.Context, rows []fleet.Row, ttl time.Duration) error {
				first.CompareAndSwap(0, time.Now().UnixNano())
				return say(ctx, rows, ttl)
			}
			age(func(fleet.Row) time.Duration { return time.Duration(time.Now().UnixNano() - first.Load()) })(a)
		}},
		{name: "rows that stay", found: "RowTTL", alter: func(a *altered) {
			a.living(func(time.Duration) time.Duration { return time.Hour })
		}},
		{name: "rows that go early", found: "RowTTL", alter: func(a *altered) {
			a.living(func(ttl time.Duration) time.Duration { return max(ttl/2, time.Millisecond) })
		}},
		{name: "rows whose time to live gets shorter", found: "RowTTL", alter: replacing(newest)},
		{name: "rows that only what is new keeps alive", found: "RowTTL", alter: func(a *altered) {
			var seen sync.Map
			say := a.say
			a.say = func(ctx context.Context, rows []fleet.Row, ttl time.Duration) error {
				if _, twice := seen.LoadOrStore(rows[0].Node+strconv.FormatUint(rows[0].Seq, 10), true); twice {
					return nil
				}
				return say(ctx, rows, ttl)
			}
		}},
		{name: "rows up to 500", found: "ManyRows", alter: saying(func(rows []fleet.Row) []fleet.Row { return rows[:min(len(rows), 500)] })},
		{name: "the first of two rows", found: "ManyRows", alter: saying(func(rows []fleet.Row) []fleet.Row {
			seen := map[string]bool{}
			return slices.DeleteFunc(rows, func(r fleet.Row) bool {
				was := seen[r.Key+" "+r.Node]
				seen[r.Key+" "+r.Node] = true
				return was
			})
		})},
		{name: "the last of two rows", found: "ManyRows", alter: saying(func(rows []fleet.Row) []fleet.Row {
			last := map[string]fleet.Row{}
			for _, r := range rows {
				last[r.Key+" "+r.Node] = r
			}
			return slices.Collect(maps.Values(last))
		})},
		{name: "rows of who came last", found: "ManySpeakers", alter: replacing(newest)},
	}
}

func leaseMutants() []mutant {
	more := func(a *altered) { // one slot more than there is
		put := a.put
		a.shownAs(func(d fleet.Doc) fleet.Doc { d.Slots--; return d })
		shown := a.put
		a.put = func(ctx context.Context, expect fleet.Rev, next fleet.Doc) (fleet.Doc, error) {
			if next.Slots == 1000 {
				return put(ctx, expect, next)
			}
			next.Slots++
			return shown(ctx, expect, next)
		}
	}
	forgiving := func(a *altered) {
		finish := a.finish
		a.finish = func(ctx context.Context, l fleet.Lease, r fleet.Result) (fleet.Tally, error) {
			tally, err := finish(ctx, l, r)
			if errors.Is(err, fleet.ErrStale) {
				err = nil
			}
			return tally, err
		}
	}
	tally := func(change func(fleet.Tally) fleet.Tally) func(*altered) {
		return func(a *altered) {
			acquire, finish := a.acquire, a.finish
			a.acquire = func(ctx context.Context, key string, rev fleet.Rev, node string, ttl time.Duration) (fleet.Lease, fleet.Tally, error) {
				l, t, err := acquire(ctx, key, rev, node, ttl)
				return l, change(t), err
			}
			a.finish = func(ctx context.Context, l fleet.Lease, r fleet.Result) (fleet.Tally, error) {
				t, err := finish(ctx, l, r)
				return change(t), err
			}
		}
	}
	// counted has a result count as another.
	counted := func(as map[fleet.Result]fleet.Result) func(*altered) {
		return func(a *altered) {
			finish := a.finish
			a.finish = func(ctx context.Context, l fleet.Lease, r fleet.Result) (fleet.Tally, error) {
				if other, is := as[r]; is {
					r = other
				}
				return finish(ctx, l, r)
			}
		}
	}
	// unfenced takes the lease that runs for the one that is meant.
	unfenced := func() func(*altered) {
		var last sync.Map
		return func(a *altered) {
			acquire, finish := a.acquire, a.finish
			a.acquire = func(ctx context.Context, key string, rev fleet.Rev, node string, ttl time.Duration) (fleet.Lease, fleet.Tally, error) {
				l, t, err := acquire(ctx, key, rev, node, ttl)
				if err == nil {
					last.Store(key, l)
				}
				return l, t, err
			}
			a.finish = func(ctx context.Context, l fleet.Lease, r fleet.Result) (fleet.Tally, error) {
				if held, ok := last.Load(l.Key); ok {
					l = held.(fleet.Lease)
				}
				return finish(ctx, l, r)
			}
		}
	}
	return []mutant{
		{name: "a slot more", found: "SlotsUnder50Askers", alter: more},
		{name: "tallies without who runs", found: "SlotsUnder50Askers", alter: tally(func(t fleet.Tally) fleet.Tally { t.Running = 0; return t })},
		{name: "tokens that are the same", found: "SlotsUnder50Askers", alter: func(a *altered) {
			var held sync.Map
			acquire, finish := a.acquire, a.finish
			a.acquire = func(ctx context.Context, key string, rev fleet.Rev, node string, ttl time.Duration) (fleet.Lease, fleet.Tally, error) {
				l, t, err := acquire(ctx, key, rev, node, ttl)
				if err == nil {
					held.Store(1, l.Token)
					l.Token = 1
				}
				return l, t, err
			}
			a.finish = func(ctx context.Context, l fleet.Lease, r fleet.Result) (fleet.Tally, error) {
				token, _ := held.Load(1)
				l.Token, _ = token.(uint64)
				return finish(ctx, l, r)
			}
		}},
		{name: "a slot more now and then", found: "SlotsWhileTheyComeAndGo", alter: more},
		{name: "good results that take no slot", found: "ResultsAndSlots", alter: counted(map[fleet.Result]fleet.Result{fleet.Good: fleet.Unused})},
		{name: "bad results that are none", found: "ResultsAndSlots", alter: counted(map[fleet.Result]fleet.Result{fleet.Bad: fleet.Unused})},
		{name: "unused leases that are bad", found: "ResultsAndSlots", alter: counted(map[fleet.Result]fleet.Result{fleet.Unused: fleet.Bad})},
		{name: "leases that stay", found: "LeaseRunsOutOnce", alter: func(a *altered) {
			a.living(func(time.Duration) time.Duration { return time.Hour })
		}},
		{name: "leases that run out early", found: "LeaseRunsOutOnce", alter: func(a *altered) {
			a.living(func(ttl time.Duration) time.Duration { return ttl / 2 })
		}},
		{name: "leases that run out twice", found: "LeaseRunsOutOnce", alter: tally(func(t fleet.Tally) fleet.Tally { t.Bad *= 2; return t })},
		{name: "leases that run out unnoticed", found: "LeaseRunsOutOnce", alter: tally(func(t fleet.Tally) fleet.Tally { t.Bad = 0; return t })},
		{name: "results that go with their leases", found: "ResultsOutliveLeases", alter: tally(func(t fleet.Tally) fleet.Tally { t.Good = 0; return t })},
		{name: "leases without a fence", found: "TokenFence", alter: unfenced()},
		{name: "late results that count", found: "TokenFence", alter: forgiving},
		{name: "results that count twice", found: "FinishOnce", alter: forgiving},
		{name: "leases that outlive a version", found: "PutEndsLeases", alter: forgiving},
	}
}

func electionMutants() []mutant {
	electing := func(change func(a *altered, ctx context.Context, role, node string, ttl time.Duration) (string, error)) func(*altered) {
		return func(a *altered) {
			a.elect = func(ctx context.Context, role, node string, ttl time.Duration) (string, error) {
				return change(a, ctx, role, node, ttl)
			}
		}
	}
	return []mutant{
		{name: "everybody holds it", found: "OneHolderOf50", alter: electing(func(a *altered, ctx context.Context, role, node string, ttl time.Duration) (string, error) {
			_, err := a.Store.Elect(ctx, role, node, ttl)
			return node, err
		})},
		{name: "a hold that is not made longer", found: "HolderStays", alter: electing(func() func(a *altered, ctx context.Context, role, node string, ttl time.Duration) (string, error) {
			var held atomic.Bool
			return func(a *altered, ctx context.Context, role, node string, ttl time.Duration) (string, error) {
				if role == "r" && node == "a" && held.Swap(true) {
					ttl = time.Hour
					node = "nobody"
				}
				return a.Store.Elect(ctx, role, node, ttl)
			}
		}())},
		{name: "a hold that asking makes longer", found: "HolderStays", alter: electing(func(a *altered, ctx context.Context, role, node string, ttl time.Duration) (string, error) {
			holder, err := a.Store.Elect(ctx, role, node, ttl)
			if holder != node && ttl > 0 {
				return a.Store.Elect(ctx, role, holder, ttl)
			}
			return holder, err
		})},
		{name: "one role for all", found: "HolderStays", alter: electing(func(a *altered, ctx context.Context, _, node string, ttl time.Duration) (string, error) {
			return a.Store.Elect(ctx, "r", node, ttl)
		})},
		{name: "a hold that stays", found: "HolderRunsOut", alter: electing(func(a *altered, ctx context.Context, role, node string, _ time.Duration) (string, error) {
			return a.Store.Elect(ctx, role, node, time.Hour)
		})},
		{name: "a hold that goes early", found: "HolderRunsOut", alter: electing(func(a *altered, ctx context.Context, role, node string, ttl time.Duration) (string, error) {
			return a.Store.Elect(ctx, role, node, ttl/2)
		})},
		{name: "a hold that cannot be given up", found: "HolderGivesUp", alter: electing(func(a *altered, ctx context.Context, role, node string, ttl time.Duration) (string, error) {
			if ttl == 0 {
				return "", ctx.Err()
			}
			return a.Store.Elect(ctx, role, node, ttl)
		})},
		{name: "a hold that others give up", found: "HolderGivesUp", alter: electing(func(a *altered, ctx context.Context, role, node string, ttl time.Duration) (string, error) {
			if ttl == 0 {
				holder, err := a.Store.Elect(ctx, role, node, time.Hour)
				if err != nil {
					return "", err
				}
				return a.Store.Elect(ctx, role, holder, 0)
			}
			return a.Store.Elect(ctx, role, node, ttl)
		})},
	}
}
