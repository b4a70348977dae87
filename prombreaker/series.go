package prombreaker

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/recloser-go/recloser"
)

// series sends the series of one dependency to a scrape.
type series struct {
	out        chan<- prometheus.Metric
	dependency string
}

func (s series) gauge(desc *prometheus.Desc, value float64, labels ...string) {
	s.send(desc, prometheus.GaugeValue, value, labels)
}

func (s series) counter(desc *prometheus.Desc, n uint64, labels ...string) {
	s.send(desc, prometheus.CounterValue, float64(n), labels)
}

func (s series) send(desc *prometheus.Desc, kind prometheus.ValueType, value float64, labels []string) {
	s.out <- prometheus.MustNewConstMetric(desc, kind, value, append([]string{s.dependency}, labels...)...)
}

// histogram turns counts for each bucket into Prometheus's "at most this long".
func (s series) histogram(desc *prometheus.Desc, h recloser.Histogram) {
	atMost := make(map[float64]uint64, len(h.Bounds))
	var sum uint64
	for i, bound := range h.Bounds {
		sum += h.Counts[i]
		atMost[bound.Seconds()] = sum
	}
	s.out <- prometheus.MustNewConstHistogram(desc, h.Count(), h.Sum.Seconds(), atMost, s.dependency)
}
