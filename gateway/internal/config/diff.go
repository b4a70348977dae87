package config

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Changes are what differs between two configs.
type Changes struct {
	Added   []string `json:"added,omitempty"`   // ids of dependencies
	Removed []string `json:"removed,omitempty"` // ids of dependencies
	Changed []Change `json:"changed,omitempty"` // all other settings
	Restart []string `json:"restart,omitempty"` // paths of settings that hold only after a restart: those of Changed, and what waits for one since earlier
}

// Change is a setting that differs. From or To is "" where it is not there.
type Change struct {
	Path string `json:"path"`
	From string `json:"from"` // as it is written in a file; "***" if it is a secret
	To   string `json:"to"`   // likewise
}

// String returns "defaults.timeout: 5s -> 4s".
func (c Change) String() string {
	switch {
	case c.From == "":
		return fmt.Sprintf("%s: %s, new", c.Path, c.To)
	case c.To == "":
		return fmt.Sprintf("%s: no longer %s", c.Path, c.From)
	default:
		return fmt.Sprintf("%s: %s -> %s", c.Path, c.From, c.To)
	}
}

// maxTold is how many changes String tells of each kind.
const maxTold = 20

const nothingChanged = "nothing changed"

// String says all of it in a line: "nothing changed" if nothing did.
func (c Changes) String() string {
	var parts []string
	tell := func(before string, all []string) {
		if more := len(all) - maxTold; more > 0 {
			all = append(slices.Clone(all[:maxTold]), fmt.Sprintf("%d more", more))
		}
		if len(all) > 0 {
			parts = append(parts, before+strings.Join(all, ", "))
		}
	}
	var changed, restart []string
	waits := make(map[string]string)
	for _, change := range c.Changed {
		if slices.Contains(c.Restart, change.Path) {
			waits[change.Path] = change.String()
		} else {
			changed = append(changed, change.String())
		}
	}
	for _, path := range c.Restart {
		restart = append(restart, cmp.Or(waits[path], path))
	}
	tell("added ", c.Added)
	tell("removed ", c.Removed)
	tell("", changed)
	tell("only after a restart: ", restart)
	if len(parts) == 0 {
		return nothingChanged
	}
	return strings.Join(parts, "; ")
}

// Diff returns how c differs from old: in what holds, not in how or where it is
// written. What a dependency has from defaults is told of the dependency too.
func (c *Config) Diff(old *Config) Changes {
	changes := Changes{Added: c.without(old), Removed: old.without(c)}
	skip := make(map[string]bool) // what is told by the id alone
	for _, id := range slices.Concat(changes.Added, changes.Removed) {
		skip[id] = true
	}
	before, after := make(map[string]leaf), make(map[string]leaf)
	var paths []string // in the order of both
	for _, side := range []struct {
		of *Config
		to map[string]leaf
	}{{c, after}, {old, before}} {
		showAll(side.of.keys(), "", func(l leaf) {
			if skip[l.dependency] && l.dependency != "" {
				return
			}
			if _, known := after[l.path]; !known || side.of == c {
				paths = append(paths, l.path)
			}
			side.to[l.path] = l
		})
	}
	for _, path := range paths {
		from, to := before[path], after[path]
		if from.text == to.text && from.secret == to.secret {
			continue
		}
		changes.Changed = append(changes.Changed, Change{path, from.text, to.text})
		if from.restart || to.restart {
			changes.Restart = append(changes.Restart, path)
		}
	}
	return changes
}

// Equal reports whether nothing differs in what holds.
func (c *Config) Equal(old *Config) bool {
	changes := c.Diff(old)
	return len(changes.Added)+len(changes.Removed)+len(changes.Changed) == 0
}

// without returns the ids that another config does not have.
func (c *Config) without(other *Config) []string {
	known := make(map[string]bool)
	for _, d := range other.Dependencies {
		known[d.ID] = true
	}
	var all []string
	for _, d := range c.Dependencies {
		if !known[d.ID] {
			all = append(all, d.ID)
		}
	}
	return all
}
