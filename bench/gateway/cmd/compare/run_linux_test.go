package main

import (
	"testing"
	"time"

	"github.com/recloser-go/recloser/bench/gateway/entrant"
	"github.com/recloser-go/recloser/bench/gateway/town"
)

// Runs with real processes, which are built once.
func TestRealGateways(t *testing.T) {
	tools, err := entrant.Build(t.TempDir(), "", false)
	if err != nil {
		t.Fatal(err)
	}
	t.Run("side by side", func(t *testing.T) { sideBySide(t, tools) })
	t.Run("processor time", func(t *testing.T) { processorTime(t, tools) })
}

// Recloser notices that every call fails, and who only passes on does not.
func sideBySide(t *testing.T, tools entrant.Tools) {
	r := row{name: "smoke", hotels: 1, ill: 1, every: 20 * time.Millisecond, latency: town.Usual, script: town.Errors()}
	p := phases{warm: 500 * time.Millisecond, fault: 2 * time.Second, after: time.Second}
	kinds := []entrant.Kind{entrant.Recloser(), entrant.Bare()}
	o, err := r.run(t.Context(), kinds, p, tools, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	calls := float64(p.fault / r.every)
	ours, bare := o.Gateways["Recloser"], o.Gateways["bare"]
	if ours[reached] <= 0 || ours[reached] >= calls/2 {
		t.Errorf("%v of %v calls reached the hotel through Recloser: %v", ours[reached], calls, ours)
	}
	if _, ok := ours[firstRefusal]; !ok {
		t.Errorf("Recloser never refused: %v", ours)
	}
	if bare[reached] <= calls/2 { // all, but for those that a busy machine delays
		t.Errorf("%v of %v calls reached the hotel through the bare proxy: %v", bare[reached], calls, bare)
	}
	if _, ok := bare[firstRefusal]; ok {
		t.Errorf("the bare proxy refused: %v", bare)
	}
	if _, ok := bare[backToFull]; !ok {
		t.Errorf("the bare proxy is not back: %v", bare)
	}
}

func processorTime(t *testing.T, tools entrant.Tools) {
	kinds := []entrant.Kind{entrant.Bare(), entrant.Recloser()}
	o, err := measureCPU(t.Context(), kinds, 100*time.Millisecond, tools, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if bare := o.Gateways["bare"]; bare[cpu] <= 0 || bare[againstBare] != 1 {
		t.Errorf("bare: %v", bare)
	}
	if ours := o.Gateways["Recloser"]; ours[cpu] <= 0 || ours[againstBare] <= 0 {
		t.Errorf("Recloser: %v", ours)
	}
}
