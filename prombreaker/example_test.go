package prombreaker_test

import (
	"fmt"
	"slices"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/recloser-go/recloser"
	"github.com/recloser-go/recloser/prombreaker"
)

func Example() {
	hotel, err := recloser.New(recloser.Config{Name: "hotel-1"})
	if err != nil {
		fmt.Println(err)
		return
	}
	registry := prometheus.NewRegistry()
	registry.MustRegister(prombreaker.New(slices.Values([]*recloser.Breaker{hotel})))

	// Serve it with promhttp.HandlerFor(registry, promhttp.HandlerOpts{}).
	families, err := registry.Gather()
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, family := range families {
		if family.GetName() != "recloser_state" {
			continue
		}
		for _, series := range family.GetMetric() {
			fmt.Println(series.GetLabel()[1].GetValue(), series.GetGauge().GetValue())
		}
	}
	// Output:
	// closed 1
	// half-open 0
	// held-closed 0
	// isolated 0
	// open 0
}
