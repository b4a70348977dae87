package demo

import (
	"io"
	"time"
)

// FleetReport is what a run with several gateways measured. Its JSON is stable: names stay,
// fields may be added. A time that is null was not reached.
type FleetReport struct {
	Store        string    `json:"store"`
	Together     FleetHang `json:"together"` // a hotel that hung while the store was there
	Alone        FleetHang `json:"alone"`    // one that hung while it was away
	Act          FleetAct  `json:"act"`
	SharedAgainS *float64  `json:"shared_again_s"` // from the store's start to the moment at which all gateways knew all again
	Well         []Well    `json:"well"`           // by gateway
	LetInWrongly int       `json:"let_in_wrongly"` // guests let in without a yes of their hotel

	cut, away stretch       // the network of one gateway, the store
	closed    time.Duration // when the books were
}

// stretch is from one time until another; 0: that has not come.
type stretch struct{ from, until time.Duration }

// FleetHang is what became of a hotel that hung.
type FleetHang struct {
	Hotel        string         `json:"hotel"`
	StoreAway    bool           `json:"store_away"`
	Gateways     []FleetGateway `json:"gateways"`
	Trials       int            `json:"trials"`         // guests who were let through to it while all gateways had cut it off
	TrialsAtOnce int            `json:"trials_at_once"` // the most of them at once

	hotel       int
	begun       bool
	from, until time.Duration
}

// FleetGateway is what a gateway did about it, and how its guests fared.
type FleetGateway struct {
	Gateway      string   `json:"gateway"`
	CutOffS      *float64 `json:"cut_off_s"`      // since the hotel hung
	Caught       int      `json:"caught"`         // guests there whose call hung before it was cut off
	WaitedOver1s int      `json:"waited_over_1s"` // guests
	MaxWaitMS    int64    `json:"max_wait_ms"`
	Refused      int      `json:"refused"`        // guests turned away at once
	ServedAgainS *float64 `json:"served_again_s"` // since the hotel was back

	cut, closed time.Duration // 0: not yet
}

// FleetAct is what became of an operator's act on a gateway that was cut off.
type FleetAct struct {
	InForce   bool     `json:"in_force"`   // at once, there
	NotShared bool     `json:"not_shared"` // it said so
	Elsewhere int      `json:"elsewhere"`  // gateways that obeyed it already
	SharedS   *float64 `json:"shared_s"`   // from the end of the cut to the moment at which all obeyed
	ReleasedS *float64 `json:"released_s"` // from its end, on another gateway, to the moment at which all let guests in
}

// Well is how the guests of the hotels fared, at one gateway, that nothing befell.
type Well struct {
	Gateway       string `json:"gateway"`
	OK            int    `json:"ok"`
	Troubled      int    `json:"troubled"` // refused or failed
	MaxWaitMS     int64  `json:"max_wait_ms"`
	MaxWaitAwayMS int64  `json:"max_wait_away_ms"` // while this gateway, or all, could not reach the store
}

func newFleetReport(store string, nodes []*node) FleetReport {
	hang := func(hotel int, away bool) FleetHang {
		h := FleetHang{Hotel: hotelID(hotel), StoreAway: away, hotel: hotel}
		for _, n := range nodes {
			h.Gateways = append(h.Gateways, FleetGateway{Gateway: n.name})
		}
		return h
	}
	return FleetReport{Store: store, Together: hang(hungTogether, false), Alone: hang(hungAlone, true)}
}

// WriteTo writes the report as indented JSON.
func (r FleetReport) WriteTo(w io.Writer) (int64, error) { return writeIndented(w, r) }

// report works the figures out of the books.
func (s *fleetStage) report() FleetReport {
	r := s.found
	for i, n := range s.nodes {
		for _, h := range []*FleetHang{&r.Together, &r.Alone} {
			h.Gateways[i].count(s.visitsOf(h.hotel, n), r.closed)
		}
		cut := stretch{}
		if n == s.cutOff() {
			cut = r.cut
		}
		book := n.lane.visits.list()
		r.Well = append(r.Well, wellOf(n.name, book, r.closed, cut, r.away))
		r.LetInWrongly += letInWrongly(book)
	}
	return r
}

// count counts a hotel's guests.
func (g *FleetGateway) count(guests []visit, now time.Duration) {
	g.MaxWaitMS, g.WaitedOver1s, g.Refused = 0, 0, 0
	for _, v := range guests {
		g.MaxWaitMS = max(g.MaxWaitMS, v.wait(now).Milliseconds())
		if v.wait(now) > longWait {
			g.WaitedOver1s++
		}
		if v.result == refused {
			g.Refused++
		}
	}
}

// wellOf counts the guests of the hotels that nothing befell.
func wellOf(gateway string, book []visit, now time.Duration, away ...stretch) Well {
	w := Well{Gateway: gateway}
	for _, v := range book {
		switch v.hotel {
		case hungTogether, hungAlone, isolated:
			continue
		}
		wait := v.wait(now).Milliseconds()
		w.MaxWaitMS = max(w.MaxWaitMS, wait)
		for _, a := range away {
			if a.holds(v.start) {
				w.MaxWaitAwayMS = max(w.MaxWaitAwayMS, wait)
			}
		}
		switch v.result {
		case answered:
			w.OK++
		case refused, released, failed:
			w.Troubled++
		case waiting, yes, no, unknown:
		}
	}
	return w
}

// holds reports whether it was so then.
func (s stretch) holds(at time.Duration) bool {
	return s.from != 0 && at >= s.from && (s.until == 0 || at < s.until)
}
