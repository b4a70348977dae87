package demo

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// What must hold in a run with several gateways.
const (
	maxApart        = 1.0 // seconds between the first gateway that cuts off and the last
	maxFleetWaits   = 10  // guests of a hotel that hangs who may wait over longWait, at all gateways
	maxAloneWaits   = 8   // the same at one gateway that is alone
	maxAloneCutOff  = 6.0 // seconds
	maxServedAgain  = 8.0 // seconds
	maxShared       = 8.0 // seconds
	maxSharedAgain  = 12.0
	maxTrialsAtOnce = 1
)

// fleetChecks compares a report with what must hold. script says how far the run went.
func fleetChecks(r FleetReport, script FleetScript) (all promises) {
	add := all.add
	reached := func(at time.Duration) bool { return script.Length >= at }
	together, alone := &r.Together, &r.Alone

	seen := reached(script.Back)
	first, last, cut := together.cutOffs()
	add(seen, cut && last-first <= maxApart, together.each(func(g FleetGateway) string { return orNever(g.CutOffS) }),
		"%s hangs: all gateways cut it off, within %.0f s of each other", together.Hotel, maxApart)
	unaware := slices.DeleteFunc(slices.Clone(together.Gateways), func(g FleetGateway) bool { return g.CutOffS == nil || g.Caught > 0 })
	names := "none"
	if len(unaware) > 0 {
		names = unaware[0].Gateway
	}
	add(seen, len(unaware) > 0, names, "one cuts it off that has not had a bad call itself")
	add(seen, together.waited() <= maxFleetWaits, count(together.waited()), "at most %d guests of it wait over 1 s", maxFleetWaits)
	seen = reached(script.Cut)
	add(seen, together.servedWithin(maxServedAgain), together.each(func(g FleetGateway) string { return orNever(g.ServedAgainS) }),
		"%s is back: all gateways let its guests in within %.0f s", together.Hotel, maxServedAgain)
	add(seen, together.Trials > 0 && together.TrialsAtOnce <= maxTrialsAtOnce, fmt.Sprintf("%d, %s", together.Trials, atOnce(together.TrialsAtOnce)),
		"guests try it one at a time, at all gateways together")

	add(reached(script.Heal), r.Act.InForce && r.Act.NotShared && r.Act.Elsewhere == 0, "",
		"an act on a gateway that is cut off from the store is in force there, and it says that it is not yet shared")
	add(reached(script.Kill), r.Act.SharedS != nil && *r.Act.SharedS <= maxShared, orNever(r.Act.SharedS),
		"once that gateway reaches the store again, all obey within %.0f s", maxShared)

	seen = reached(script.Restart)
	_, last, cut = alone.cutOffs()
	add(seen, cut && last <= maxAloneCutOff, alone.each(func(g FleetGateway) string { return orNever(g.CutOffS) }),
		"%s hangs without the store: each gateway cuts it off by itself within %.0f s", alone.Hotel, maxAloneCutOff)
	add(seen, !slices.ContainsFunc(alone.Gateways, func(g FleetGateway) bool { return g.WaitedOver1s > maxAloneWaits }),
		alone.each(func(g FleetGateway) string { return count(g.WaitedOver1s) }), "at most %d guests of it wait over 1 s at each", maxAloneWaits)
	add(reached(script.BackAgain), r.SharedAgainS != nil && *r.SharedAgainS <= maxSharedAgain, orNever(r.SharedAgainS),
		"the store is back: all gateways share within %.0f s, and know again what is cut off and isolated", maxSharedAgain)
	add(reached(script.Release), alone.servedWithin(maxServedAgain), alone.each(func(g FleetGateway) string { return orNever(g.ServedAgainS) }),
		"%s is back: all gateways let its guests in within %.0f s", alone.Hotel, maxServedAgain)
	add(reached(script.Length) && script.Length > script.Release, r.Act.ReleasedS != nil, orNever(r.Act.ReleasedS), "an act that is taken back is so everywhere")

	seen = reached(script.Restart)
	troubled, slowest := 0, int64(0)
	for _, w := range r.Well {
		troubled += w.Troubled
		slowest = max(slowest, w.MaxWaitAwayMS)
	}
	add(seen, slowest <= longWait.Milliseconds(), milliseconds(slowest),
		"without the store nobody waits for it: every guest of a hotel that is well is answered within 1 s")
	add(seen, troubled == 0, unless(troubled, "not so for %d"), "the other hotels: every scan is answered, none refused or failed")
	add(seen, r.LetInWrongly == 0, unless(r.LetInWrongly, "%d were"), "nobody is let in without a hotel's yes")
	return all
}

// cutOffs returns when the first gateway cut it off and when the last one did, and whether
// all did.
func (h *FleetHang) cutOffs() (first, last float64, all bool) {
	for i, g := range h.Gateways {
		if g.CutOffS == nil {
			return 0, 0, false
		}
		if i == 0 {
			first = *g.CutOffS
		}
		first, last = min(first, *g.CutOffS), max(last, *g.CutOffS)
	}
	return first, last, true
}

func (h *FleetHang) servedWithin(limit float64) bool {
	return !slices.ContainsFunc(h.Gateways, func(g FleetGateway) bool { return g.ServedAgainS == nil || *g.ServedAgainS > limit })
}

func (h *FleetHang) waited() int {
	n := 0
	for _, g := range h.Gateways {
		n += g.WaitedOver1s
	}
	return n
}

// each lists something of all gateways.
func (h *FleetHang) each(of func(FleetGateway) string) string {
	var all []string
	for _, g := range h.Gateways {
		all = append(all, of(g))
	}
	return strings.Join(all, ", ")
}
