package probe

import "time"

const (
	jitter = 0.1 // of each gap, up and down

	gapAtFirst = 2 * time.Second // between probes in an outage, from start to start
	gapAtLast  = 15 * time.Second
	gapShare   = 30 // in between a gap is that part of the outage

	busyRate = 5 // calls a second that tell more than probes
	rateSpan = 10 * time.Second
)

// wants reports whether a probe is to be sent now.
func (w *watch) wants(now time.Time) bool {
	switch {
	case w.sending:
		return false
	case w.pair != nil && !now.Before(w.pair.due):
		return true
	}
	return !w.restful() && !now.Before(w.due)
}

// restful reports whether there is no reason to probe for the time being.
func (w *watch) restful() bool {
	return w.outage == nil && (w.dep.Probe.Idle < 0 || w.rate.busy)
}

// send notes that a probe is sent now.
func (w *watch) send(now time.Time) {
	w.sending, w.sentAt, w.goodsThen = true, now, w.goods
	w.sent++
	w.due = now.Add(w.gap(now))
	if w.forPair = w.pair != nil; w.forPair {
		w.pair.due = now.Add(w.spread(pairGap))
	}
}

// gap returns how long after one probe the next is due.
func (w *watch) gap(now time.Time) time.Duration {
	if w.outage == nil {
		return w.spread(w.dep.Probe.Idle)
	}
	return w.spread(min(max(gapAtFirst, now.Sub(w.outage.began)/gapShare), gapAtLast))
}

func (w *watch) spread(d time.Duration) time.Duration {
	return time.Duration(float64(d) * (1 + jitter*(2*w.random()-1)))
}

// rate tells whether there are so many calls that they tell more than probes.
type rate struct {
	since time.Time
	calls uint64 // then
	busy  bool
}

// measure takes the number of calls so far.
func (r *rate) measure(now time.Time, calls uint64) {
	took := now.Sub(r.since)
	if took < rateSpan {
		return
	}
	r.busy = float64(calls-r.calls) >= busyRate*took.Seconds()
	r.since, r.calls = now, calls
}
