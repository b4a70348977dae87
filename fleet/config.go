package fleet

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/recloser-go/recloser/internal/defaults"
)

// Config is what a Node is made of.
type Config struct {
	// Fleet is the name of the fleet, and Node that of this process in it: no two
	// may have the same at a time. Both are required, 1 to 256 bytes.
	Fleet, Node string
	// Version of this program, for people.
	Version string
	// Settings is the revision of the settings, which grows with each change. A node with an older
	// one than others follows the fleet and does not decide for it. Default 0.
	Settings uint64
	// Rule says when the fleet trips.
	Rule Rule
	// Group names what dependencies have in common, such as one provider: where a
	// node asks itself whether it is rather its own network that fails, they count as
	// one. It must be quick, and must not use the Node. Default: each is its own.
	Group func(name string) string
	// Probe asks a dependency whether it is well. Where one node alone has seen calls
	// fail, the fleet trips only if another's probe fails as well; where one of a few has
	// tripped, the probes of others stand for callers that have not come yet. It is called
	// on a goroutine of its own, up to three times while it fails; the context ends after
	// 5 s. Default: this node is not asked.
	Probe func(ctx context.Context, name string) error
}

// WithDefaults returns c with every zero field replaced by its default.
func (c Config) WithDefaults() Config {
	defaults.Fill(&c.Rule.Window, time.Minute)
	defaults.Fill(&c.Rule.Failures, 5)
	defaults.Fill(&c.Rule.Rate, 0.5)
	defaults.Fill(&c.Rule.Reporters, 3)
	return c
}

// Validate reports everything that is wrong with c, joined; nil if nothing is.
func (c Config) Validate() error {
	r := c.WithDefaults().Rule
	var faults []error
	check := func(ok bool, field string, value any, rule string) {
		if !ok {
			faults = append(faults, fmt.Errorf("fleet: %s %v: %s", field, value, rule))
		}
	}
	const name = "must have 1 to 256 bytes of UTF-8 without control characters"
	check(CheckKey(c.Fleet) == nil, "Fleet", fmt.Sprintf("%q", c.Fleet), name)
	check(CheckKey(c.Node) == nil, "Node", fmt.Sprintf("%q", c.Node), name)
	check(r.Window >= time.Second && r.Window <= 10*time.Minute, "Rule.Window", r.Window, "must be from 1s to 10m")
	check(r.Failures >= 1 && r.Failures <= 1000, "Rule.Failures", r.Failures, "must be from 1 to 1000")
	check(r.Rate > 0 && r.Rate <= 1, "Rule.Rate", r.Rate, "must be above 0 and at most 1")
	check(r.Reporters >= 1 && r.Reporters <= 1000, "Rule.Reporters", r.Reporters, "must be from 1 to 1000")
	return errors.Join(faults...)
}
