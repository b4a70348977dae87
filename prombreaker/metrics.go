package prombreaker

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/recloser-go/recloser"
)

// metrics are the descriptions of all metrics. Names and labels are a promise:
// they stay as they are.
type metrics struct {
	states, calls, late, refused, transitions, seconds, badRatio, limit, openUntil, cutOffSince, shadow, inflight, suspects, overdue *prometheus.Desc
}

// Refused returns the description of recloser_refused_total, whose labels are
// dependency and reason. A program that also refuses calls by limits of its own
// sends those with it, from a collector of its own that does not describe it, under
// reasons that no breaker has: one name then has all refusals of a dependency.
func Refused() *prometheus.Desc { return newMetrics().refused }

func newMetrics() metrics {
	desc := func(name, help string, labels ...string) *prometheus.Desc {
		return prometheus.NewDesc("recloser_"+name, help, append([]string{"dependency"}, labels...), nil)
	}
	return metrics{
		states: desc("state", "1 for the state the breaker is in, 0 for the others. "+
			"closed: calls pass; open: cut off; half-open: on trial; isolated: cut off by hand; held-closed: passing by hand.", "state"),
		calls: desc("calls_total", "Calls that reached the dependency and ended. "+
			"slow: not answered within the slow limit, however they ended; "+
			"of the others, ignored: says nothing about the dependency, such as a caller who hung up.", "outcome"),
		late: desc("late_total", "Calls that ended after the breaker had changed its state. "+
			"They are part of recloser_calls_total and decide nothing."),
		refused: desc("refused_total", "Calls that were not let through, or released on a trip, by the reason. "+
			"They never count as failures.", "reason"),
		transitions: desc("transitions_total", "Changes of the breaker's state, by the new state and the reason. "+
			"While held closed: of the state that the rules give.", "to", "reason"),
		seconds: desc("call_seconds", "Time from admission to answer of the calls that ended and were not ignored. "+
			"The sum is estimated from the buckets."),
		badRatio: desc("bad_ratio", "Share of bad calls (failed or slow) in the window, 0 to 1. "+
			"Absent while the window does not hold enough calls for a verdict."),
		limit: desc("limit", "Limits that the breaker judges by; times in seconds. "+
			"Absent if that limit is off.", "rule"),
		openUntil: desc("open_until_seconds", "When the running open time ends and trials begin, in seconds since 1970. "+
			"Absent while the breaker is not open."),
		cutOffSince: desc("cut_off_since_seconds", "When the rules first cut it off, of an outage that lasts over failed trials, in seconds since 1970. "+
			"Absent if they have not since it was last closed or isolated: half-open, it waits for a call since somebody put it back."),
		shadow:   desc("shadow", "1 while all calls pass, whatever recloser_state says (shadow mode); what operators set counts all the same."),
		inflight: desc("inflight", "Calls that are running now."),
		suspects: desc("suspects", "Calls that run longer than is usual for the dependency, not answered and not past the slow limit."),
		overdue:  desc("overdue", "Calls that run past the slow limit and are not answered."),
	}
}

func (m metrics) all() []*prometheus.Desc {
	return []*prometheus.Desc{
		m.states, m.calls, m.late, m.refused, m.transitions, m.seconds, m.badRatio, m.limit, m.openUntil, m.cutOffSince, m.shadow, m.inflight, m.suspects, m.overdue,
	}
}

func (m metrics) state(s series, stats recloser.Stats) {
	for _, state := range recloser.States() {
		value := 0.0
		if state == stats.State {
			value = 1
		}
		s.gauge(m.states, value, state.String())
	}
	if stats.State == recloser.Open && !stats.Until.IsZero() {
		s.gauge(m.openUntil, float64(stats.Until.UnixMilli())/1000)
	}
	if !stats.OutSince.IsZero() {
		s.gauge(m.cutOffSince, float64(stats.OutSince.UnixMilli())/1000)
	}
	shadow := 0.0
	if stats.Shadow {
		shadow = 1
	}
	s.gauge(m.shadow, shadow)
}

func (m metrics) counters(s series, stats recloser.Stats) {
	s.counter(m.calls, stats.Success, "success")
	s.counter(m.calls, stats.Failed, "failed")
	s.counter(m.calls, stats.Slow, "slow")
	s.counter(m.calls, stats.Ignored, "ignored")
	s.counter(m.late, stats.Late)

	for _, reason := range recloser.RefusalReasons() {
		s.counter(m.refused, stats.Refused[reason], string(reason))
	}
	for _, key := range recloser.TransitionKeys() {
		s.counter(m.transitions, stats.Transitions[key], key.To.String(), string(key.Reason))
	}
	s.histogram(m.seconds, stats.Latency)
}

func (m metrics) window(s series, stats recloser.Stats) {
	if ratio, enough := stats.BadRatio(); enough {
		s.gauge(m.badRatio, ratio)
	}
	s.gauge(m.inflight, float64(stats.InFlight))
	s.gauge(m.suspects, float64(stats.Suspects))
	s.gauge(m.overdue, float64(stats.Overdue))
}

func (m metrics) limits(s series, stats recloser.Stats, cfg recloser.Config) {
	limit := func(rule string, value float64) {
		if value > 0 { // what is off is negative
			s.gauge(m.limit, value, rule)
		}
	}
	limit("failure_rate", cfg.FailureRate)
	limit("consecutive", float64(cfg.Consecutive))
	limit("slow_call_seconds", stats.SlowCall.Seconds())
	limit("min_calls", float64(stats.MinCalls))
	limit("window_seconds", cfg.Window.Seconds())
	limit("spread_seconds", cfg.Spread.Seconds())
}
