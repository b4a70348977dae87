package prooftest

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"github.com/anishathalye/porcupine"
	"github.com/recloser-go/recloser/fleet"
)

// asked is what a client asked of a store.
type asked struct {
	what   string // "load", "put", "acquire", "finish", "elect"
	key    string // of the document, or the role
	number uint64 // of the operation
	expect fleet.Rev
	next   fleet.Doc
	lease  fleet.Lease
	result fleet.Result
	node   string
	giveUp bool
}

// told is what the store said. Unclear: nobody knows whether it was done.
type told struct {
	rev    fleet.Rev // of the document then
	tally  fleet.Tally
	token  uint64
	holder string
	err    error // one of the store's own
	lost   error // why it is unclear
}

func (s told) String() string {
	switch {
	case s.lost != nil:
		return "unclear"
	case s.err != nil:
		return fmt.Sprintf("%v %v, %+v", s.err, s.rev, s.tally)
	}
	return fmt.Sprintf("%v, %+v %s", s.rev, s.tally, s.holder)
}

// thing is a document with its leases, or a role, as a store has it. No time passes.
type thing struct {
	rev       fleet.Rev
	slots     int
	leases    string // see with
	good, bad int
	holder    string
}

func (s thing) tally() fleet.Tally {
	return fleet.Tally{Good: s.good, Bad: s.bad, Running: len(s.leases) / tokenSize}
}

const tokenSize = 17

// with returns the state with or without a lease. Those there are stand in order, so
// that states that are the same are equal.
func (s thing) with(token uint64, held bool) (next thing, was bool) {
	var all []string
	for rest := s.leases; rest != ""; rest = rest[tokenSize:] {
		all = append(all, rest[:tokenSize])
	}
	name := fmt.Sprintf("%016x ", token)
	i, was := slices.BinarySearch(all, name)
	switch {
	case held && !was:
		all = slices.Insert(all, i, name)
	case !held && was:
		all = slices.Delete(all, i, i+1)
	}
	s.leases = ""
	for _, one := range all {
		s.leases += one
	}
	return s, was
}

// do is what a store does, and what it says of it.
func (s thing) do(a asked, token uint64) (thing, told) {
	switch a.what {
	case "load":
		return s, told{rev: s.rev}
	case "put":
		if s.rev != a.expect {
			return s, told{rev: s.rev, err: fleet.ErrConflict}
		}
		return thing{rev: a.next.Rev, slots: a.next.Slots}, told{rev: a.next.Rev}
	case "acquire":
		if t := s.tally(); s.rev != a.expect || s.rev == (fleet.Rev{}) {
			return s, told{err: fleet.ErrConflict}
		} else if t.Running+t.Good >= s.slots {
			return s, told{tally: t, err: fleet.ErrNoSlot}
		}
		s, _ = s.with(token, true)
		return s, told{tally: s.tally(), token: token}
	case "finish":
		next, held := s.with(a.lease.Token, false)
		if !held || s.rev != a.lease.Rev {
			return s, told{err: fleet.ErrStale}
		}
		switch a.result {
		case fleet.Good:
			next.good++
		case fleet.Bad:
			next.bad++
		case fleet.Unused:
		}
		return next, told{tally: next.tally()}
	case "elect":
		if s.holder == "" || s.holder == a.node {
			s.holder = a.node
			if a.giveUp {
				s.holder = ""
			}
		}
		return s, told{holder: s.holder}
	}
	panic(a.what)
}

// linear is the model for porcupine. An operation whose outcome is unclear lasts for
// ever, so that it may be taken to happen at any time after it began, or after
// everything else, where nobody can tell that it did.
var linear = porcupine.Model{
	Partition: func(history []porcupine.Operation) [][]porcupine.Operation {
		byKey := map[string][]porcupine.Operation{}
		for _, op := range history {
			key := op.Input.(asked).key
			byKey[key] = append(byKey[key], op)
		}
		var parts [][]porcupine.Operation
		for _, part := range byKey {
			parts = append(parts, part)
		}
		return parts
	},
	Init: func() any { return thing{} },
	Step: func(state, input, output any) (bool, any) {
		a, said := input.(asked), output.(told)
		next, want := state.(thing).do(a, cmp.Or(said.token, a.number)) // nobody knows the token of a lost answer
		return said.lost != nil || said == want, next
	},
	DescribeOperation: func(input, output any) string {
		a, said := input.(asked), output.(told)
		switch a.what {
		case "put":
			return fmt.Sprintf("put %v for %v: %v", a.next.Rev, a.expect, said)
		case "acquire":
			return fmt.Sprintf("acquire of %v: %v", a.expect, said)
		case "finish":
			return fmt.Sprintf("finish %x of %v with %d: %v", a.lease.Token, a.lease.Rev, a.result, said)
		case "elect":
			return fmt.Sprintf("elect %s, give up %v: %v", a.node, a.giveUp, said)
		}
		return fmt.Sprintf("%s: %v", a.what, said)
	},
}

// perform asks a store, and returns what it said.
func perform(c *client, a asked) (said told, lease fleet.Lease) {
	var err error
	switch a.what {
	case "load":
		var docs []fleet.Doc
		docs, _, err = c.store.Load(c.ctx)
		for _, d := range docs {
			if d.Key == a.key {
				said.rev = d.Rev
			}
		}
	case "put":
		var d fleet.Doc
		d, err = c.store.Put(c.ctx, a.expect, a.next)
		said.rev = d.Rev
	case "acquire":
		lease, said.tally, err = c.store.Acquire(c.ctx, a.key, a.expect, a.node, ages)
		said.token = lease.Token
	case "finish":
		said.tally, err = c.store.Finish(c.ctx, a.lease, a.result)
	case "elect":
		ttl := ages
		if a.giveUp {
			ttl = 0
		}
		said.holder, err = c.store.Elect(c.ctx, a.key, a.node, ttl)
	}
	switch {
	case err == nil:
	case errors.Is(err, fleet.ErrNoSlot):
		said.err = fleet.ErrNoSlot
	case errors.Is(err, fleet.ErrConflict):
		said.err, said.tally = fleet.ErrConflict, fleet.Tally{} // it need not say
	case errors.Is(err, fleet.ErrStale):
		said.err, said.tally = fleet.ErrStale, fleet.Tally{}
	default:
		return told{lost: err}, fleet.Lease{}
	}
	return said, lease
}
