package sharing

import (
	"math"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/recloser-go/recloser/fleet"
)

// The store of another fleet, or of nobody yet, is left alone.
func TestStoreOfOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := fleet.NewMemory()
		a, b := start(t, store), start(t, store)
		a.put(t, "x", "1")
		alike(t, "", b)
		take(t, store, fleet.Rev{}, 1, "zoos")
		pass(time.Minute)
		if docs, _, err := store.Load(t.Context()); len(docs) != 1 || err != nil {
			t.Errorf("the store has %v, %v", docs, err)
		}
		if err := a.Fault(); err == nil || !strings.Contains(err.Error(), `belongs to the fleet "zoos"`) {
			t.Errorf("fault %v", err)
		}
		take(t, store, fleet.Rev{Epoch: 1, ID: 1}, 2, "parks")
		alike(t, "x=1", a, b)
		a.end(t)
		b.end(t)
	})
}

// Who can write to the store gets nothing in force by that which nodes do not share, and
// keeps them from sharing nothing.
func TestStrangeDocuments(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := parks(t)
		a, b := start(t, store), start(t, store)
		alike(t, "", a, b)
		docs := []fleet.Doc{
			{Key: "gateway/token/evil00", Data: []byte(`{"id":"evil00","role":"admin"}`)},
			{Key: "gateway/override/x", Data: []byte(`{"dependency":"x","state":"held-closed"}`)},
			{Key: "gateway/shared/x", Data: []byte(`{}`)},
			{Key: "gateway/new", Data: []byte(`{}`)},
			{Key: "gateway/dependency/x", Data: []byte(`PNG`)},
			{Key: "gateway/dependency/y", Data: []byte(`{"id":"z","definition":"MQ=="}`)},
			{Key: "gateway/maintenance/x", Data: []byte(`{"id":"x"}`)},
			{Key: "gateway/incident/x", Data: []byte(`PNG`)},
			{Key: "gateway/dependency/last", Rev: fleet.Rev{Epoch: math.MaxUint64}, Data: []byte(`{"id":"last","definition":"MQ=="}`)},
		}
		for i, d := range docs {
			d.Rev.ID = uint64(i + 1)
			d.Rev.Epoch = max(d.Rev.Epoch, 1)
			if _, err := store.Put(t.Context(), fleet.Rev{}, d); err != nil {
				t.Fatal(err)
			}
		}
		pass(time.Second)
		a.put(t, "last", "2") // nothing can take its place
		a.put(t, "good", "1")
		pass(time.Minute)
		alike(t, "good=1 last=2", a)
		alike(t, "good=1 last=1", b)
		for _, n := range []*node{a, b, start(t, store)} {
			if all, err := n.h.Tokens(t.Context()); len(all) > 0 || err != nil {
				t.Errorf("tokens %v, %v", all, err)
			}
			if all, err := n.h.Overrides(t.Context()); len(all) > 0 || err != nil {
				t.Errorf("overrides %v, %v", all, err)
			}
			if all, err := n.h.Maintenance(t.Context()); len(all) > 0 || err != nil {
				t.Errorf("maintenance %v, %v", all, err)
			}
			if all, err := n.h.Incidents(t.Context()); len(all) > 0 || err != nil {
				t.Errorf("incidents %v, %v", all, err)
			}
			if err := n.Fault(); err != nil {
				t.Error(err)
			}
			n.end(t)
		}
	})
}
