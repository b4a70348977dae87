package bench

import "github.com/recloser-go/recloser"

// Groups lists everything that is compared. Some of our own peers read clock,
// a coarse one; the others read the machine's at each call.
func Groups(clock *recloser.Clock) []Group {
	return []Group{
		Single(clock), Keyed(clock), InARow(clock), BareGuard(), FullGuard(), Transport(), TransportBody(), Compat(),
	}
}

// Single is one breaker that judges a rate.
func Single(clock *recloser.Clock) Group {
	return Group{Name: "one breaker", Peers: []Peer{
		recloserDo("recloser Do", rateRule, rateConfig(nil)),
		recloserAllow("recloser Allow", rateRule, rateConfig(nil)),
		recloserDo("recloser Do, coarse clock", rateRule, rateConfig(clock)),
		ratePermits(), rateExecutor(), rateGobreaker(), rateRubyist(), gozeroPeer(), eapachePeer(),
	}}
}

// InARow is one breaker that knows no other rule than so many failures in a row.
func InARow(clock *recloser.Clock) Group {
	const rule = "5 in a row; rate and slow rule off"
	return Group{Name: "5 in a row", Peers: []Peer{
		recloserDo("recloser Do", rule, rowConfig(nil)),
		recloserDo("recloser Do, coarse clock", rule, rowConfig(clock)),
		rowPermits(), rowGobreaker(), rowRubyist(), eapachePeer(),
	}}
}
