package redisstore

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/recloser-go/recloser/fleet"
)

// A position of the changes is a place in the log, "milliseconds-random", as one number.
const (
	randomBits = 20
	randomMask = 1<<randomBits - 1
)

// atOnce is how many changes are read at once, as a script stops the server for others.
const atOnce = 100

func newRandom() int { return rand.IntN(1 << randomBits) }

func place(pos uint64) string {
	return fmt.Sprintf("%d-%d", pos>>randomBits, pos&randomMask)
}

func position(place string) (uint64, error) {
	ms, random, _ := strings.Cut(place, "-")
	high, err := strconv.ParseUint(ms, 10, 64-randomBits)
	if err != nil {
		return 0, err
	}
	low, err := strconv.ParseUint(random, 10, randomBits)
	return high<<randomBits | low, err
}

// Load implements [fleet.Store].
func (s *Store) Load(ctx context.Context) ([]fleet.Doc, uint64, error) {
	reply, err := s.run(ctx, loadScript, []string{s.key("log"), s.key("docs")}, newRandom())
	if err != nil {
		return nil, 0, err
	}
	r := s.reader(reply)
	now := r.number(0)
	pos := r.position(1)
	docs := r.docs(2, now)
	slices.SortFunc(docs, func(a, b fleet.Doc) int { return strings.Compare(a.Key, b.Key) })
	return docs, pos, r.err
}

// since returns the documents that changed after a position, the position that this
// leads to, and whether there are more.
func (s *Store) since(ctx context.Context, after uint64) (docs []fleet.Doc, last uint64, more bool, err error) {
	reply, err := s.run(ctx, sinceScript, []string{s.key("log"), s.key("docs")}, place(after), atOnce)
	if err != nil {
		return nil, 0, false, err
	}
	r := s.reader(reply)
	if r.err == nil && len(r.list) == 0 {
		return nil, 0, false, fleet.ErrResync
	}
	now := r.number(0)
	return r.docs(3, now), r.position(1), r.number(2) == 1, r.err
}

// Put implements [fleet.Store].
func (s *Store) Put(ctx context.Context, expect fleet.Rev, next fleet.Doc) (fleet.Doc, error) {
	if err := next.Check(expect); err != nil {
		return fleet.Doc{}, err
	}
	expected := ""
	if expect != (fleet.Rev{}) {
		expected = packRev(expect)
	}
	keys := []string{s.key("log"), s.key("docs"), s.key("ends"), s.key("trials", next.Key)}
	reply, err := s.run(ctx, putScript, keys, next.Key, expected, packRev(next.Rev), next.Slots,
		next.TTL.Microseconds(), next.Data, newRandom(), s.key("changed"))
	if err != nil {
		return fleet.Doc{}, err
	}
	r := s.reader(reply)
	done, now := r.number(0), r.number(1)
	var there fleet.Doc
	if value := r.at(2); value != nil {
		there, _ = r.doc(next.Key, value, now)
	}
	if r.err == nil && done == 0 {
		return there, fleet.ErrConflict
	}
	return there, r.err
}

// packRev is how a version is written in Redis: two numbers of 16 hexadecimal digits.
func packRev(rev fleet.Rev) string { return fmt.Sprintf("%016x %016x", rev.Epoch, rev.ID) }

// age is the age at now of what was at then, both in microseconds of the server's
// clock, which may have been set back between.
func age(now, then int64) time.Duration {
	return max(0, time.Duration(now-then)*time.Microsecond)
}
