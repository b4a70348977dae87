package fleet

import (
	"context"
	"errors"
	"time"
	"unicode"
	"unicode/utf8"
)

// A Store is what the nodes of a fleet share. It knows nothing of breakers: it keeps
// small documents that change by compare-and-set, rows that each node says of itself
// and that vanish unless they are said again, and leases. No call ever waits for it.
//
// All methods are safe for concurrent use, and return within 50 ms of their context's
// end, or its being cancelled, whatever the server does. Ages and times to live are by
// the store's clock; the clocks of two nodes are never compared. Keys, roles and names of
// nodes are 1 to 256 bytes of UTF-8 without control characters; ErrBadKey says so. Times
// to live are 1 ms to MaxTTL, and exact to 1 ms; ErrBadValue says so. What is refused for
// such a reason changes nothing: see CheckKey, CheckTTL, Doc.Check and CheckRows.
//
// Every Store passes the tests of package storetest.
type Store interface {
	// Caps says what the store can promise.
	Caps() Caps

	// Load returns every document that is there, by the bytes of their keys, and the
	// position of the changes that they hold, for Watch. No other position is one.
	Load(ctx context.Context) ([]Doc, uint64, error)

	// Watch calls f with each change after the position, at least once, one after the
	// other on one goroutine. It may leave out versions of a document that others have
	// replaced, never the last one, and no older one comes after a newer. It returns ctx's error, or ErrResync when it cannot
	// promise that any longer, as after the store lost what it held, or an error of its server or
	// network: after any of them, Load again. f must not block.
	Watch(ctx context.Context, after uint64, f func(Doc)) error

	// Put replaces the document of next.Key if its Rev still is expect; the zero Rev
	// means that there is none. next.Rev.ID must be new and not 0, and next.Rev.Epoch
	// above expect.Epoch. Leases and results of the version before end with it. It returns the
	// document as it is then, with its age; on ErrConflict too, where the Doc is zero if there is
	// none. After any other error nobody knows whether it was done: Load, and look for the ID.
	Put(ctx context.Context, expect Rev, next Doc) (Doc, error)

	// Say replaces the rows of rows[i].Node under rows[i].Key. They vanish when ttl has passed
	// without another. A row whose Seq is not above that of the row of the same Start that is
	// there only lives on, for ttl at least, so that saying it twice, or late, does no harm.
	// Another Start replaces. Rows may be many, and two of them of one node and key.
	Say(ctx context.Context, rows []Row, ttl time.Duration) error

	// Said returns the rows under key that live, by the bytes of their nodes, with their ages.
	Said(ctx context.Context, key string) ([]Row, error)

	// Acquire takes a lease on the document, if its Rev is rev and fewer than its Slots are
	// taken: a lease that runs, and a good result, take one each. A lease that ran out without
	// Finish is a bad result, counted once. Errors: ErrConflict if Rev is another or there is no
	// such document, ErrNoSlot, with the Tally too.
	Acquire(ctx context.Context, key string, rev Rev, node string, ttl time.Duration) (Lease, Tally, error)

	// Finish ends a lease with its result, once. ErrStale: it ran out, or is finished, or the
	// document has changed; then nothing is counted.
	Finish(ctx context.Context, l Lease, r Result) (Tally, error)

	// Elect makes node the holder of role for ttl if nobody holds it or node does, and returns
	// who holds it then. A ttl of 0 gives it up, and the holder may be "": nobody.
	Elect(ctx context.Context, role, node string, ttl time.Duration) (holder string, err error)

	// Close ends the store's connections and every Watch. It may be called twice; afterwards all
	// methods return ErrClosed.
	Close() error
}

// Caps is what a store can promise.
type Caps struct {
	Name    string // for people: "memory", "redis", "postgres"
	Durable bool   // what was put survives a restart of the store, though perhaps not a failover
}

// Doc is one version of a document.
type Doc struct {
	Key   string
	Rev   Rev
	Slots int           // how many leases there may be at once, 0 to MaxSlots
	Data  []byte        // at most MaxData
	TTL   time.Duration // it vanishes so long after it was put; 0: it stays. Nobody is told when it does
	Age   time.Duration // how long ago the store took it. Put does not look at it
}

// Bounds of what a Store takes.
const (
	MaxKey   = 256      // bytes of a key, role or name of a node
	MaxData  = 64 << 10 // bytes of a document's or row's data
	MaxSlots = 1000     // of a document
	MaxTTL   = 366 * 24 * time.Hour
)

// Rev names a version of a document. Epoch orders versions; ID is random, and makes
// one unique even if the store went back in time and an epoch comes twice.
type Rev struct {
	Epoch uint64
	ID    uint64
}

// Row is what a node says of itself under a key.
type Row struct {
	Key, Node string
	Start     uint64 // random, of the node's process
	Seq       uint64 // grows within Start
	Data      []byte
	Age       time.Duration // since it was last said. Say does not look at it
}

// Lease is the right to one trial, until it runs out.
type Lease struct {
	Key   string
	Rev   Rev
	Token uint64        // random
	TTL   time.Duration // its holder counts it on its own clock, from before it asked
}

// Result is how a lease ended.
type Result uint8

// Results of a lease.
const (
	Good   Result = iota
	Bad           // as a lease that runs out
	Unused        // given back; its slot is free, and nothing is counted
)

// Tally counts the leases of one version of a document.
type Tally struct{ Good, Bad, Running int }

// Errors of a Store. What else it returns is of its server or network.
var (
	ErrConflict = errors.New("fleet: the document has changed")
	ErrNoSlot   = errors.New("fleet: no slot is free")
	ErrStale    = errors.New("fleet: the lease is not held any more")
	ErrResync   = errors.New("fleet: changes may have been missed; load again")
	ErrBadKey   = errors.New("fleet: a key, role or node must have 1 to 256 bytes of UTF-8 without control characters")
	ErrBadValue = errors.New("fleet: a version must be above the one before with an ID of its own, slots 0 to 1000, a time to live 1ms to 366 days")
	ErrTooLong  = errors.New("fleet: the data has more than 64 KiB")
	ErrClosed   = errors.New("fleet: the store is closed")
)

// Refused reports whether an error says that a Store never takes what it was given: it
// is there all the same.
func Refused(err error) bool {
	return errors.Is(err, ErrBadKey) || errors.Is(err, ErrBadValue) || errors.Is(err, ErrTooLong)
}

// CheckKey returns ErrBadKey unless each of names can be a key, a role or the name of a node.
func CheckKey(names ...string) error {
	for _, s := range names {
		if s == "" || len(s) > MaxKey || !utf8.ValidString(s) {
			return ErrBadKey
		}
		for _, r := range s {
			if unicode.IsControl(r) {
				return ErrBadKey
			}
		}
	}
	return nil
}

// CheckTTL returns ErrBadValue unless ttl is 1 ms to MaxTTL.
func CheckTTL(ttl time.Duration) error {
	if ttl < time.Millisecond || ttl > MaxTTL {
		return ErrBadValue
	}
	return nil
}

// Check returns the error of a Put that expects expect, if d cannot be put.
func (d *Doc) Check(expect Rev) error {
	switch {
	case CheckKey(d.Key) != nil:
		return ErrBadKey
	case len(d.Data) > MaxData:
		return ErrTooLong
	case d.Rev.ID == 0 || d.Rev.ID == expect.ID || d.Rev.Epoch <= expect.Epoch || d.Slots < 0 || d.Slots > MaxSlots:
		return ErrBadValue
	case d.TTL != 0:
		return CheckTTL(d.TTL)
	}
	return nil
}

// CheckRows returns the error of a Say, if rows cannot be said.
func CheckRows(rows []Row, ttl time.Duration) error {
	for i := range rows {
		if err := CheckKey(rows[i].Key, rows[i].Node); err != nil {
			return err
		}
		if len(rows[i].Data) > MaxData {
			return ErrTooLong
		}
	}
	return CheckTTL(ttl)
}
