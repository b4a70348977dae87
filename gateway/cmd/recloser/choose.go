package main

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/recloser-go/recloser/gateway/internal/client"
	"github.com/recloser-go/recloser/internal/suggest"
)

// named returns the dependencies that the names mean, in the order of the
// gateway: each is an id, a pattern such as hotel-*, or a group. No name means all.
func (s *snapshot) named(names []string) ([]client.Entry[client.Dependency], error) {
	if len(names) == 0 {
		return s.all, nil
	}
	return s.choose(names, nil, true)
}

// choose returns the dependencies with these ids or patterns and those of the
// groups. With orGroup a name that no dependency has may be that of a group.
func (s *snapshot) choose(names, groups []string, orGroup bool) ([]client.Entry[client.Dependency], error) {
	chosen := make([]bool, len(s.all))
	mark := func(is func(client.Dependency) bool) (found bool) {
		for i, d := range s.all {
			if is(d.Value) {
				chosen[i], found = true, true
			}
		}
		return found
	}
	for _, name := range names {
		if mark(func(d client.Dependency) bool { return d.ID == name }) {
			continue
		}
		if strings.ContainsAny(name, "*?[") {
			if _, err := path.Match(name, ""); err != nil {
				return nil, badUsage("%q is no pattern: * stands for any letters, ? for one, [ab] for a or b", name)
			}
			if mark(func(d client.Dependency) bool { is, _ := path.Match(name, d.ID); return is }) {
				continue
			}
		}
		if !orGroup || !mark(func(d client.Dependency) bool { return d.Group == name }) {
			return nil, s.unknown("dependency", name, orGroup)
		}
	}
	for _, group := range groups {
		if !mark(func(d client.Dependency) bool { return d.Group == group && group != "" }) {
			return nil, s.unknown("group", group, false)
		}
	}
	var entries []client.Entry[client.Dependency]
	for i, d := range s.all {
		if chosen[i] {
			entries = append(entries, d)
		}
	}
	return entries, nil
}

// unknown says which names there are instead.
func (s *snapshot) unknown(kind, name string, orGroup bool) error {
	var ids, groups []string
	for _, d := range s.all {
		ids = append(ids, d.Value.ID)
		if d.Value.Group != "" {
			groups = append(groups, d.Value.Group)
		}
	}
	known := ids
	switch {
	case kind == "group":
		known = groups
	case orGroup:
		kind, known = "dependency or group", slices.Concat(ids, groups)
	}
	return exit{exitNotFound, fmt.Errorf("no %s %q; %s", kind, name, suggest.DidYouMean(name, slices.Values(known)))}
}
