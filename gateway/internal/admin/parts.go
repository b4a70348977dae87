package admin

import (
	"cmp"
	"time"

	"github.com/recloser-go/recloser"
	"github.com/recloser-go/recloser/gateway/internal/dependency"
	"github.com/recloser-go/recloser/gateway/internal/maintenance"
	"github.com/recloser-go/recloser/gateway/internal/suspect"
)

// Suspect is the limit past which a call is suspect, and what it was made from.
type Suspect struct {
	ValueMS     *float64   `json:"value_ms" doc:"null: nothing is suspected"`
	Origin      string     `json:"origin" enum:"learned,default,fixed" doc:"learned from healthy calls; default: slow_call, as there is not enough to learn from; fixed in the configuration"`
	P50MS       float64    `json:"p50_ms" doc:"Of healthy calls; 0 without any"`
	P95MS       float64    `json:"p95_ms" doc:"Of healthy calls; 0 without any"`
	Samples     uint64     `json:"samples" doc:"Healthy calls it was learned from"`
	FrozenSince *time.Time `json:"frozen_since" doc:"Since when nothing is learned, as the dependency is not healthy; null: it learns"`
}

func newSuspect(v suspect.View) Suspect {
	s := Suspect{
		Origin: string(v.Origin), P50MS: millis(v.P50), P95MS: millis(v.P95),
		Samples: v.Samples, FrozenSince: stampOrNull(v.FrozenSince),
	}
	if v.Value > 0 {
		s.ValueMS = new(millis(v.Value))
	}
	return s
}

// millis is a duration in milliseconds, to the microsecond.
func millis(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

// Bulkhead is how many calls may run at once.
type Bulkhead struct {
	InFlight int    `json:"in_flight" doc:"That run now"`
	Limit    int    `json:"limit" doc:"That may run at once now"`
	Refused  uint64 `json:"refused" doc:"That found no place, since the start; never counted as failures"`
}

// RateLimit is how often a dependency may be called, by all callers together.
type RateLimit struct {
	_       struct{} `nullable:"true"`
	Rate    float64  `json:"rate" doc:"Calls per second"`
	Burst   int      `json:"burst" doc:"At once, after a pause"`
	Refused uint64   `json:"refused" doc:"That were too many, since the start; never counted as failures"`
}

func newRateLimit(d *dependency.Dependency) *RateLimit {
	if d.RateLimit.Rate <= 0 {
		return nil
	}
	return &RateLimit{Rate: d.RateLimit.Rate, Burst: d.RateLimit.Burst, Refused: d.Limited.Load()}
}

// Probe is what the gateway's own health checks say.
type Probe struct {
	_         struct{}   `nullable:"true"`
	Result    string     `json:"result" enum:"good,bad,neither,wrong path,none" doc:"Of the last one; none before the first"`
	Why       string     `json:"why" doc:"What it found"`
	At        *time.Time `json:"at" doc:"When it was sent"`
	TookMS    float64    `json:"took_ms"`
	Row       int        `json:"row" doc:"How many in a row were like it"`
	KnownGood bool       `json:"known_good" doc:"It was good while the dependency was: what it says now means something"`
	Next      *time.Time `json:"next" doc:"When the next is due; null: calls tell enough"`
	HeldUntil *time.Time `json:"held_until" doc:"While it is bad, no trial comes before that; null: it holds none back"`
	Sending   bool       `json:"sending" doc:"One is under way"`
	Sent      uint64     `json:"sent" doc:"Since the start"`
}

func (a *api) probeOf(d *dependency.Dependency) *Probe {
	if a.Probes == nil {
		return nil
	}
	if d.Probe == nil { // whatever was watched before it was changed
		return nil
	}
	v, ok := a.Probes.View(d.ID)
	if !ok { // not watched yet
		return &Probe{Result: "none"}
	}
	return &Probe{
		Result: cmp.Or(string(v.Verdict), "none"), Why: cut(v.Why, maxCause), At: stampOrNull(v.At), TookMS: millis(v.Took),
		Row: v.Row, KnownGood: v.Known, Next: stampOrNull(v.Next), HeldUntil: stampOrNull(v.Held), Sending: v.Sending, Sent: v.Sent,
	}
}

// Keys sums up the breakers of a dependency that has one for each key.
type Keys struct {
	_      struct{}       `nullable:"true"`
	Header string         `json:"header" doc:"The header of a request whose value is the key"`
	Count  int            `json:"count" doc:"Breakers there are"`
	States map[string]int `json:"states" nullable:"false" doc:"How many are in each state"`
}

func keysOf(d *dependency.Dependency) *Keys {
	if d.Keys == nil {
		return nil
	}
	k := &Keys{Header: d.Key.Header, States: make(map[string]int)}
	for _, b := range d.Keys.All() {
		k.Count++
		k.States[b.State().String()]++
	}
	return k
}

// NodeState is how one process has a dependency.
type NodeState struct {
	Node   string     `json:"node" doc:"Its name"`
	State  string     `json:"state" doc:"As state of the dependency; unknown if behind is true"`
	Since  *time.Time `json:"since" doc:"null of others than the one that answers"`
	Apart  bool       `json:"apart" doc:"Cut off by its own rules: all together have not cut it off"`
	Behind bool       `json:"behind" doc:"No word from it: it has not said yet that it does as all have agreed, or the store is away"`
}

// nodesOf returns how each node has d, of which this one shows v.
func (a *api) nodesOf(d *dependency.Dependency, v *Dependency) []NodeState {
	since := v.Since
	all := []NodeState{{Node: a.Node, State: v.State, Since: &since}}
	_, of := a.Fleet()
	b := of[d.ID]
	if b == nil {
		return all
	}
	for i, n := range b.Views {
		if i == 0 {
			all[0].Apart = n.Own
			continue
		}
		s := NodeState{Node: n.Node, State: n.State.String(), Apart: n.Own, Behind: n.Behind}
		switch {
		case n.Behind:
			s.State = "unknown"
		case v.Maintenance != nil && n.State == recloser.Isolated:
			s.State = maintenanceState
		}
		all = append(all, s)
	}
	return all
}

// Occurrence is one time that a maintenance lasts.
type Occurrence struct {
	_      struct{}   `nullable:"true"`
	ID     string     `json:"id" doc:"Of the maintenance"`
	Name   string     `json:"name"`
	Effect string     `json:"effect" enum:"cut-off,no-messages"`
	Reason string     `json:"reason"`
	By     string     `json:"by"`
	Until  *time.Time `json:"until"`
}

// A dependency that a maintenance has isolated.
const (
	maintenanceState  = "maintenance"
	maintenanceEffect = "cut off as planned"
)

func (a *api) occurrenceOf(d *dependency.Dependency) *Occurrence {
	if a.Maintenance == nil {
		return nil
	}
	w, until, ok := a.Maintenance.Of(d.ID)
	if !ok {
		return nil
	}
	return &Occurrence{ID: w.ID, Name: w.Name, Effect: string(w.Effect), Reason: w.Reason, By: w.By, Until: stampOrNull(until)}
}

// stateOf is what happens to the calls of a dependency, as a key and in plain words.
func (a *api) stateOf(d *dependency.Dependency, s recloser.Stats) (state, effect string) {
	if a.inMaintenance(d, s) {
		return maintenanceState, maintenanceEffect
	}
	return s.State.String(), s.Effect()
}

// inMaintenance reports whether it is a maintenance that has isolated a
// dependency, and no operator.
func (a *api) inMaintenance(d *dependency.Dependency, s recloser.Stats) bool {
	if a.Maintenance == nil || s.State != recloser.Isolated {
		return false
	}
	w, _, ok := a.Maintenance.Of(d.ID)
	return ok && w.Effect == maintenance.CutOff && maintenance.Acted(s.Override.By)
}

// originOf says where a dependency is defined.
func originOf(d *dependency.Dependency) string {
	if d.RunTime {
		return "api"
	}
	return "file"
}
