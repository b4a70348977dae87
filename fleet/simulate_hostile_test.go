//go:build !race

package fleet

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/recloser-go/recloser"
)

// Records that no node writes are said and left alone, whoever put them there. They harm
// neither the node nor the other breakers.
func TestHostileRecords(t *testing.T) {
	for name, d := range map[string]Doc{
		"no version above":     {Rev: Rev{math.MaxUint64, 5}, Data: []byte(`{"state":"open","lasts":1000000000}`)},
		"open without an end":  {Rev: Rev{5, 5}, Data: []byte(`{"state":"open"}`)},
		"open for years":       {Rev: Rev{5, 5}, Data: []byte(`{"state":"open","lasts":9223372036854775807}`)},
		"isolated for less":    {Rev: Rev{5, 5}, Data: []byte(`{"state":"isolated","lasts":-1}`)},
		"a negative step":      {Rev: Rev{5, 5}, Data: []byte(`{"state":"open","lasts":1000000000,"step":-1}`)},
		"no trials":            {Rev: Rev{5, 5}, Slots: 1, Data: []byte(`{"state":"half-open"}`)},
		"too few trials":       {Rev: Rev{5, 5}, Slots: 1, Data: []byte(`{"state":"half-open","need":2}`)},
		"a negative age":       {Rev: Rev{5, 5}, Data: []byte(`{"state":"isolated","by":"ann","acted":-1}`)},
		"reasons that explode": {Rev: Rev{5, 5}, Data: []byte(`{"state":"open","lasts":1000000000,"trip":"` + strings.Repeat("<", MaxData-100) + `"}`)},
		"no JSON":              {Rev: Rev{5, 5}, Data: []byte("PNG")},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSim(t, 1, 3, Config{}, []string{"hotel", "inn"}, hotel())
			down, well := &partner{fails: true}, &partner{}
			for _, n := range s.nodes {
				n.callers("hotel", time.Second, down.serve, nil)
				n.callers("inn", time.Second, well.serve, nil)
			}
			d.Key = breakerKey + "hotel"
			if _, err := s.store.Put(t.Context(), Rev{}, d); err != nil {
				t.Fatal(err)
			}
			s.run(time.Minute)
			s.await("they protect themselves", time.Minute, func() bool { return s.in("hotel", recloser.Closed) == 0 })
			for _, n := range s.nodes {
				if st := n.c.status(s.now()); st.Mode != Shared || st.Err == nil || !strings.Contains(st.Err.Error(), `"breaker/hotel" cannot be read`) {
					t.Errorf("%s: %v", st.Mode, st.Err)
				}
			}
			if docs, _, err := s.store.Load(t.Context()); err != nil || docs[1].Key != d.Key || docs[1].Rev != d.Rev {
				t.Errorf("it was written over: %+v", docs)
			}
			well.fails = true
			s.await("the other one trips", time.Minute, func() bool { return s.record("inn").State == recloser.Open })
			// Somebody puts it right.
			down.fails, well.fails = false, false
			s.store.shared.mu.Lock()
			s.store.shared.add(Doc{Key: d.Key, Rev: Rev{6, 6}, Data: encode(Record{State: recloser.Closed})}, s.now())
			s.store.shared.mu.Unlock()
			s.push()
			s.await("all is well", 3*time.Minute, func() bool {
				for _, n := range s.nodes {
					if n.c.status(s.now()).Err != nil {
						return false
					}
				}
				return s.in("hotel", recloser.Closed) == 3 && s.in("inn", recloser.Closed) == 3
			})
		})
	}
}

// However many breakers have news and however slow the store is, nodes go on to live and to
// hold their roles, and every breaker has its turn.
func TestManyInTrouble(t *testing.T) {
	var names []string
	for i := range 300 {
		names = append(names, fmt.Sprint("hotel-", i))
	}
	s := newSim(t, 1, 2, Config{Group: func(string) string { return "all" }}, names, hotel())
	s.delay = 40 * time.Millisecond
	s.nodes[0].c.seek("sender")
	for _, n := range s.nodes {
		for _, name := range names {
			n.callers(name, time.Second, func(n *simNode, _ string) (time.Duration, error) {
				if n.random.Float64() < 0.1 {
					return 20 * time.Millisecond, errDown
				}
				return 20 * time.Millisecond, nil
			}, nil)
		}
	}
	s.run(30 * time.Second)
	for range 60 {
		s.run(time.Second)
		if st := s.nodes[1].c.status(s.now()); len(st.Nodes) != 2 || !s.nodes[0].c.holds("sender", s.now()) {
			t.Fatalf("at %s: %d nodes live, %s, %v", s.virtual.Since(epoch), len(st.Nodes), st.Mode, st.Err)
		}
	}
	for _, m := range s.nodes[0].c.members {
		if waits := s.now().Sub(m.judgeAt); !m.judgeAt.IsZero() && waits > time.Minute/2 {
			t.Fatalf("%s: what the others say has been due for %s", m.name, waits)
		}
	}
}
