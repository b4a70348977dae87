package gateway

import (
	"time"

	"github.com/recloser-go/recloser"
	"github.com/recloser-go/recloser/gateway/internal/dependency"
	"github.com/recloser-go/recloser/gateway/internal/probe"
	"github.com/recloser-go/recloser/gateway/internal/suspect"
)

const (
	tendEvery = 50 * time.Millisecond // how late a breaker may notice that something is due while no call tells it
	justNow   = 2 * time.Second       // a trip is one of several at once
)

// tend has every breaker do what is due while nothing else happens (a call that
// hangs is judged, an open time ends), and has the control loops look at how all
// are.
func (g *Gateway) tend() {
	ticker := time.NewTicker(tendEvery)
	defer ticker.Stop()
	for {
		select {
		case <-g.quit:
			return
		case <-ticker.C:
			g.look(time.Now())
		}
	}
}

// look is one round of tend.
func (g *Gateway) look(now time.Time) {
	all := g.deps.All()
	seen := make([]suspect.Seen, len(all))
	probed := make([]probe.Seen, len(all))
	for i, d := range all {
		d.Breaker.Check()
		if d.Keys != nil {
			d.Keys.Check()
		}
		s := d.Breaker.Stats()
		d.Bulkhead.Observe(s.Window.Run, s.State == recloser.Closed && s.Window.Run == 0)
		d.Latency.Tick(now, s)
		seen[i] = seenOf(d, s, now)
		probed[i] = probe.Seen{Dependency: d, Stats: s}
	}
	g.uplink.Observe(now, seen)
	g.probes.Tick(now, probed)
}

func seenOf(d *dependency.Dependency, s recloser.Stats, now time.Time) suspect.Seen {
	return suspect.Seen{
		ID:          d.ID,
		Overdue:     s.Overdue > 0,
		JustTripped: s.State == recloser.Open && now.Sub(s.Since) < justNow && s.Override == nil,
		Active:      s.InFlight > 0,
	}
}
