package storetest

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/recloser-go/recloser/fleet"
)

func rows() []testCase {
	return []testCase{
		{name: "SayAndSaid", run: sayAndSaid},
		{name: "RowsReplaceBySeq", run: rowsReplaceBySeq},
		{name: "RowAge", run: func(t *test) { t.rowAges(t.client(), t.client()) }},
		{name: "RowTTL", run: rowTTL},
		{name: "ManyRows", run: manyRows},
		{name: "ManySpeakers", run: manySpeakers},
	}
}

// say says rows that must be taken.
func (t *test) say(s fleet.Store, ttl time.Duration, rows ...fleet.Row) {
	t.Helper()
	if err := s.Say(t.ctx(), rows, ttl); err != nil {
		t.Fatalf("Say: %v", err)
	}
}

// said returns the rows under key, by node.
func (t *test) said(s fleet.Store, key string) []fleet.Row {
	t.Helper()
	rows, err := s.Said(t.ctx(), key)
	if err != nil {
		t.Fatalf("Said of %q: %v", key, err)
	}
	return rows
}

// hears fails unless these rows are said under key, but for their ages.
func (t *test) hears(s fleet.Store, key string, want ...fleet.Row) {
	t.Helper()
	got := t.said(s, key)
	same := slices.EqualFunc(got, want, func(a, b fleet.Row) bool {
		return a.Key == b.Key && a.Node == b.Node && a.Start == b.Start && a.Seq == b.Seq && string(a.Data) == string(b.Data)
	})
	if !same {
		t.Fatalf("under %q are\n     %s\nwant %s", key, showRows(got), showRows(want))
	}
}

func showRows(rows []fleet.Row) string {
	if len(rows) == 0 {
		return "none"
	}
	var s strings.Builder
	for _, r := range rows {
		fmt.Fprintf(&s, "%q of %q start %x seq %d data %.60q; ", r.Key, r.Node, r.Start, r.Seq, r.Data)
	}
	return s.String()
}

func row(key, node string, seq uint64) fleet.Row {
	return fleet.Row{Key: key, Node: node, Start: 7, Seq: seq, Data: []byte(node + " " + strconv.FormatUint(seq, 10))}
}

func sayAndSaid(t *test) {
	s, other := t.client(), t.client()
	t.hears(s, "k")
	t.say(s, time.Hour)
	a, b, c := row("k", "a", 1), row("k", "B", 1), row("other", "a", 1)
	b.Data = nil
	c.Start, c.Seq = ^uint64(0), ^uint64(0)
	t.say(s, time.Hour, a, c)
	t.say(other, time.Hour, b)
	for _, s := range []fleet.Store{s, other} {
		t.hears(s, "k", b, a) // by bytes: B before a
		t.hears(s, "other", c)
		t.hears(s, "nothing")
	}
	// What is the caller's stays his.
	mine := row("k", "a", 2)
	t.say(s, time.Hour, mine)
	want := string(mine.Data)
	mine.Data[0] = 'x'
	t.said(s, "k")[1].Data[0] = 'y'
	if got := t.said(s, "k")[1]; string(got.Data) != want {
		t.Fatalf("a row's data became %q, want %q", got.Data, want)
	}
}

func rowsReplaceBySeq(t *test) {
	s := t.client()
	at := func(start, seq uint64, data string) fleet.Row {
		return fleet.Row{Key: "k", Node: "n", Start: start, Seq: seq, Data: []byte(data)}
	}
	const big = 1<<53 + 1 // beyond what a float64 tells apart
	for _, c := range []struct {
		what  string
		r     fleet.Row
		taken bool
	}{
		{"the first", at(1, 5, "a"), true},
		{"the same again", at(1, 5, "b"), false},
		{"an older one, late", at(1, 4, "c"), false},
		{"a newer one", at(1, 10, "d"), true},
		{"one that is older as a number and newer as a text", at(1, 9, "e"), false},
		{"another start", at(2, 1, "f"), true},
		{"a start from before", at(1, 11, "g"), true}, // nobody can tell which of two processes is the later
		{"a big number", at(1, big-1, "h"), true},
		{"the next", at(1, big, "i"), true},
		{"one before that", at(1, big-1, "j"), false},
		{"a number that is negative to some", at(1, 1<<63, "k"), true},
		{"the greatest", at(1, ^uint64(0), "l"), true},
		{"a small one", at(1, 12, "m"), false},
		{"a start that differs by little", at(1<<63+1, 1, "n"), true},
		{"by less", at(1<<63, 1, "o"), true},
	} {
		before := t.said(s, "k")
		t.say(s, time.Hour, c.r)
		want := c.r
		if !c.taken {
			want = before[0]
		}
		got := t.said(s, "k")
		if len(got) != 1 || string(got[0].Data) != string(want.Data) || got[0].Seq != want.Seq || got[0].Start != want.Start {
			t.Fatalf("after %s there is\n     %s\nwant %s", c.what, showRows(got), showRows([]fleet.Row{want}))
		}
	}
}

// rowAges looks at ages of rows that a says and b hears, or the reverse.
func (t *test) rowAges(a, b fleet.Store) {
	t.Helper()
	heard := func(done between) {
		t.Helper()
		pass(30 * time.Millisecond)
		for _, s := range []fleet.Store{a, b} {
			var rows []fleet.Row
			asked := during(func() { rows = t.said(s, "k") })
			t.age("the row", rows[0].Age, done, asked)
		}
	}
	r := row("k", "n", 1)
	r.Age = time.Hour
	heard(during(func() { t.say(a, time.Hour, r) }))
	heard(during(func() { t.say(b, time.Hour, r) })) // the same once more
	r.Seq = 0
	heard(during(func() { t.say(a, time.Hour, r) })) // an older one: it was said all the same
	r.Seq = 2
	heard(during(func() { t.say(b, time.Hour, r) }))
}

func rowTTL(t *test) {
	const ttl = 150 * time.Millisecond
	s, other := t.client(), t.client()
	gone := func(node string, done between) {
		t.Helper()
		t.vanishes("the row of "+node, done, ttl, func() bool {
			return slices.ContainsFunc(t.said(other, "k"), func(r fleet.Row) bool { return r.Node == node })
		})
	}
	stays := row("k", "stays", 1)
	t.say(s, time.Hour, stays)
	var done between
	gone("once", during(func() { t.say(s, ttl, row("k", "once", 5)) }))

	// What vanished is not there to compare with.
	t.say(s, time.Hour, row("k", "once", 1))
	t.hears(other, "k", row("k", "once", 1), stays)
	done = during(func() { t.say(s, ttl, row("k", "once", 6)) })
	gone("once", done)

	// It lives as long as it is said, even if what is said is not new.
	t.say(s, ttl, row("k", "again", 1))
	for range 4 {
		pass(ttl / 3)
		done = during(func() { t.say(other, ttl, row("k", "again", 1)) })
	}
	gone("again", done)

	// A short time to live does not end a longer one of the same row.
	t.say(s, time.Millisecond, stays)
	pass(50 * time.Millisecond)
	t.hears(s, "k", stays)
}

func manyRows(t *test) {
	const n = 1000
	s, other := t.client(), t.client()
	var all, want []fleet.Row
	for i := range n {
		all = append(all, row("breaker/"+strconv.Itoa(i%100), fmt.Sprintf("node-%02d", i/100), 1))
	}
	t.say(s, time.Hour, all...)
	for i := range n / 100 {
		want = append(want, row("breaker/42", fmt.Sprintf("node-%02d", i), 1))
	}
	t.hears(other, "breaker/42", want...)

	// Two of one node and key in one go: in their order.
	t.say(s, time.Hour, row("twice", "n", 1), row("twice", "n", 2), row("once", "n", 1), row("twice", "m", 2), row("twice", "m", 1))
	t.hears(other, "twice", row("twice", "m", 2), row("twice", "n", 2))

	big := row("big", "n", 1)
	big.Data = make([]byte, fleet.MaxData)
	t.say(s, time.Hour, big)
	t.hears(other, "big", big)
}

// manySpeakers has 20 nodes speak at once, each about its own newest.
func manySpeakers(t *test) {
	const nodes, times = 20, 15
	all := t.clients(4)
	var group sync.WaitGroup
	var want []fleet.Row
	for i := range nodes {
		node := fmt.Sprintf("n%02d", i)
		want = append(want, row("k", node, times))
		for _, s := range []fleet.Store{all[i%4], all[(i+1)%4]} { // what is sent twice arrives in any order
			group.Go(func() {
				for seq := range times {
					if err := s.Say(t.ctx(), []fleet.Row{row("k", node, uint64(seq)+1)}, time.Hour); err != nil {
						t.Errorf("Say: %v", err)
					}
				}
			})
		}
	}
	group.Wait()
	t.hears(all[0], "k", want...)
}
