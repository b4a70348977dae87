package storetest

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/recloser-go/recloser/fleet"
)

func names() []testCase {
	return []testCase{
		{name: "Names", run: anyName},
		{name: "BadNames", run: badNames},
		{name: "BadValues", run: badValues},
		{name: "Extremes", run: extremes},
		{name: "TwoPrefixesApart", run: prefixesApart},
	}
}

// odd are names that mean something to some server, or are long, or look alike.
func odd() []string {
	return []string{
		"k", "K", " ", "k ", "a b", "a:b", "a:b:c", "{a}", "{a}b", "{}", "a}", "*", "?", "[a-z]", "a*", "%", "_", "%s", "a%b", `\`, `a\`, `'`, `"`, `''; --`,
		"$1", "${a}", "a/b", "a.b", ".", "..", "#", "@", "0", "-1", "null", "true", "é", "e\u0301", "ß", "ſ", "İ", "日本語", "🚂", "\u202e", "\u2028", "\ufeff", "\ufffd", "\U0010ffff",
		strings.Repeat("x", fleet.MaxKey), strings.Repeat("x", fleet.MaxKey-1) + "y", strings.Repeat("é", fleet.MaxKey/2), strings.Repeat("🚂", fleet.MaxKey/4),
	}
}

// anyName uses each name for all that has one: they must neither be refused nor be
// taken for another.
func anyName(t *test) {
	s, other := t.client(), t.client()
	want := map[string]fleet.Doc{}
	for _, name := range odd() {
		want[name] = t.create(s, name, 1)
		t.say(s, time.Hour, row(name, "n", 1), row("nodes", name, 1))
		t.elect(s, name, name, time.Hour, name)
	}
	got, _ := t.load(other)
	if !maps.EqualFunc(got, want, alike) {
		t.Fatalf("loaded %q\nwant %q", slices.Sorted(maps.Keys(got)), slices.Sorted(maps.Keys(want)))
	}
	var nodes []fleet.Row
	for _, name := range slices.Sorted(slices.Values(odd())) {
		t.hears(other, name, row(name, "n", 1))
		t.elect(other, name, "n", time.Hour, name)
		nodes = append(nodes, row("nodes", name, 1))
		l := t.acquire(other, want[name], time.Minute, fleet.Tally{Running: 1})
		t.finish(s, l, fleet.Good, fleet.Tally{Good: 1})
	}
	t.hears(other, "nodes", nodes...)
	t.say(s, time.Hour, row("key:a", "b", 1), row("key", "a:b", 2), row("key a", "b", 3), row("key", "a b", 4))
	t.hears(other, "key:a", row("key:a", "b", 1))
	t.hears(other, "key", row("key", "a b", 4), row("key", "a:b", 2))
}

// badNames uses each name that is none for all that has one.
func badNames(t *test) {
	s := t.client()
	d := t.create(s, "k", 2)
	for _, name := range []string{"", strings.Repeat("x", fleet.MaxKey+1), strings.Repeat("é", fleet.MaxKey/2) + "x", "a\xffb", "\xc3", "a\x00b", "\n", "a\x1b", "\x7f", "\u0085"} {
		good := row("k", "n", 1)
		for what, f := range map[string]func(context.Context) error{
			"Put": func(ctx context.Context) error {
				_, err := s.Put(ctx, fleet.Rev{}, fleet.Doc{Key: name, Rev: rev(1)})
				return err
			},
			"Say of a key":      func(ctx context.Context) error { return s.Say(ctx, []fleet.Row{good, row(name, "n", 1)}, time.Hour) },
			"Say of a node":     func(ctx context.Context) error { return s.Say(ctx, []fleet.Row{good, row("k", name, 1)}, time.Hour) },
			"Said":              func(ctx context.Context) error { _, err := s.Said(ctx, name); return err },
			"Acquire of a key":  func(ctx context.Context) error { _, _, err := s.Acquire(ctx, name, d.Rev, "n", time.Hour); return err },
			"Acquire by a node": func(ctx context.Context) error { _, _, err := s.Acquire(ctx, "k", d.Rev, name, time.Hour); return err },
			"Finish": func(ctx context.Context) error {
				_, err := s.Finish(ctx, fleet.Lease{Key: name, Rev: d.Rev, Token: 1}, fleet.Good)
				return err
			},
			"Elect for a role": func(ctx context.Context) error { _, err := s.Elect(ctx, name, "n", time.Hour); return err },
			"Elect of a node":  func(ctx context.Context) error { _, err := s.Elect(ctx, "r", name, time.Hour); return err },
		} {
			if err := f(t.ctx()); !errors.Is(err, fleet.ErrBadKey) {
				t.Errorf("%s %.20q (%d bytes): %v, want ErrBadKey", what, name, len(name), err)
			}
		}
	}
	t.untouched(s, d)
}

// untouched fails unless all that there is is the document d, without leases.
func (t *test) untouched(s fleet.Store, d fleet.Doc) {
	t.Helper()
	docs, _ := t.load(s)
	t.same("the document", docs[d.Key], d)
	if len(docs) != 1 {
		t.Errorf("there are %d documents, want 1", len(docs))
	}
	t.hears(s, "k")
	t.acquire(s, d, time.Minute, fleet.Tally{Running: 1})
	t.elect(s, "r", "another", time.Minute, "another")
}

func badValues(t *test) {
	s := t.client()
	d := t.create(s, "k", 2)
	long := make([]byte, fleet.MaxData+1)
	for _, c := range []struct {
		what string
		doc  fleet.Doc
		want error
	}{
		{"no id", fleet.Doc{Rev: fleet.Rev{Epoch: d.Rev.Epoch + 1}}, fleet.ErrBadValue},
		{"the same id", fleet.Doc{Rev: fleet.Rev{Epoch: d.Rev.Epoch + 1, ID: d.Rev.ID}}, fleet.ErrBadValue},
		{"the same epoch", fleet.Doc{Rev: rev(d.Rev.Epoch)}, fleet.ErrBadValue},
		{"an epoch before", fleet.Doc{Rev: rev(d.Rev.Epoch - 1)}, fleet.ErrBadValue},
		{"slots below none", fleet.Doc{Rev: after(d.Rev), Slots: -1}, fleet.ErrBadValue},
		{"too many slots", fleet.Doc{Rev: after(d.Rev), Slots: fleet.MaxSlots + 1}, fleet.ErrBadValue},
		{"a negative ttl", fleet.Doc{Rev: after(d.Rev), TTL: -time.Second}, fleet.ErrBadValue},
		{"a ttl too short", fleet.Doc{Rev: after(d.Rev), TTL: time.Microsecond}, fleet.ErrBadValue},
		{"a ttl too long", fleet.Doc{Rev: after(d.Rev), TTL: fleet.MaxTTL + 1}, fleet.ErrBadValue},
		{"too much data", fleet.Doc{Rev: after(d.Rev), Data: long}, fleet.ErrTooLong},
	} {
		c.doc.Key = "k"
		if _, err := s.Put(t.ctx(), d.Rev, c.doc); !errors.Is(err, c.want) {
			t.Errorf("Put with %s: %v, want %v", c.what, err, c.want)
		}
	}
	for _, ttl := range []time.Duration{-1, 0, time.Microsecond, fleet.MaxTTL + 1} {
		if err := s.Say(t.ctx(), []fleet.Row{row("k", "n", 1)}, ttl); !errors.Is(err, fleet.ErrBadValue) {
			t.Errorf("Say with a ttl of %s: %v, want ErrBadValue", ttl, err)
		}
		if _, _, err := s.Acquire(t.ctx(), "k", d.Rev, "n", ttl); !errors.Is(err, fleet.ErrBadValue) {
			t.Errorf("Acquire with a ttl of %s: %v, want ErrBadValue", ttl, err)
		}
		if _, err := s.Elect(t.ctx(), "r", "n", ttl); ttl != 0 && !errors.Is(err, fleet.ErrBadValue) {
			t.Errorf("Elect with a ttl of %s: %v, want ErrBadValue", ttl, err)
		}
	}
	longRow := row("k", "m", 1)
	longRow.Data = long
	if err := s.Say(t.ctx(), []fleet.Row{row("k", "n", 1), longRow}, time.Hour); !errors.Is(err, fleet.ErrTooLong) {
		t.Errorf("Say with too much data: %v, want ErrTooLong", err)
	}
	t.untouched(s, d)
}

// extremes uses the least and the most that is allowed.
func extremes(t *test) {
	s := t.client()
	d := t.put(s, fleet.Rev{}, fleet.Doc{Key: "k", Rev: fleet.Rev{Epoch: 1, ID: 1}, Slots: fleet.MaxSlots, TTL: fleet.MaxTTL})
	t.say(s, fleet.MaxTTL, row("k", "n", 1))
	l := t.acquire(s, d, fleet.MaxTTL, fleet.Tally{Running: 1})
	t.elect(s, "r", "n", fleet.MaxTTL, "n")
	t.put(s, fleet.Rev{}, fleet.Doc{Key: "short", Rev: rev(1), TTL: time.Millisecond})
	t.say(s, time.Millisecond, row("k", "short", 1))
	if _, _, err := s.Acquire(t.ctx(), "k", d.Rev, "n", time.Millisecond); err != nil {
		t.Fatal(err)
	}
	t.elect(s, "short", "n", time.Millisecond, "n")
	pass(50 * time.Millisecond)
	docs, _ := t.load(s)
	if len(docs) != 1 {
		t.Errorf("%d documents are left, want 1", len(docs))
	}
	t.same("what lives long", docs["k"], d)
	t.hears(s, "k", row("k", "n", 1))
	t.finish(s, l, fleet.Good, fleet.Tally{Good: 1, Bad: 1})
	t.elect(s, "r", "m", time.Hour, "n")
	t.elect(s, "short", "m", time.Hour, "m")
}

// prefixesApart has fleets on one server whose names, put together with those of their
// keys, look alike.
func prefixesApart(t *test) {
	const n = 4
	prefixes := [n]string{t.prefix, t.prefix + ":a", t.prefix + "_", t.prefix + "-"}
	keys := [n]string{"a:k", "k", "k", "k"}
	var stores [n]fleet.Store
	var views [n]*view
	for i, p := range prefixes {
		stores[i] = t.closing(t.New(t.T, p))
		views[i] = t.follow(stores[i])
	}
	for i, s := range stores {
		key := keys[i]
		docs, _ := t.load(s)
		if len(docs) != 0 {
			t.Fatalf("with the prefix %q there is %v before anything was put", prefixes[i], docs)
		}
		d := t.put(s, fleet.Rev{}, fleet.Doc{Key: key, Rev: rev(1), Slots: i + 1, Data: []byte(prefixes[i])})
		t.acquire(s, d, time.Minute, fleet.Tally{Running: 1})
		t.hears(s, key)
		t.say(s, time.Hour, row(key, fmt.Sprint("n", i), 1))
		t.elect(s, key, fmt.Sprint("n", i), time.Hour, fmt.Sprint("n", i))
	}
	for i, s := range stores {
		docs, at := t.load(s)
		if len(docs) != 1 || string(docs[keys[i]].Data) != prefixes[i] {
			t.Fatalf("with the prefix %q there is %v", prefixes[i], docs)
		}
		t.hears(s, keys[i], row(keys[i], fmt.Sprint("n", i), 1))
		t.sees(views[i], s, "the own document to be seen, and no other")
		d := t.put(s, docs[keys[i]].Rev, fleet.Doc{Key: keys[i], Rev: after(docs[keys[i]].Rev)})
		var seen fleet.Doc
		ctx, cancel := context.WithCancel(t.ctx())
		_ = s.Watch(ctx, at, func(d fleet.Doc) { seen = d; cancel() })
		cancel()
		t.same("what was watched", seen, d)
	}
}
