package client

import (
	"encoding/json"
	"time"
)

// Dependency is what this package's users look at of one; the API has more.
type Dependency struct {
	ID        string            `json:"id"`
	Name      string            `json:"name"`
	Group     string            `json:"group"`
	URL       string            `json:"url"`
	Origin    string            `json:"origin"` // file, or api: added at run time
	State     string            `json:"state"`
	Effect    string            `json:"effect"`
	Shadow    bool              `json:"shadow"`
	OutSince  *time.Time        `json:"cut_off_since"`
	Since     time.Time         `json:"since"`
	Until     *time.Time        `json:"until"`
	Reason    string            `json:"reason"`
	Explain   string            `json:"explain"`
	Why       string            `json:"why"` // what the state rests on
	Cause     string            `json:"cause"`
	Version   uint64            `json:"version"`
	NextTrial *time.Time        `json:"next_trial"`
	Override  *Override         `json:"override"`
	Window    Window            `json:"window"`
	Limits    Limits            `json:"limits"`
	InFlight  int               `json:"in_flight"`
	Totals    Totals            `json:"totals"`
	Refused   map[string]uint64 `json:"refused"`
	Keys      *Keys             `json:"keys"`
	Fleet     *Shared           `json:"fleet"` // nil: the gateway is alone
}

// Shared is what nodes that share a store know of a dependency.
type Shared struct {
	SeenBy    string `json:"seen_by"`    // nodes that have seen it fail, in words
	NotShared bool   `json:"not_shared"` // an operator's act is not known to the others
}

// Keys sums up the breakers of a dependency that has one for each key.
type Keys struct {
	Count  int            `json:"count"`
	States map[string]int `json:"states"` // how many are in each state
}

// Reloaded is what a reload did.
type Reloaded struct {
	Changed string   `json:"changed"`
	Restart []string `json:"restart"`
}

// Override is what an operator set.
type Override struct {
	State  string     `json:"state"`
	By     string     `json:"by"`
	Reason string     `json:"reason"`
	Since  time.Time  `json:"since"`
	Until  *time.Time `json:"until"`
}

// Window is what the breaker has seen lately.
type Window struct {
	Run      int      `json:"run"`
	BadRatio *float64 `json:"bad_ratio"`
}

// Limits are the settings in force; nil is off.
type Limits struct {
	FailureRate *float64 `json:"failure_rate"`
}

// Totals count calls that ended.
type Totals struct {
	Success uint64 `json:"success"`
	Failed  uint64 `json:"failed"`
	Slow    uint64 `json:"slow"`
	Ignored uint64 `json:"ignored"`
}

// Event is something that happened.
type Event struct {
	ID         int64     `json:"id"`
	At         time.Time `json:"at"`
	Dependency string    `json:"dependency"`
	Kind       string    `json:"kind"`
	From       string    `json:"from,omitempty"`
	To         string    `json:"to"`
	Reason     string    `json:"reason"`
	By         string    `json:"by"`
	Note       string    `json:"note"`
	Cause      string    `json:"cause"`
	Shadow     bool      `json:"shadow"`
	Text       string    `json:"text"`
}

// Act is what somebody did.
type Act struct {
	ID     int64      `json:"id"`
	At     time.Time  `json:"at"`
	Name   string     `json:"name"`
	Target string     `json:"target"`
	By     string     `json:"by"`
	Reason string     `json:"reason"`
	Until  *time.Time `json:"until"`
	Result string     `json:"result"`
	Of     []string   `json:"dependencies"`
}

// Maintenance is a planned isolation.
type Maintenance struct {
	ID           string            `json:"id,omitempty"`
	Name         string            `json:"name"`
	Dependencies []string          `json:"dependencies,omitempty"`
	Groups       []string          `json:"groups,omitempty"`
	Labels       map[string]string `json:"labels,omitempty"`
	From         *time.Time        `json:"from,omitempty"`
	To           *time.Time        `json:"to,omitempty"`
	Calendar     *Calendar         `json:"calendar,omitempty"`
	Effect       string            `json:"effect"`
	Reason       string            `json:"reason"`
	By           string            `json:"by,omitempty"`
	Covers       []string          `json:"covers,omitempty"` // ids, in answers
}

// Calendar is a rule by which a maintenance comes again.
type Calendar struct {
	Days []string `json:"days"`
	From string   `json:"from"`
	For  Duration `json:"for"`
	Zone string   `json:"zone"`
}

// Duration is written as in the config, such as "2h0m0s".
type Duration time.Duration

// MarshalText implements encoding.TextMarshaler.
func (d Duration) MarshalText() ([]byte, error) { return []byte(time.Duration(d).String()), nil }

// UnmarshalText implements encoding.TextUnmarshaler.
func (d *Duration) UnmarshalText(text []byte) error {
	long, err := time.ParseDuration(string(text))
	*d = Duration(long)
	return err
}

// Token is one that lets somebody in, without its secret.
type Token struct {
	ID       string     `json:"id"`
	Name     string     `json:"name"`
	Role     string     `json:"role"`
	Group    string     `json:"group"`
	Created  time.Time  `json:"created"`
	Expires  *time.Time `json:"expires"`
	LastUsed *time.Time `json:"last_used"`
	By       string     `json:"by"`
}

// NewToken is one that was just made.
type NewToken struct {
	Token
	Secret string `json:"secret"` // what its owner shows; it is told this once
}

// List reads the answer that has a list under a name, and keeps each entry as it
// was beside what this package knows of it.
func List[T any](a Answer, name string) ([]Entry[T], error) {
	var lists map[string]json.RawMessage
	if err := a.Into(&lists); err != nil {
		return nil, err
	}
	var raw []json.RawMessage
	if err := (Answer{Body: lists[name]}).Into(&raw); err != nil {
		return nil, err
	}
	entries := make([]Entry[T], len(raw))
	for i, r := range raw {
		entries[i].Raw = r
		if err := (Answer{Body: r}).Into(&entries[i].Value); err != nil {
			return nil, err
		}
	}
	return entries, nil
}

// Entry is one of a list.
type Entry[T any] struct {
	Value T
	Raw   json.RawMessage // all that the gateway said
}

// Delivery is what became of a message to a channel.
type Delivery struct {
	ID      string    `json:"id"`
	At      time.Time `json:"at"`
	Channel string    `json:"channel"`
	Title   string    `json:"title"`
	Result  string    `json:"result"`
	Tries   int       `json:"tries"`
	Fault   string    `json:"fault"`
}

// Node is one process of the gateway.
type Node struct {
	Reload *struct {
		Taken bool   `json:"taken"`
		Fault string `json:"fault"`
	} `json:"reload"` // nil: there was none
}
