package fleet_test

import (
	"testing"

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

func TestMemory(t *testing.T) {
	storetest.Run(t, func(*testing.T) storetest.Harness { return harness() })
}
