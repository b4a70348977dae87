package recloser

import (
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/recloser-go/recloser/internal/eventually"
)

// A listener that falls too far behind loses the oldest transitions, and can
// tell so by their numbers; the breaker does not wait for it.
func TestListenerFallsBehind(t *testing.T) {
	s := newSim(t, strict())
	var mu sync.Mutex
	var seqs []uint64
	busy, goOn := make(chan struct{}), make(chan struct{})
	s.b.Subscribe(func(e Transition) {
		if e.Seq == 1 {
			close(busy)
			<-goOn
		}
		mu.Lock()
		defer mu.Unlock()
		seqs = append(seqs, e.Seq)
	})
	s.b.Reset("", "")
	<-busy // the first one is out of the queue
	const lost = 10
	for range maxQueue + lost {
		s.b.Reset("", "")
	}
	close(goOn)
	eventually.True(t, 10*time.Second, func() bool {
		mu.Lock()
		defer mu.Unlock()
		return len(seqs) == 1+maxQueue
	}, "the listener to catch up")
	if seqs[0] != 1 || seqs[1] != 2+lost || seqs[maxQueue] != 1+lost+maxQueue {
		t.Errorf("heard %d, %d ... %d", seqs[0], seqs[1], seqs[maxQueue])
	}
}

// A listener that panics or ends its goroutine hears the next transition, and
// so does everybody else.
func TestListenerThatBreaks(t *testing.T) {
	s := newSim(t, strict())
	const n = 20
	all := make(chan uint64, n)
	s.b.Subscribe(func(e Transition) {
		all <- e.Seq
		if e.Seq%2 == 0 {
			panic("listener")
		}
		runtime.Goexit()
	})
	for range n {
		s.b.Reset("", "")
	}
	for want := range uint64(n) {
		mustEqual(t, "heard", <-all, want+1)
	}
	mustEqual(t, "heard by the other", len(s.transitions()), n)
}
