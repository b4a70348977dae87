package fleet_test

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/recloser-go/recloser/fleet"
	"github.com/recloser-go/recloser/fleet/storetest"
)

// harness reaches memory stores, one for each prefix.
func harness() storetest.Harness {
	stores := map[string]*fleet.Memory{}
	return storetest.Harness{
		New: func(_ testing.TB, prefix string) fleet.Store {
			if stores[prefix] == nil {
				stores[prefix] = fleet.NewMemory()
			}
			return stores[prefix].Share()
		},
		Flush: func(testing.TB) {
			for _, m := range stores {
				m.Flush()
			}
		},
		Missing: map[string]string{
			"Skewed":      "it is part of the process of its nodes, which has one clock",
			"Quiet":       "who watches looks at the documents themselves",
			"Pause":       "it waits for nothing",
			"Restart":     "it ends with its process",
			"Drop":        "it has no connections",
			"Connections": "it has no connections",
		},
	}
}

// Nodes whose names are used once do not pile up.
func TestMemoryForgetsNodes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := fleet.NewMemory()
		for i := range 100 {
			r := fleet.Row{Key: "k", Node: fmt.Sprint("pod-", i), Start: 1}
			if err := m.Say(t.Context(), []fleet.Row{r}, time.Minute); err != nil {
				t.Fatal(err)
			}
			<-time.After(20 * time.Second)
		}
		if n := m.Rows(); n != 3 {
			t.Errorf("%d rows are held, want the 3 of the last minute", n)
		}
	})
}

// Neither do rows of breakers that are gone.
func TestMemoryForgetsNames(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := fleet.NewMemory()
		for i := range 100 {
			r := fleet.Row{Key: fmt.Sprint("breaker-", i), Node: "a", Start: 1}
			if err := m.Say(t.Context(), []fleet.Row{r}, time.Minute); err != nil {
				t.Fatal(err)
			}
			<-time.After(20 * time.Second)
		}
		if n := m.Rows(); n != 3 {
			t.Errorf("%d rows are held, want the 3 of the last minute", n)
		}
	})
}

func TestMemory(t *testing.T) {
	storetest.Run(t, func(*testing.T) storetest.Harness { return harness() })
}
