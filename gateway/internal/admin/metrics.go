package admin

import (
	"net/http"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/recloser-go/recloser"
	"github.com/recloser-go/recloser/gateway/internal/dependency"
	"github.com/recloser-go/recloser/prombreaker"
)

// metricsHandler serves the breakers' metrics and those of the process. Its
// registry is its own, so nothing else in the process can add to it.
func metricsHandler(dependencies *dependency.List) http.Handler {
	breakers := func(yield func(*recloser.Breaker) bool) {
		for _, d := range dependencies.All() {
			if !yield(d.Breaker) {
				return
			}
		}
	}
	registry := prometheus.NewRegistry()
	registry.MustRegister(
		prombreaker.New(breakers),
		collectors.NewGoCollector(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
	)
	return promhttp.HandlerFor(registry, promhttp.HandlerOpts{})
}
