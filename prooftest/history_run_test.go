package prooftest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"
	"github.com/recloser-go/recloser/fleet"
)

// ages is how long leases and roles last here: nothing runs out.
const ages = time.Hour

// trouble disturbs a store while clients use it. They begin nothing more until it calls
// begun; unclear receives when an outcome is. It returns when all is well again.
type trouble func(begun func(), unclear <-chan struct{})

// history is what some clients did at the same time.
type history struct {
	time    atomic.Int64 // counts what begins and ends
	mu      sync.Mutex
	ops     []porcupine.Operation
	gate    sync.RWMutex // held while a trouble begins
	unclear chan struct{}
}

// client does what it likes, knowing what it has heard.
type client struct {
	*history
	ctx    context.Context
	store  fleet.Store
	number int
	node   string
	r      *rand.Rand
	revs   map[string]fleet.Rev
	leases []fleet.Lease
}

const (
	clients = 5
	opsEach = 50
)

// record has clients use stores of open, each its own, and returns what they did.
func record(t *testing.T, open func() fleet.Store, troubles ...trouble) []porcupine.Operation {
	t.Helper()
	h := &history{unclear: make(chan struct{}, 1)}
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	due := make(chan chan struct{}) // one trouble after another, evenly
	var done atomic.Int64
	every := int64(clients * opsEach / (len(troubles) + 1))
	var all sync.WaitGroup
	start := make(chan struct{})
	for i := range clients {
		c := &client{
			history: h, ctx: t.Context(), store: open(), number: i, node: string(rune('A' + i)),
			r: rand.New(rand.NewPCG(seed, uint64(i))), revs: map[string]fleet.Rev{},
		}
		all.Go(func() {
			<-start
			for range opsEach {
				c.step()
				if n := done.Add(1); n%every == 0 && n/every <= int64(len(troubles)) {
					h.gate.Lock()
					begun := make(chan struct{})
					due <- begun
					<-begun
					h.gate.Unlock()
				}
			}
		})
	}
	close(start)
	for _, disturb := range troubles {
		begun := <-due
		select {
		case <-h.unclear: // from before
		default:
		}
		disturb(func() { close(begun) }, h.unclear)
	}
	all.Wait()
	return h.ops
}

// step asks the store for something.
func (c *client) step() {
	a := asked{key: []string{"x", "y"}[c.r.IntN(2)], node: c.node, number: c.r.Uint64() | 1}
	a.expect = c.revs[a.key]
	switch n := c.r.IntN(20); {
	case n < 3:
		a.what = "put"
		a.next = fleet.Doc{Key: a.key, Rev: fleet.Rev{Epoch: a.expect.Epoch + 1, ID: a.number}, Slots: 1 + c.r.IntN(3)}
	case n < 6:
		a.what = "load"
	case n < 12:
		a.what = "acquire"
	case n < 17 && len(c.leases) > 0:
		a.what = "finish"
		i := len(c.leases) - 1 - c.r.IntN(min(len(c.leases), 3))
		a.lease, a.result = c.leases[i], fleet.Result(c.r.IntN(3))
		a.key = a.lease.Key
		if c.r.IntN(4) > 0 { // else it is finished again
			c.leases = slices.Delete(c.leases, i, i+1)
		}
	default:
		a.what, a.key, a.giveUp = "elect", "role", c.r.IntN(3) == 0
	}
	c.gate.RLock()
	c.gate.RUnlock() //nolint:staticcheck // nothing begins while it is held
	began := c.time.Add(1)
	runtime.Gosched() // others may come first, even where it takes no time
	said, lease := perform(c, a)
	runtime.Gosched()
	ended := c.time.Add(1)
	switch {
	case said.lost != nil:
		ended = math.MaxInt64
		select {
		case c.unclear <- struct{}{}:
		default:
		}
	case a.what == "put" || a.what == "load":
		c.revs[a.key] = said.rev
	case a.what == "acquire" && said.err == nil:
		c.leases = append(c.leases, lease)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ops = append(c.ops, porcupine.Operation{ClientId: c.number, Input: a, Call: began, Output: said, Return: ended})
}

// explain returns "" if one store, that does one thing after the other, could have said
// what the clients heard, and else where that ends.
func explain(ops []porcupine.Operation) (string, error) {
	for _, part := range linear.Partition(ops) {
		result, info := porcupine.CheckOperationsVerbose(linear, part, time.Minute)
		switch result {
		case porcupine.Ok:
		case porcupine.Illegal:
			return part[0].Input.(asked).key + ":" + where(part, info), nil
		default:
			return "", errors.New("whether the history can be explained took too long to find out")
		}
	}
	return "", nil
}

// where shows the last of what can be explained, and the first that does not fit.
func where(part []porcupine.Operation, info porcupine.LinearizationInfo) (text string) {
	const few = 10
	var longest []porcupine.Operation
	for _, l := range slices.Concat(info.PartialLinearizationsOperations()...) {
		if len(l) > len(longest) {
			longest = l
		}
	}
	line := func(op porcupine.Operation, rest string) {
		text += fmt.Sprintf("\n%s, from %d to %d: %s%s", string(rune('A'+op.ClientId)), op.Call, op.Return, linear.DescribeOperation(op.Input, op.Output), rest)
	}
	explained := map[int64]bool{}
	state := linear.Init()
	for i, op := range longest {
		explained[op.Call] = true
		if _, state = linear.Step(state, op.Input, op.Output); i >= len(longest)-few {
			line(op, fmt.Sprintf(" -> %+v", state))
		}
	}
	text += "\nand then any of"
	n := 0
	slices.SortFunc(part, func(a, b porcupine.Operation) int { return cmp.Compare(a.Call, b.Call) })
	for _, op := range part {
		if !explained[op.Call] && n < few {
			n++
			line(op, "")
		}
	}
	return text
}

// mustBeExplained fails unless each of the histories can be explained, and there is
// something of all kinds in them.
func mustBeExplained(t *testing.T, histories ...[]porcupine.Operation) {
	t.Helper()
	said := map[string]int{}
	for _, ops := range histories {
		for _, op := range ops {
			how := "done"
			switch said := op.Output.(told); {
			case said.lost != nil:
				how = "unclear"
			case said.err != nil:
				how = "refused"
			}
			said[op.Input.(asked).what+" "+how]++
		}
		fault, err := explain(ops)
		if err != nil {
			t.Fatal(err)
		}
		if fault != "" {
			t.Errorf("no store that does one thing after the other could have said this of %s", fault)
		}
	}
	t.Log(said)
	for _, what := range []string{"load done", "put done", "put refused", "acquire done", "acquire refused", "finish done", "finish refused", "elect done"} {
		if said[what] == 0 {
			t.Errorf("there is no %s in what the clients did", what)
		}
	}
}
