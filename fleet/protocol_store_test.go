//go:build !race

package fleet

import (
	"fmt"

	"github.com/recloser-go/recloser"
)

// paper is a version of the document, as small as can be.
type paper struct {
	rev   pin
	state recloser.State
}

func (p paper) String() string {
	return fmt.Sprintf("%s, epoch %d, id %d", p.state, p.rev.epoch, p.rev.id)
}

// pin is a Rev, with ids given out one after the other. The zero pin: there is no document.
type pin struct{ epoch, id uint8 }

func (p pin) Rev() Rev { return Rev{uint64(p.epoch), uint64(p.id)} }

func pinOf(r Rev) pin { return pin{uint8(r.Epoch), uint8(r.ID)} }

// content is what a store keeps of a breaker.
type content struct {
	doc       paper
	leases    [2]uint8 // tokens of those that run
	good, bad uint8
}

// vault is the store, and what the check remembers.
type vault struct {
	content
	before             content // without the last write, lease or verdict
	ids, tokens, trips uint8   // given out so far
	goodOf, goods      uint8   // good trials of the version with that id, even if the store forgot
	answered           uint8   // id of the last version that closed after good trials
	forgot             bool    // the store went back in time
}

func (v vault) String() string {
	return fmt.Sprintf("%s; leases %v, %d good, %d bad", v.doc, v.leases, v.good, v.bad)
}

// wrote is called before anything changes.
func (v *vault) wrote(l limits) {
	if l.failover && !v.forgot {
		v.before = v.content
	}
}

func (v *vault) tally() Tally {
	t := Tally{Good: int(v.good), Bad: int(v.bad)}
	for _, token := range v.leases {
		if token != 0 {
			t.Running++
		}
	}
	return t
}

// put does what Put does, for a node that holds held, and returns by what sign that is wrong.
func (v *vault) put(o *op, held paper, l limits, b bent) (sign string) {
	if o.expect != v.doc.rev.Rev() && !b.blind {
		o.err = ErrConflict
		return ""
	}
	v.wrote(l)
	v.ids++
	next := paper{pin{uint8(o.doc.Rev.Epoch), v.ids}, stateOf(o)}
	switch {
	case held.state == recloser.Closed && next.state == recloser.Open:
		v.trips++
	case next.state == recloser.Closed && v.goodOf == held.rev.id && v.goods >= l.slots:
		v.answered = v.ids
		if v.bad > 0 && !v.forgot {
			sign = "failure ignored"
		}
	}
	v.content = content{doc: next}
	return sign
}

func (v *vault) acquire(o *op, l limits) {
	t := v.tally()
	switch {
	case o.expect != v.doc.rev.Rev():
		o.err = ErrConflict
		return
	case t.Running+t.Good >= int(l.slots):
		o.tally, o.err = t, ErrNoSlot
		return
	}
	v.wrote(l)
	v.tokens++
	v.leases[indexOf(v.leases, 0)] = v.tokens
	v.arrange()
	o.lease, o.tally = Lease{Key: o.key, Rev: o.expect, Token: uint64(v.tokens)}, v.tally()
}

// finish does what Finish does, and returns by what sign that is wrong.
func (v *vault) finish(o *op, l limits, b bent) (sign string) {
	i := indexOf(v.leases, uint8(o.lease.Token))
	if i < 0 || o.lease.Rev != v.doc.rev.Rev() {
		if !b.unfenced || v.doc.state != recloser.HalfOpen {
			o.err = ErrStale
			return ""
		}
		sign = "stale verdict"
	}
	v.wrote(l)
	if i >= 0 {
		v.leases[i] = 0
		v.arrange()
	}
	if v.count(o.result); o.result == Good {
		if v.goodOf != v.doc.rev.id {
			v.goodOf, v.goods = v.doc.rev.id, 0
		}
		v.goods++
	}
	o.tally = v.tally()
	return sign
}

func (v *vault) count(r Result) {
	switch r {
	case Good:
		v.good++
	case Bad:
		v.bad = 1 // more of them do not matter
	case Unused:
	}
}

// runOut has a lease run out.
func (v *vault) runOut(i int) {
	v.leases[i] = 0
	v.arrange()
	v.count(Bad)
}

// arrange has what is the same look the same.
func (v *vault) arrange() {
	if v.leases[0] < v.leases[1] {
		v.leases[0], v.leases[1] = v.leases[1], v.leases[0]
	}
}

func indexOf(tokens [2]uint8, token uint8) int {
	for i, t := range tokens {
		if t == token {
			return i
		}
	}
	return -1
}
