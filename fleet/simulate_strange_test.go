//go:build !race

package fleet

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/recloser-go/recloser"
)

// A record that cannot be read is left alone, and said; nobody hammers the store, and
// other dependencies are shared as ever.
func TestUnreadableRecord(t *testing.T) {
	open := encode(Record{State: recloser.Open, Lasts: time.Second})
	for name, d := range map[string]Doc{
		"no JSON":           {Rev: Rev{5, 5}, Data: []byte("PNG")},
		"the last epoch":    {Rev: Rev{math.MaxUint64, 5}, Data: open},
		"the last but some": {Rev: Rev{mostEpoch, 5}, Data: open},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSim(t, 1, 3, Config{}, []string{"hotel", "inn"}, hotel())
			s.run(10 * time.Second)
			for _, key := range []string{breakerKey + "hotel", askKey + "inn"} {
				d.Key = key
				if _, err := s.store.Put(t.Context(), Rev{}, d); err != nil {
					t.Fatal(err)
				}
			}
			s.push()
			p := &partner{fails: true}
			for _, n := range s.nodes[1:] {
				n.callers("hotel", time.Second, p.serve, nil)
			}
			began := s.now()
			s.run(time.Second)
			s.nodes[2].c.byName["inn"].ask = true
			s.run(30 * time.Second)
			if err := s.nodes[0].c.status(s.now()).Err; err == nil || !strings.Contains(err.Error(), `"breaker/hotel"`) {
				t.Errorf("%v", err)
			}
			for _, name := range []string{"hotel", "inn"} {
				if err := s.nodes[0].c.byName[name].set(Record{State: recloser.Isolated, By: "ann", Note: "fire"}, time.Time{}, s.now()); err != nil {
					t.Fatal(err)
				}
			}
			before := s.ops[opPut]
			s.run(time.Minute)
			if n := s.ops[opPut] - before; n > 50 {
				t.Errorf("%d writes in a minute", n)
			}
			if s.in("hotel", recloser.Closed) > 0 {
				t.Error("they do not protect themselves")
			}
			for _, n := range s.nodes {
				if st := n.c.status(s.now()); st.Mode != Shared || st.Since.After(began) || n.breakers["inn"].State() != recloser.Isolated {
					t.Errorf("%s: %s, the other dependency is %s; %v", n.c.cfg.Node, st.Mode, n.breakers["inn"].State(), st.Err)
				}
			}
		})
	}
}
