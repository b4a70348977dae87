package admin

import (
	"time"

	"github.com/recloser-go/recloser"
)

// What the API's description shows.

var exampleTime = time.Date(2027, time.January, 31, 18, 0, 0, 0, time.UTC)

func exampleDependency() Dependency {
	until := exampleTime.Add(90 * time.Minute)
	refused := make(map[string]uint64)
	for _, reason := range recloser.RefusalReasons() {
		refused[string(reason)] = 0
	}
	refused[string(recloser.ReasonIsolated)] = 12
	return Dependency{
		ID: "hotel-1", Name: "Aurora Central", Group: "coast", URL: "https://api.hotel-1.example/v1",
		Labels: map[string]string{"region": "north"}, Origin: "file", DefinitionVersion: 1,
		State: "isolated", Effect: recloser.Isolated.Effect(), Automatic: "half-open", Since: exampleTime, Until: &until, Reason: "isolated",
		Explain: "isolated (cut off by hand) by ines: their database moves", Version: 7,
		OpenForMS: 5000, LastTrial: &Trial{At: exampleTime.Add(-time.Hour), Result: "good", TookMS: 41.5},
		Override: &Override{State: "isolated", By: "ines", Reason: "their database moves", Since: exampleTime, Until: &until},
		Window:   Window{Good: 180, Judged: 180, MinCalls: 20, BadRatio: new(0.0)},
		Limits: Limits{
			FailureRate: new(0.5), Consecutive: new(5), SpreadMS: new(int64(300)), SlowCallMS: new(int64(2000)),
			Suspect:  Suspect{ValueMS: new(256.1), Origin: "learned", P50MS: 2.9, P95MS: 6.1, Samples: 812},
			WindowMS: 10_000, OpenForMS: 5000, MaxOpenForMS: 30_000, Trials: 2,
		},
		Totals: Totals{Success: 10_180, Failed: 14, Slow: 3, Ignored: 2}, Refused: refused,
		Bulkhead: Bulkhead{Limit: 1024},
		Probe:    &Probe{Result: "good", Why: "status 200", At: &exampleTime, TookMS: 2.1, Row: 40, KnownGood: true, Sent: 40},
		Nodes:    []NodeState{{Node: "gateway-1", State: "isolated", Since: &exampleTime}, {Node: "gateway-2", State: "isolated"}, {Node: "gateway-3", State: "unknown", Behind: true}},
		Fleet:    &Shared{State: "isolated", Reason: "isolated", By: "ines", Note: "their database moves", Decided: "gateway-1"},
	}
}

func exampleMaintenance() Maintenance {
	from, to := exampleTime.Add(9*time.Hour), exampleTime.Add(10*time.Hour+30*time.Minute)
	return Maintenance{
		ID: "k3v7q2ab", Name: "backup", Dependencies: []string{}, Groups: []string{"coast"}, Labels: map[string]string{},
		Calendar: &Calendar{Days: []string{"sat", "sun"}, From: "03:00", For: "1h30m0s", Zone: "Europe/Berlin"},
		Effect:   "cut-off", Reason: "backup", By: "ines", Created: exampleTime,
		NextFrom: &from, NextTo: &to, Covers: []string{"hotel-1"},
	}
}
