package storetest

import (
	"context"
	"time"

	"github.com/recloser-go/recloser/fleet"
)

// altered is a store with some of its methods replaced.
type altered struct {
	fleet.Store
	load    func(context.Context) ([]fleet.Doc, uint64, error)
	watch   func(context.Context, uint64, func(fleet.Doc)) error
	put     func(context.Context, fleet.Rev, fleet.Doc) (fleet.Doc, error)
	say     func(context.Context, []fleet.Row, time.Duration) error
	said    func(context.Context, string) ([]fleet.Row, error)
	acquire func(context.Context, string, fleet.Rev, string, time.Duration) (fleet.Lease, fleet.Tally, error)
	finish  func(context.Context, fleet.Lease, fleet.Result) (fleet.Tally, error)
	elect   func(context.Context, string, string, time.Duration) (string, error)
	close   func() error
}

// alter returns a store that change replaces some methods of.
func alter(s fleet.Store, change func(*altered)) fleet.Store {
	a := &altered{
		Store: s, load: s.Load, watch: s.Watch, put: s.Put, say: s.Say, said: s.Said,
		acquire: s.Acquire, finish: s.Finish, elect: s.Elect, close: s.Close,
	}
	change(a)
	return a
}

func (a *altered) Load(ctx context.Context) ([]fleet.Doc, uint64, error) { return a.load(ctx) }

func (a *altered) Watch(ctx context.Context, after uint64, f func(fleet.Doc)) error {
	return a.watch(ctx, after, f)
}

func (a *altered) Put(ctx context.Context, expect fleet.Rev, next fleet.Doc) (fleet.Doc, error) {
	return a.put(ctx, expect, next)
}

func (a *altered) Say(ctx context.Context, rows []fleet.Row, ttl time.Duration) error {
	return a.say(ctx, rows, ttl)
}

func (a *altered) Said(ctx context.Context, key string) ([]fleet.Row, error) { return a.said(ctx, key) }

func (a *altered) Acquire(ctx context.Context, key string, rev fleet.Rev, node string, ttl time.Duration) (fleet.Lease, fleet.Tally, error) {
	return a.acquire(ctx, key, rev, node, ttl)
}

func (a *altered) Finish(ctx context.Context, l fleet.Lease, r fleet.Result) (fleet.Tally, error) {
	return a.finish(ctx, l, r)
}

func (a *altered) Elect(ctx context.Context, role, node string, ttl time.Duration) (string, error) {
	return a.elect(ctx, role, node, ttl)
}

func (a *altered) Close() error { return a.close() }

// shownAs has every document that comes out of the store pass through show.
func (a *altered) shownAs(show func(fleet.Doc) fleet.Doc) {
	load, watch, put := a.load, a.watch, a.put
	a.load = func(ctx context.Context) ([]fleet.Doc, uint64, error) {
		docs, at, err := load(ctx)
		for i := range docs {
			docs[i] = show(docs[i])
		}
		return docs, at, err
	}
	a.watch = func(ctx context.Context, after uint64, f func(fleet.Doc)) error {
		return watch(ctx, after, func(d fleet.Doc) { f(show(d)) })
	}
	a.put = func(ctx context.Context, expect fleet.Rev, next fleet.Doc) (fleet.Doc, error) {
		d, err := put(ctx, expect, next)
		if d.Key != "" {
			d = show(d)
		}
		return d, err
	}
}

// named has every name that goes into the store pass through name.
func (a *altered) named(name func(string) string) {
	put, say, said, acquire, finish, elect := a.put, a.say, a.said, a.acquire, a.finish, a.elect
	a.put = func(ctx context.Context, expect fleet.Rev, next fleet.Doc) (fleet.Doc, error) {
		next.Key = name(next.Key)
		return put(ctx, expect, next)
	}
	a.say = func(ctx context.Context, rows []fleet.Row, ttl time.Duration) error {
		rows = append([]fleet.Row(nil), rows...)
		for i := range rows {
			rows[i].Key, rows[i].Node = name(rows[i].Key), name(rows[i].Node)
		}
		return say(ctx, rows, ttl)
	}
	a.said = func(ctx context.Context, key string) ([]fleet.Row, error) { return said(ctx, name(key)) }
	a.acquire = func(ctx context.Context, key string, rev fleet.Rev, node string, ttl time.Duration) (fleet.Lease, fleet.Tally, error) {
		return acquire(ctx, name(key), rev, name(node), ttl)
	}
	a.finish = func(ctx context.Context, l fleet.Lease, r fleet.Result) (fleet.Tally, error) {
		l.Key = name(l.Key)
		return finish(ctx, l, r)
	}
	a.elect = func(ctx context.Context, role, node string, ttl time.Duration) (string, error) {
		return elect(ctx, name(role), name(node), ttl)
	}
}

// living has every time to live pass through ttl.
func (a *altered) living(ttl func(time.Duration) time.Duration) {
	put, say, acquire, elect := a.put, a.say, a.acquire, a.elect
	a.put = func(ctx context.Context, expect fleet.Rev, next fleet.Doc) (fleet.Doc, error) {
		was := next.TTL
		if was != 0 {
			next.TTL = ttl(was)
		}
		d, err := put(ctx, expect, next)
		if d.TTL == next.TTL {
			d.TTL = was
		}
		return d, err
	}
	a.say = func(ctx context.Context, rows []fleet.Row, d time.Duration) error { return say(ctx, rows, ttl(d)) }
	a.acquire = func(ctx context.Context, key string, rev fleet.Rev, node string, d time.Duration) (fleet.Lease, fleet.Tally, error) {
		l, tally, err := acquire(ctx, key, rev, node, ttl(d))
		if err == nil {
			l.TTL = d
		}
		return l, tally, err
	}
	a.elect = func(ctx context.Context, role, node string, d time.Duration) (string, error) {
		if d != 0 {
			d = ttl(d)
		}
		return elect(ctx, role, node, d)
	}
}

// within has every method but Watch use another context.
func (a *altered) within(with func(context.Context) context.Context) {
	load, put, say, said, acquire, finish, elect := a.load, a.put, a.say, a.said, a.acquire, a.finish, a.elect
	a.load = func(ctx context.Context) ([]fleet.Doc, uint64, error) { return load(with(ctx)) }
	a.put = func(ctx context.Context, expect fleet.Rev, next fleet.Doc) (fleet.Doc, error) {
		return put(with(ctx), expect, next)
	}
	a.say = func(ctx context.Context, rows []fleet.Row, ttl time.Duration) error { return say(with(ctx), rows, ttl) }
	a.said = func(ctx context.Context, key string) ([]fleet.Row, error) { return said(with(ctx), key) }
	a.acquire = func(ctx context.Context, key string, rev fleet.Rev, node string, ttl time.Duration) (fleet.Lease, fleet.Tally, error) {
		return acquire(with(ctx), key, rev, node, ttl)
	}
	a.finish = func(ctx context.Context, l fleet.Lease, r fleet.Result) (fleet.Tally, error) {
		return finish(with(ctx), l, r)
	}
	a.elect = func(ctx context.Context, role, node string, ttl time.Duration) (string, error) {
		return elect(with(ctx), role, node, ttl)
	}
}
