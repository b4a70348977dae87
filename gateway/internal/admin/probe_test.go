package admin

import (
	"testing"

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
