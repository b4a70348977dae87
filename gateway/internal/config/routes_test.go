package config

import (
	"testing"
	"time"
)

func TestLastKnownOf(t *testing.T) {
	known := func(d time.Duration) *LastKnown { return &LastKnown{For: d} }
	for name, c := range map[string]struct {
		routes []Route
		want   time.Duration
	}{
		"none":             {nil, 0},
		"its own":          {[]Route{{Path: "/a", Dependency: "a", LastKnown: known(time.Minute)}}, time.Minute},
		"another's":        {[]Route{{Path: "/b", Dependency: "b", LastKnown: known(time.Minute)}}, 0},
		"without":          {[]Route{{Path: "/{dependency}/*"}}, 0},
		"any":              {[]Route{{Path: "/{dependency}/*", LastKnown: known(time.Minute)}}, time.Minute},
		"of its group":     {[]Route{{Path: "/ask", Ask: &Ask{Group: "coast"}, LastKnown: known(time.Hour)}}, time.Hour},
		"of all":           {[]Route{{Path: "/ask", Ask: &Ask{Group: Everyone}, LastKnown: known(time.Hour)}}, time.Hour},
		"of another group": {[]Route{{Path: "/ask", Ask: &Ask{Group: "hills"}, LastKnown: known(time.Hour)}}, 0},
		"the oldest of two": {[]Route{
			{Path: "/a", Dependency: "a", LastKnown: known(time.Minute)}, {Path: "/ask", Ask: &Ask{Group: "coast"}, LastKnown: known(time.Hour)},
		}, time.Hour},
	} {
		if got := LastKnownOf(c.routes, "a", "coast"); got != c.want {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}
