package admin

import (
	"net/http"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/recloser-go/recloser"
	"github.com/recloser-go/recloser/gateway/internal/auth"
	"github.com/recloser-go/recloser/gateway/internal/dependency"
	"github.com/recloser-go/recloser/gateway/internal/problem"
	"github.com/recloser-go/recloser/prombreaker"
)

// metricsHandler serves the breakers' metrics, the gateway's and those of the
// process. Its registry is its own, so nothing else in the process can add to it.
// Who sees one group only gets that group's alone.
func (a *api) metricsHandler() http.Handler {
	all := a.metricsOf(a.Dependencies.All, true)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := all
		if c := auth.From(r.Context()); c.Group != "" {
			h = a.metricsOf(func() []*dependency.Dependency { return a.Dependencies.Group(c.Group) }, false)
		}
		h.ServeHTTP(w, r)
	})
}

func (a *api) metricsOf(dependencies func() []*dependency.Dependency, whole bool) http.Handler {
	stats := func(yield func(recloser.Stats, recloser.Config) bool) {
		for _, d := range dependencies() {
			if !yield(d.Stats(), d.Breaker.Config()) {
				return
			}
		}
	}
	registry := prometheus.NewRegistry()
	registry.MustRegister(prombreaker.FromStats(stats), &gatewayMetrics{a, dependencies, whole})
	if whole {
		registry.MustRegister(
			collectors.NewGoCollector(),
			collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
		)
	}
	return promhttp.HandlerFor(registry, promhttp.HandlerOpts{})
}

func metric(name, help string, labels ...string) *prometheus.Desc {
	return prometheus.NewDesc("recloser_"+name, help, labels, nil)
}

var (
	historyOK      = metric("history_ok", "1 while history and acts are kept where they are meant to be, 0 while they are not being written to the disk.")
	historyLost    = metric("history_lost_total", "Events that were given up, for want of a disk.")
	reloads        = metric("reloads_total", "Reloads of the configuration, by result.", "result")
	configOK       = metric("config_last_reload_ok", "1 if the last reload was taken or there was none, 0 if the configuration file has a fault.")
	configAt       = metric("config_last_reload_seconds", "When the last reload was, in seconds since 1970; absent before the first.")
	certificateAt  = metric("certificate_good_until_seconds", "When the certificate in force expires, in seconds since 1970; absent without tls.", "listener")
	certificateOK  = metric("certificate_ok", "1 if the certificate in force is the one that its files hold, 0 if they hold none that can be used; absent without tls.", "listener")
	uplinkUs       = metric("own_network_suspected", "1 while so many dependencies hang at once that it is rather the gateway's own network.")
	allInFlight    = metric("gateway_inflight", "Calls that run, to all dependencies together.")
	allLimit       = metric("gateway_inflight_limit", "Calls that may run at once, to all dependencies together.")
	allRefused     = metric("gateway_refused_total", "Calls that found no place among those of all dependencies.")
	routeLimited   = metric("route_limited_total", "Requests beyond the route's rate limit, by its path; absent without one.", "path")
	bulkheadIn     = metric("bulkhead_inflight", "Calls in the dependency's bulkhead.", "dependency")
	bulkheadLimit  = metric("bulkhead_limit", "Calls that may run at once.", "dependency")
	suspectLimit   = metric("suspect_seconds", "A call that runs longer is suspect, by where the limit comes from; absent while nothing is suspected.", "dependency", "origin")
	suspectSamples = metric("suspect_samples", "Healthy calls that the limit was learned from.", "dependency")
	probeGood      = metric("probe_good", "1 if the last probe was good, 0 if it was bad; absent if it said neither.", "dependency")
	probeSeconds   = metric("probe_seconds", "How long the last probe took; absent before the first.", "dependency")
	probeSent      = metric("probes_total", "Probes that were sent.", "dependency")
	inMaintenance  = metric("maintenance", "1 while a maintenance is in force for it.", "dependency")
	keyBreakers    = metric("keys", "Breakers of a dependency that has one for each key, by their state.", "dependency", "state")
	about          = metric("dependency_info", "1; its labels say what people call the dependency and which group it is in.", "dependency", "name", "group")
	build          = metric("build_info", "1; its label says which program this is.", "version")
)

// refusals has the calls that found no place in a bulkhead, or were too many for a rate
// limit, beside those that the breaker refused: whoever asks what was refused, and why, asks for one name.
var refusals = prombreaker.Refused()

// gatewayMetrics collects what the breakers do not know.
type gatewayMetrics struct {
	*api
	dependencies func() []*dependency.Dependency
	whole        bool // with what is not of one dependency
}

// Describe implements prometheus.Collector.
func (m *gatewayMetrics) Describe(out chan<- *prometheus.Desc) {
	for _, d := range append(fleetMetrics(),
		historyOK, historyLost, reloads, configOK, configAt, certificateAt, certificateOK, uplinkUs, allInFlight, allLimit, allRefused, routeLimited, bulkheadIn, bulkheadLimit,
		suspectLimit, suspectSamples, probeGood, probeSeconds, probeSent, inMaintenance, keyBreakers, about, build,
	) {
		out <- d
	}
}

// Collect implements prometheus.Collector.
func (m *gatewayMetrics) Collect(out chan<- prometheus.Metric) {
	s := samples{out}
	if m.whole {
		m.collectGateway(s)
	}
	now := time.Now()
	for _, d := range m.dependencies() {
		m.collectDependency(s, d, now)
	}
}

type samples struct{ out chan<- prometheus.Metric }

func (s samples) gauge(d *prometheus.Desc, v float64, labels ...string) {
	s.out <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v, labels...)
}

func (s samples) counter(d *prometheus.Desc, v uint64, labels ...string) {
	s.out <- prometheus.MustNewConstMetric(d, prometheus.CounterValue, float64(v), labels...)
}

func (m *gatewayMetrics) collectGateway(s samples) {
	s.gauge(build, 1, m.Version)
	if m.History != nil {
		status := m.History.Status()
		s.gauge(historyOK, oneIf(status.Fault == ""))
		s.counter(historyLost, status.Lost)
	}
	if m.Reloads != nil {
		r := m.Reloads()
		s.counter(reloads, r.Good, "ok")
		s.counter(reloads, r.Failed, "failed")
		s.gauge(configOK, oneIf(r.Fault == ""))
		if !r.Last.IsZero() {
			s.gauge(configAt, float64(r.Last.UnixMilli())/1000)
		}
	}
	for listener, files := range m.Certificates {
		status := files.Status()
		s.gauge(certificateAt, float64(status.NotAfter.Unix()), listener)
		s.gauge(certificateOK, oneIf(status.Fault == nil), listener)
	}
	if m.Uplink != nil {
		s.gauge(uplinkUs, oneIf(m.Uplink.Us()))
	}
	m.collectFleet(s)
	if b := m.Limit; b != nil {
		s.gauge(allInFlight, float64(b.InFlight()))
		s.gauge(allLimit, float64(b.Limit()))
		s.counter(allRefused, b.Refused())
	}
	for path, n := range m.limited() {
		s.counter(routeLimited, n, path)
	}
}

func (m *gatewayMetrics) collectDependency(s samples, d *dependency.Dependency, now time.Time) {
	s.gauge(about, 1, d.ID, strings.ToValidUTF8(d.Name, "\uFFFD"), d.Group)
	s.gauge(bulkheadIn, float64(d.Bulkhead.InFlight()), d.ID)
	s.gauge(bulkheadLimit, float64(d.Bulkhead.Limit()), d.ID)
	s.counter(refusals, d.Bulkhead.Refused(), d.ID, problem.Bulkhead)
	s.counter(refusals, d.Limited.Load(), d.ID, problem.TooOften)
	limit := d.Latency.Limit(d.Breaker.Config().SlowCall, now)
	if limit.Value > 0 {
		s.gauge(suspectLimit, limit.Value.Seconds(), d.ID, string(limit.Origin))
	}
	s.gauge(suspectSamples, float64(limit.Samples), d.ID)
	if p := m.probeOf(d); p != nil {
		s.counter(probeSent, p.Sent, d.ID)
		if p.Result == "good" || p.Result == "bad" {
			s.gauge(probeGood, oneIf(p.Result == "good"), d.ID)
		}
		if p.At != nil {
			s.gauge(probeSeconds, p.TookMS/1000, d.ID)
		}
	}
	if m.Maintenance != nil {
		s.gauge(inMaintenance, oneIf(m.Maintenance.Covers(d.ID)), d.ID)
	}
	if k := keysOf(d); k != nil {
		for _, state := range recloser.States() {
			s.gauge(keyBreakers, float64(k.States[state.String()]), d.ID, state.String())
		}
	}
}

func oneIf(yes bool) float64 {
	if yes {
		return 1
	}
	return 0
}
