package fleet

import (
	"context"
	"errors"
	"time"
)

// op is one operation of the store: what the coordinator wants done, and, once it is,
// what came of it. There is never more than one at a time.
type op struct {
	kind   opKind
	member *member // whose it is; nil: of the node
	key    string
	expect Rev
	doc    Doc
	rows   []Row
	ttl    time.Duration
	lease  Lease
	result Result
	asked  time.Time // when it was begun

	docs     []Doc
	position uint64
	tally    Tally
	holder   string
	err      error
}

type opKind uint8

const (
	opLoad opKind = iota
	opPut
	opSay
	opSaid
	opAcquire
	opFinish
	opElect
)

// opTimeout is how long an operation of the store may take.
const opTimeout = 250 * time.Millisecond

// run does it.
func (o *op) run(ctx context.Context, store Store, node string) {
	ctx, cancel := context.WithTimeout(ctx, opTimeout)
	defer cancel()
	switch o.kind {
	case opLoad:
		o.docs, o.position, o.err = store.Load(ctx)
	case opPut:
		o.doc, o.err = store.Put(ctx, o.expect, o.doc)
	case opSay:
		o.err = store.Say(ctx, o.rows, o.ttl)
	case opSaid:
		o.rows, o.err = store.Said(ctx, o.key)
	case opAcquire:
		o.lease, o.tally, o.err = store.Acquire(ctx, o.key, o.expect, node, o.ttl)
	case opFinish:
		o.tally, o.err = store.Finish(ctx, o.lease, o.result)
	case opElect:
		o.holder, o.err = store.Elect(ctx, o.key, node, o.ttl)
	}
}

// answered reports whether the store was there, whatever it said.
func (o *op) answered() bool {
	return o.err == nil || errors.Is(o.err, ErrConflict) || errors.Is(o.err, ErrNoSlot) || errors.Is(o.err, ErrStale) || Refused(o.err)
}
