// Package prombreaker shows breakers to Prometheus. A Collector reads
// [recloser.Breaker.Stats] while a scrape runs; nothing is counted twice and
// no call gets slower by it.
//
// Every series is there from the first scrape on, with 0 where nothing has
// happened yet, so that rate() and alerts need no special case for the first
// event. Four are absent where a number would be untrue: recloser_bad_ratio
// while the window does not hold enough calls, a recloser_limit that is off,
// recloser_open_until_seconds while no open time runs, and
// recloser_cut_off_since_seconds while the rules cut nothing off.
package prombreaker

import (
	"iter"
	"strings"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/recloser-go/recloser"
)

// Collector collects the metrics of breakers. It keeps no numbers itself and is
// safe for concurrent use.
type Collector struct {
	stats   iter.Seq2[recloser.Stats, recloser.Config]
	metrics metrics
}

var _ prometheus.Collector = (*Collector)(nil)

// New returns a Collector of the breakers that the sequence yields. It is
// iterated anew in every scrape, so breakers may come and go; it must be safe
// for concurrent use. [slices.Values] makes one from a slice.
//
// The label dependency is a breaker's Name. Names must differ: two breakers of
// one name fail the scrape, with an error that shows the series.
func New(breakers iter.Seq[*recloser.Breaker]) *Collector {
	return FromStats(func(yield func(recloser.Stats, recloser.Config) bool) {
		for b := range breakers {
			if !yield(b.Stats(), b.Config()) {
				return
			}
		}
	})
}

// FromStats is New for who makes the numbers himself: a sum, such as that of
// [recloser.Set.Stats] under one name, where a series for each key would be too many.
// The label dependency is Stats.Name.
func FromStats(stats iter.Seq2[recloser.Stats, recloser.Config]) *Collector {
	return &Collector{stats: stats, metrics: newMetrics()}
}

// ForSet returns a Collector of all breakers of a Set, present and future.
func ForSet(set *recloser.Set) *Collector {
	return New(func(yield func(*recloser.Breaker) bool) {
		for _, breaker := range set.All() {
			if !yield(breaker) {
				return
			}
		}
	})
}

// Describe implements [prometheus.Collector].
func (c *Collector) Describe(descs chan<- *prometheus.Desc) {
	for _, desc := range c.metrics.all() {
		descs <- desc
	}
}

// Collect implements [prometheus.Collector].
func (c *Collector) Collect(out chan<- prometheus.Metric) {
	for stats, config := range c.stats {
		// A label must be UTF-8; the name of a breaker need not be.
		s := series{out: out, dependency: strings.ToValidUTF8(stats.Name, "\uFFFD")}
		c.metrics.state(s, stats)
		c.metrics.counters(s, stats)
		c.metrics.window(s, stats)
		c.metrics.limits(s, stats, config)
	}
}
