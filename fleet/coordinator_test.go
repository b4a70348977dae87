package fleet

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/recloser-go/recloser"
)

// What was loaded may be older than what was heard while it was under way.
func TestLoadedLate(t *testing.T) {
	now := epoch
	c := newCoordinator(Config{Fleet: "town", Node: "a"}, rand.New(rand.NewPCG(1, 1)), now)
	b := newBreaker(t, "hotel")
	c.join(b)
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
