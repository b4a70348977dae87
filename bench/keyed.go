package bench

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"

	"github.com/recloser-go/recloser"
)

const keyCount = 10_000

// ring is a walk over the keys in a shuffled order, so that the next breaker is
// in no cache.
type ring struct {
	keys []string
	at   int
}

func newRing(keys []string) ring {
	keys = slices.Clone(keys)
	random := rand.New(rand.NewPCG(1, 2)) // the same order for every peer
	random.Shuffle(len(keys), func(i, j int) { keys[i], keys[j] = keys[j], keys[i] })
	return ring{keys: keys}
}

func (r *ring) here() string { return r.keys[r.at] }

func (r *ring) next() string {
	key := r.keys[r.at]
	if r.at++; r.at == len(r.keys) {
		r.at = 0
	}
	return key
}

func (r ring) elsewhere() ring {
	r.at = rand.IntN(len(r.keys))
	return r
}

// Keyed is a breaker for each of 10 000 keys. Succeed calls through the next key's
// breaker, Fail through that of the key whose turn it is, which it leaves there.
func Keyed(clock *recloser.Clock) Group {
	keys := make([]string, keyCount)
	for i := range keys {
		keys[i] = fmt.Sprintf("tenant-%05d.example", i)
	}
	walk := newRing(keys)
	return Group{Name: "10 000 keys", Peers: []Peer{
		recloserSet("recloser Set", rateConfig(nil), keys, walk),
		recloserSet("recloser Set, coarse clock", rateConfig(clock), keys, walk),
		behindMap(ratePermits(), keys, walk, func() permits { return permits{rateFailsafe()} }),
		behindMap(rateExecutor(), keys, walk, func() *executor { return newExecutor(rateFailsafe()) }),
		behindMap(rateGobreaker(), keys, walk, func() goBreaker { return newGobreaker(gobreakerRate()) }),
		behindMap(rateRubyist(), keys, walk, func() rubyist { return newRubyist(rubyistRate()) }),
		behindMap(gozeroPeer(), keys, walk, newGozero),
		behindMap(eapachePeer(), keys, walk, newEapache),
	}}
}

func recloserSet(name string, cfg recloser.Config, keys []string, walk ring) Peer {
	return Peer{
		Name: name, Rule: "Set.Get(key).Do; " + rateRule, Refusal: recloser.ErrOpen, Keys: len(keys),
		New: func() Breaker {
			set := must(recloser.NewSet(cfg, nil))
			for _, key := range keys {
				set.Get(key)
			}
			return &keyedSet{walk, set}
		},
	}
}

type keyedSet struct {
	ring
	set *recloser.Set
}

func (k *keyedSet) Succeed() error {
	return k.set.Get(k.next()).Do(context.Background(), succeedContext)
}

func (k *keyedSet) Fail() error   { return k.set.Get(k.here()).Do(context.Background(), failContext) }
func (k *keyedSet) fork() Breaker { return &keyedSet{k.elsewhere(), k.set} }

// behindMap is p for each key: none of the rivals has a registry of its own that
// would do better (rubyist's starts a goroutine for each breaker).
func behindMap[B Breaker](p Peer, keys []string, walk ring, build func() B) Peer {
	p.Rule, p.Keys = "sync.Map; "+p.Rule, len(keys)
	p.New = func() Breaker {
		k := &keyedMap[B]{walk, &sync.Map{}}
		for _, key := range keys {
			k.breakers.Store(key, build())
		}
		return k
	}
	return p
}

type keyedMap[B Breaker] struct {
	ring
	breakers *sync.Map // string to B: an assertion to Breaker would cost more than one to a type
}

func (k *keyedMap[B]) Succeed() error { return k.get(k.next()).Succeed() }
func (k *keyedMap[B]) Fail() error    { return k.get(k.here()).Fail() }
func (k *keyedMap[B]) fork() Breaker  { return &keyedMap[B]{k.elsewhere(), k.breakers} }

func (k *keyedMap[B]) get(key string) B {
	b, _ := k.breakers.Load(key)
	return b.(B)
}
