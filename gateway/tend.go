package gateway

import (
	"time"

	"github.com/recloser-go/recloser"
	"github.com/recloser-go/recloser/gateway/internal/probe"
	"github.com/recloser-go/recloser/gateway/internal/suspect"
)

// tendEvery is how late a breaker may notice that something is due while no call
// tells it.
const tendEvery = 50 * time.Millisecond

// tend has every breaker do what is due while nothing else happens (a call that
// hangs is judged, an open time ends), and has the control loops look at how all
// are.
func (g *Gateway) tend() {
	ticker := time.NewTicker(tendEvery)
	defer ticker.Stop()
	for {
		select {
		case <-g.life.Done():
			return
		case <-ticker.C:
			g.look(time.Now())
		}
	}
}

// look is one round of tend.
func (g *Gateway) look(now time.Time) {
	all := g.deps.All()
	g.member.match(all)
	seen := make([]suspect.Seen, len(all))
	probed := make([]probe.Seen, len(all))
	for i, d := range all {
		if d.Keys != nil {
			d.Keys.Check()
		}
		s := d.Breaker.Brief() // has it do what is due, too
		d.Bulkhead.Observe(s.Window.Run, s.State == recloser.Closed && s.Window.Run == 0)
		d.Latency.Tick(now, s)
		d.Breaker.SetSuspect(d.Latency.Limit(s.SlowCall, now).Value)
		seen[i] = suspect.See(now, s)
		probed[i] = probe.Seen{Dependency: d, Stats: s}
	}
	g.uplink.Observe(now, seen)
	if !g.member.leads(roleProber) {
		probed = nil // another node probes for all
	}
	g.probes.Tick(now, probed)
}

// liftLimit raises the suspect limit that a witness has proved wrong.
func (g *Gateway) liftLimit(id, key string, t recloser.Transition) {
	if t.Reason != recloser.ReasonWitness || key != "" {
		return
	}
	if d, ok := g.deps.Get(id); ok {
		d.Latency.Lift(t.Lifted)
	}
}
