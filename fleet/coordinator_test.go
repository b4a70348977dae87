package fleet

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/recloser-go/recloser"
)

// What was loaded may be older than what was heard while it was under way.
func TestLoadedLate(t *testing.T) {
	now := epoch
	c := newCoordinator(Config{Fleet: "town", Node: "a"}, rand.New(rand.NewPCG(1, 1)), now)
	b := newBreaker(t, "hotel")
	c.join(b, now)
	load := func() *op {
		t.Helper()
		now = now.Add(time.Second)
		o := c.next(now)
		if o == nil || o.kind != opLoad {
			t.Fatalf("it wants %+v", o)
		}
		now = now.Add(time.Second)
		return o
	}
	c.done(load(), now)
	c.reload = now
	o := load()
	c.heard(c.watching, &Doc{Key: breakerKey + "hotel", Rev: Rev{1, 1}, Data: encode(Record{State: recloser.Open, Lasts: time.Minute})}, now)
	c.done(o, now)
	m := c.byName["hotel"]
	if m.held.Rev != (Rev{1, 1}) || m.write != nil || b.State() != recloser.Open {
		t.Errorf("%+v, to write: %+v, %s", m.held, m.write, b.Explain())
	}
	c.done(load(), now) // it is sure now
	if m.write == nil {
		t.Error("it is not opened again")
	}
}

// loaded returns a coordinator that has loaded what an empty store has, with these breakers.
func loaded(t *testing.T, breakers ...*recloser.Breaker) *coordinator {
	t.Helper()
	c := newCoordinator(Config{Fleet: "town", Node: "a"}, rand.New(rand.NewPCG(1, 1)), epoch)
	for _, b := range breakers {
		c.join(b, epoch)
	}
	o := c.next(epoch)
	if o == nil || o.kind != opLoad {
		t.Fatalf("it wants %+v", o)
	}
	o.docs = []Doc{{Key: aboutKey, Rev: Rev{1, 1}, Data: encode(about{aboutSchema, "town"})}}
	c.done(o, epoch)
	c.beat.sayAt, c.beat.lookedAt = epoch.Add(time.Hour), epoch.Add(time.Hour) // it has said who it is
	return c
}

// hears returns what the coordinator wants once it has heard of a record.
func (c *coordinator) hears(t *testing.T, r Record, now time.Time) *op {
	t.Helper()
	m := c.byName["hotel"]
	c.heard(c.watching, &Doc{Key: breakerKey + m.name, Rev: above(m.held.Rev, Rev{}, c.random), Slots: r.Need, Data: encode(r), Age: time.Millisecond}, now)
	m.wishAt, m.tryAt, m.delay = now, now, 0
	return c.next(now)
}

// The lease of a trial is for as long as a trial may take, from the first one.
func TestLeaseIsLongEnough(t *testing.T) {
	c := loaded(t, newBreaker(t, "hotel"))
	o := c.hears(t, Record{State: recloser.HalfOpen, Need: 1}, epoch)
	if o == nil || o.kind != opAcquire || o.ttl != trialWait+2*time.Second+leaseMargin {
		t.Errorf("it wants %+v", o)
	}
}

// What the store says of a breaker that has left meanwhile changes that no more, and a lease
// that came too late is given back.
func TestLeftMeanwhile(t *testing.T) {
	for name, c := range map[string]struct {
		hears Record
		want  opKind
		comes func(o *op)
		last  []opKind // what is done then
	}{
		"a trip": {Record{State: recloser.Open, Lasts: time.Nanosecond}, opPut, func(o *op) {
			o.doc.Data = encode(Record{State: recloser.Open, Lasts: time.Minute})
		}, nil},
		"a lease": {Record{State: recloser.HalfOpen, Need: 1}, opAcquire, func(o *op) {
			o.lease = Lease{Key: o.key, Rev: o.expect, Token: 7, TTL: o.ttl}
		}, []opKind{opFinish}},
		"no lease": {Record{State: recloser.HalfOpen, Need: 1}, opAcquire, func(o *op) { o.err = ErrNoSlot }, nil},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBreaker(t, "hotel")
			co := loaded(t, b)
			now := epoch.Add(time.Second)
			o := co.hears(t, c.hears, now)
			if o == nil || o.kind != c.want {
				t.Fatalf("it wants %+v", o)
			}
			co.leave("hotel", now)
			if b.Report().Led {
				t.Fatal("it has left, and is led")
			}
			c.comes(o)
			co.done(o, now)
			if b.Report().Led {
				t.Errorf("led after it has left: %s", b.Explain())
			}
			var last []opKind
			for o := co.next(now); o != nil; o = co.next(now) {
				if last = append(last, o.kind); o.kind == opFinish && (o.lease.Token != 7 || o.result != Unused) {
					t.Errorf("it finishes %+v", o)
				}
				co.done(o, now)
			}
			if !slices.Equal(last, c.last) {
				t.Errorf("then it does %v, want %v", last, c.last)
			}
		})
	}
}

// A breaker that leaves with a verdict on its trial passes that on; one that nobody has tried yet
// gives the lease back; one whose trial runs lets the lease run out.
func TestLeavesWithLease(t *testing.T) {
	for name, c := range map[string]struct {
		try  func(b *recloser.Breaker)
		want []Result
	}{
		"nobody came": {func(*recloser.Breaker) {}, []Result{Unused}},
		"good":        {func(b *recloser.Breaker) { _ = succeed(t.Context(), b) }, []Result{Good}},
		"bad":         {func(b *recloser.Breaker) { _ = fail(t.Context(), b) }, []Result{Bad}},
		"it runs": {func(b *recloser.Breaker) {
			if _, err := b.Allow(t.Context()); err != nil {
				t.Error(err)
			}
		}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBreaker(t, "hotel")
			co := loaded(t, b)
			o := co.hears(t, Record{State: recloser.HalfOpen, Need: 1}, epoch)
			o.lease = Lease{Key: o.key, Rev: o.expect, Token: 7, TTL: o.ttl}
			co.done(o, epoch)
			if !co.status(epoch).Breakers[0].Trial {
				t.Fatal("it has no lease")
			}
			c.try(b)
			var got []Result
			for _, o := range co.part(epoch) {
				got = append(got, o.result)
			}
			if !slices.Equal(got, c.want) || b.Report().Led {
				t.Errorf("%v, want %v; %s", got, c.want, b.Explain())
			}
		})
	}
}

// A store that cannot be watched is not loaded all the time.
func TestResyncAgainAndAgain(t *testing.T) {
	c := loaded(t)
	loads := 0
	for now := epoch; now.Before(epoch.Add(10 * time.Second)); now = now.Add(tick) {
		c.unwatched(c.watching, ErrResync, now)
		if o := c.next(now); o != nil {
			if o.kind == opLoad {
				o.docs = []Doc{{Key: aboutKey, Rev: Rev{1, 1}, Data: encode(about{aboutSchema, "town"})}}
				loads++
			}
			c.done(o, now)
		}
	}
	if loads < 5 || loads > 10 {
		t.Errorf("%d loads in 10 s", loads)
	}
}

// Trials can be held back for a day at the most, as by a breaker alone.
func TestHoldTrialsForLong(t *testing.T) {
	c := loaded(t, newBreaker(t, "hotel"))
	m := c.byName["hotel"]
	c.hears(t, Record{State: recloser.Open, Lasts: time.Minute}, epoch)
	if !m.holdTrials(c, 1000*time.Hour, epoch) || m.write == nil || m.write.Lasts != 24*time.Hour {
		t.Errorf("%+v", m.write)
	}
}

// However odd the names are, what a node says of itself is not too long for a store.
func TestPulseIsNotTooLong(t *testing.T) {
	c := loaded(t)
	for i := range 300 {
		name := fmt.Sprint(i, strings.Repeat("<", 240))
		c.members = append(c.members, &member{name: name, held: version{Rev: Rev{1, math.MaxUint64}, Record: Record{State: recloser.Open}}})
	}
	if p := c.pulse(epoch); len(encode(p)) > MaxData || len(p.Holds) < 10 {
		t.Errorf("%d bytes of %d records", len(encode(p)), len(p.Holds))
	}
}

// What a Put returns may be older than what was heard while it was under way.
func TestPutAnsweredLate(t *testing.T) {
	open := Record{State: recloser.Open, Lasts: time.Minute}
	closed := Record{State: recloser.Closed, Reason: recloser.ReasonTrialsGood}
	for name, c := range map[string]struct {
		err error
		act bool // what it writes is an operator's
	}{"a conflict": {ErrConflict, false}, "done": {nil, false}, "an act that is done": {nil, true}} {
		t.Run(name, func(t *testing.T) {
			b := newBreaker(t, "hotel")
			co := loaded(t, b)
			m, now := co.byName["hotel"], epoch.Add(time.Second)
			if c.act {
				if err := m.set(Record{State: recloser.Isolated, By: "ann", Note: "fire"}, time.Time{}, now); err != nil {
					t.Fatal(err)
				}
			} else {
				m.write = &next{Record: open}
			}
			o := co.next(now)
			if o == nil || o.kind != opPut {
				t.Fatalf("it wants %+v", o)
			}
			now = now.Add(time.Millisecond)
			co.heard(co.watching, &Doc{Key: o.doc.Key, Rev: Rev{9, 9}, Data: encode(closed)}, now)
			now = now.Add(time.Millisecond)
			if o.err = c.err; c.err != nil {
				o.doc.Rev, o.doc.Data = Rev{8, 8}, encode(open)
			}
			co.done(o, now)
			if m.held.Rev != (Rev{9, 9}) || m.act != nil || b.State() == recloser.Open || b.State() == recloser.Isolated {
				t.Errorf("it holds %+v, act %+v, %s", m.held, m.act, b.Explain())
			}
			if o := co.next(now); o == nil || o.kind != opLoad {
				t.Errorf("it does not make sure: %+v", o)
			}
		})
	}
}
