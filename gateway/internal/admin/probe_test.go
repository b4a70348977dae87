package admin

import (
	"testing"
	"time"

	"github.com/recloser-go/recloser/gateway/internal/config"
	"github.com/recloser-go/recloser/gateway/internal/dependency"
	"github.com/recloser-go/recloser/gateway/internal/probe"
)

// What is shown of a probe is of the definition in force, also before the prober has
// come by.
func TestProbeIsOfTheDefinitionInForce(t *testing.T) {
	prober := probe.New(probe.Options{})
	defer prober.Stop()
	a := &api{Options: Options{Probes: prober}}
	d := &dependency.Dependency{Dependency: config.Dependency{ID: "aurora", Probe: &config.Probe{Path: "/ping"}}}
	if v := a.probeOf(d); v == nil || v.Result != "none" {
		t.Errorf("just added, with a probe: %+v", v)
	}
	d.Probe = nil
	if v := a.probeOf(d); v != nil {
		t.Errorf("just changed, without a probe: %+v", v)
	}
}

// Each bad probe moves the end of the open time on: that is not when it is tried again.
func TestNextTrialOfOneThatProbesHoldBack(t *testing.T) {
	until := exampleTime
	held := until.Add(5 * time.Minute)
	for _, tt := range []struct {
		name        string
		until, want *time.Time
		probe       *Probe
	}{
		{"no probe", &until, &until, nil},
		{"a good one", &until, &until, &Probe{}},
		{"a bad one", &until, &held, &Probe{HeldUntil: &held}},
		{"open for longer than bad ones hold it", &held, &held, &Probe{HeldUntil: &until}},
		{"a trip without an end", nil, nil, &Probe{HeldUntil: &held}},
	} {
		if got := nextTrial(tt.until, tt.probe); got != tt.want {
			t.Errorf("%s: %v, want %v", tt.name, got, tt.want)
		}
	}
}
