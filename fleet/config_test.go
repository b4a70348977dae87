package fleet

import (
	"math"
	"strings"
	"testing"
	"time"
)

func TestConfig(t *testing.T) {
	if err := (Config{Fleet: "town", Node: "a"}).Validate(); err != nil {
		t.Error(err)
	}
	want := Rule{Window: time.Minute, Failures: 5, Rate: 0.5, Reporters: 3}
	if got := (Config{}).WithDefaults().Rule; got != want {
		t.Errorf("defaults: %+v", got)
	}
	for field, c := range map[string]Config{
		"Fleet":          {Node: "a"},
		"Node":           {Fleet: "town", Node: "a\n"},
		"Rule.Window":    {Fleet: "town", Node: "a", Rule: Rule{Window: time.Millisecond}},
		"Rule.Failures":  {Fleet: "town", Node: "a", Rule: Rule{Failures: -3}},
		"Rule.Rate":      {Fleet: "town", Node: "a", Rule: Rule{Rate: math.NaN()}},
		"Rule.Reporters": {Fleet: "town", Node: "a", Rule: Rule{Reporters: 1001}},
	} {
		err := c.Validate()
		if err == nil || !strings.HasPrefix(err.Error(), "fleet: "+field+" ") || strings.Contains(err.Error(), "\n"+"fleet") {
			t.Errorf("%s: %v", field, err)
		}
		if _, err := New(c, NewMemory()); err == nil {
			t.Errorf("%s: a node was made of it", field)
		}
	}
}
