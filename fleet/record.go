package fleet

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/recloser-go/recloser"
)

// A Record is what the nodes of a fleet have agreed on about a dependency: the
// document "breaker/" + name.
type Record struct {
	State    recloser.State  `json:"state"`
	Lasts    time.Duration   `json:"lasts,omitempty"`    // the open time, or an override's whole length; 0: no end
	Step     int             `json:"step,omitempty"`     // how often the open time has been doubled
	Reason   recloser.Reason `json:"reason,omitempty"`   // why it is so
	Trip     recloser.Reason `json:"trip,omitempty"`     // what opened it last; "": nothing did
	Cause    string          `json:"cause,omitempty"`    // the last failure seen then
	By       string          `json:"by,omitempty"`       // the operator, if it was one
	Acted    time.Duration   `json:"acted,omitempty"`    // By: how long before this was written he did it
	Note     string          `json:"note,omitempty"`     // for people
	Need     int             `json:"need,omitempty"`     // half-open: good trials that close it
	Settings uint64          `json:"settings,omitempty"` // revision of the settings by which it was decided
	Node     string          `json:"node,omitempty"`     // that wrote it
	Seen     int             `json:"seen,omitempty"`     // nodes that had seen bad calls, at the trip
	Nodes    int             `json:"nodes,omitempty"`    // nodes that lived then
}

const breakerKey = "breaker/"

// nameOf returns the name in a key that begins with prefix.
func nameOf(key, prefix string) (name string, ok bool) { return strings.CutPrefix(key, prefix) }

// encode returns v as JSON. What is encoded here cannot fail.
func encode(v any) []byte {
	data, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return data
}

// mostText is how many bytes of a text go into a record: causes are errors of others,
// and may be long.
const mostText = 1000

// clip returns s, or its beginning.
func clip(s string) string {
	if len(s) <= mostText {
		return s
	}
	return strings.ToValidUTF8(s[:mostText], "") + "..."
}

// version is a record as a node holds it. The zero version is that of a breaker of
// which the store knows nothing: closed.
type version struct {
	Rev
	Record
	slots int
	made  time.Time // by this node's clock
}

func (v *version) age(now time.Time) time.Duration { return max(0, now.Sub(v.made)) }

// left returns what is left of the open time or the override; 0 if it has no end.
func (v *version) left(now time.Time) time.Duration {
	if v.Lasts == 0 {
		return 0
	}
	return max(0, v.Lasts-v.age(now))
}

// rest is what Lasts is in a record that takes the place of this one.
func (v *version) rest(now time.Time) time.Duration {
	if v.Lasts == 0 {
		return 0
	}
	return max(v.left(now), time.Millisecond)
}

// over reports whether the open time or the override has passed.
func (v *version) over(now time.Time) bool { return v.Lasts > 0 && v.age(now) >= v.Lasts }

// mostEpoch is above every epoch that there will be: what has one is none of ours, and
// nothing could ever take its place.
const mostEpoch = 1 << 62

// versionOf reads a document that came at now.
func versionOf(d *Doc, now time.Time) (version, error) {
	v := version{Rev: d.Rev, slots: d.Slots, made: now.Add(-d.Age)}
	if d.Rev == (Rev{}) {
		return version{}, nil
	}
	err := json.Unmarshal(d.Data, &v.Record)
	if err == nil {
		err = v.check()
	}
	if err != nil {
		return v, fmt.Errorf("fleet: the document %q cannot be read: %w; update this node, or delete the document if no node wrote it", d.Key, err)
	}
	return v, nil
}

// check reports what no node writes. What the store holds may be of somebody else, and must
// neither stay for ever nor harm what comes after it.
func (v *version) check() error {
	switch {
	case v.Epoch > mostEpoch:
		return errors.New("no node has given it that epoch")
	case v.Lasts < 0, v.State == recloser.Open && (v.Lasts == 0 || v.Lasts > longestOpen):
		return fmt.Errorf("%s for %s", v.State, v.Lasts)
	case v.State == recloser.HalfOpen && (v.Need < 1 || v.Need > v.slots):
		return fmt.Errorf("%d trials must be good, and there are %d", v.Need, v.slots)
	case v.Step < 0 || v.Acted < 0 || len(v.Reason) > mostText || len(v.Trip) > mostText:
		return errors.New("it has values that make no sense")
	}
	return nil
}

// severity orders records by how many calls they let pass.
func (v *version) severity() int {
	switch v.State {
	case recloser.Open, recloser.HalfOpen:
		return 1
	case recloser.Isolated:
		return 2
	case recloser.Closed, recloser.HeldClosed:
	}
	return 0
}

// course is what a node does with a version that the store has, given the one it holds.
type course uint8

const (
	keep   course = iota
	adopt         // it is newer, or nothing is lost by it
	reopen        // the store went back in time and would silently close: write above both
)

// reconcile says what to do with got, which the store has, by a node that holds held.
// What is closed is never put against what the store says.
func reconcile(held, got *version, now time.Time) course {
	switch {
	case got.Rev == held.Rev:
		return keep
	case got.Epoch > held.Epoch, got.severity() >= held.severity(): // so, with held closed, whatever it is
		return adopt
	case held.Lasts > 0 && held.age(now)/2 >= held.Lasts:
		return adopt
	}
	return reopen
}

// reopened is the record that puts held in force again. Trials that run end with
// the version that they were of, and no others begin before they are decided.
func reopened(held *version, trialTime time.Duration, now time.Time) Record {
	r := held.Record
	r.Lasts = held.rest(now)
	if r.By != "" {
		r.Acted += held.age(now) // it is no later act than it was
	}
	switch r.State {
	case recloser.HalfOpen:
		r.State, r.Lasts, r.Need = recloser.Open, max(trialTime, time.Second), 0
	case recloser.Open:
		r.Lasts = max(r.Lasts, time.Second)
	case recloser.Closed, recloser.Isolated, recloser.HeldClosed:
	}
	return r
}

// above returns the Rev of a version that follows both.
func above(a, b Rev, random *rand.Rand) Rev {
	return Rev{Epoch: max(a.Epoch, b.Epoch) + 1, ID: random.Uint64() | 1}
}

// longestOpen is how long a breaker can be told to stay open.
const longestOpen = 24 * time.Hour

// openTime returns how long an opening with this step lasts.
func openTime(cfg *recloser.Config, step int) time.Duration {
	if step > 21 { // even a millisecond has become more than an hour, and an hour is still in range before
		return cfg.MaxOpenFor
	}
	return min(cfg.OpenFor<<step, cfg.MaxOpenFor)
}

// stepUp returns the next step, as long as it makes the open time longer.
func stepUp(cfg *recloser.Config, step int) int {
	if openTime(cfg, step) < cfg.MaxOpenFor {
		return step + 1
	}
	return step
}

// nextStep returns the step of a trip while held, which is closed, is in force. good
// is how many calls were good since.
func nextStep(cfg *recloser.Config, held *version, good uint64, now time.Time) int {
	switch {
	case held.Trip == "" || held.age(now) >= cfg.ResetAfter:
		return 0
	case good < uint64(cfg.MinCalls):
		return stepUp(cfg, held.Step)
	}
	return max(held.Step-1, 0)
}
