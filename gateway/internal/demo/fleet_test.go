package demo

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
)

// goodFleet keeps every promise, each at its limit.
func goodFleet() FleetReport {
	hang := func(hotel int, away bool, g FleetGateway) FleetHang {
		h := FleetHang{Hotel: hotelID(hotel), StoreAway: away, Trials: 2, TrialsAtOnce: 1, hotel: hotel, begun: true}
		for n := 1; n <= 3; n++ {
			g.Gateway = fmt.Sprintf("gateway-%d", n)
			h.Gateways = append(h.Gateways, g)
		}
		return h
	}
	r := FleetReport{
		Store:        "redis",
		Together:     hang(hungTogether, false, FleetGateway{CutOffS: new(2.9), Caught: 3, MaxWaitMS: 2900, Refused: 10, ServedAgainS: new(8.0)}),
		Alone:        hang(hungAlone, true, FleetGateway{CutOffS: new(6.0), Caught: 5, WaitedOver1s: 8, MaxWaitMS: 5800, Refused: 20, ServedAgainS: new(8.0)}),
		Act:          FleetAct{InForce: true, NotShared: true, SharedS: new(8.0), ReleasedS: new(1.0)},
		SharedAgainS: new(12.0),
	}
	last := &r.Together.Gateways[2]
	last.CutOffS, last.Caught, last.WaitedOver1s = new(3.9), 0, 10
	for n := 1; n <= 3; n++ {
		r.Well = append(r.Well, Well{Gateway: fmt.Sprintf("gateway-%d", n), OK: 1219, MaxWaitMS: 2000, MaxWaitAwayMS: 1000})
	}
	return r
}

func TestFleetChecks(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(*FleetReport)
		broken string // a part of the one promise that is broken; "": none
	}{
		{"all at their limits", func(*FleetReport) {}, ""},
		{"one is late", func(r *FleetReport) { r.Together.Gateways[0].CutOffS = new(2.89) }, "within 1 s of each other: 2.89 s, 2.90 s, 3.90 s"},
		{"one does not cut it off", func(r *FleetReport) { r.Together.Gateways[1].CutOffS = nil }, "within 1 s of each other: 2.90 s, never"},
		{"all had bad calls", func(r *FleetReport) { r.Together.Gateways[2].Caught = 1 }, "has not had a bad call itself: none"},
		{"one more waits", func(r *FleetReport) { r.Together.Gateways[0].WaitedOver1s = 1 }, "at most 10 guests of it wait over 1 s: 11"},
		{"it is not served again", func(r *FleetReport) { r.Together.Gateways[0].ServedAgainS = nil }, "hotel-1 is back"},
		{"late", func(r *FleetReport) { r.Together.Gateways[0].ServedAgainS = new(8.1) }, "hotel-1 is back"},
		{"two trials", func(r *FleetReport) { r.Together.TrialsAtOnce = 2 }, "one at a time, at all gateways together: 2, up to 2 at once"},
		{"no trial", func(r *FleetReport) { r.Together.Trials = 0 }, "one at a time, at all gateways together"},
		{"it is not in force", func(r *FleetReport) { r.Act.InForce = false }, "an act on a gateway"},
		{"it does not say so", func(r *FleetReport) { r.Act.NotShared = false }, "an act on a gateway"},
		{"the others obey", func(r *FleetReport) { r.Act.Elsewhere = 1 }, "an act on a gateway"},
		{"shared late", func(r *FleetReport) { r.Act.SharedS = new(8.1) }, "reaches the store again"},
		{"never shared", func(r *FleetReport) { r.Act.SharedS = nil }, "once that gateway reaches the store again, all obey within 8 s: never"},
		{"not alone", func(r *FleetReport) { r.Alone.Gateways[2].CutOffS = nil }, "hangs without the store"},
		{"late alone", func(r *FleetReport) { r.Alone.Gateways[2].CutOffS = new(6.1) }, "hangs without the store"},
		{"more wait alone", func(r *FleetReport) { r.Alone.Gateways[1].WaitedOver1s = 9 }, "at each: 8, 9, 8"},
		{"not shared again", func(r *FleetReport) { r.SharedAgainS = nil }, "the store is back"},
		{"alone for ever", func(r *FleetReport) { r.Alone.Gateways[1].ServedAgainS = nil }, "hotel-3 is back"},
		{"not released", func(r *FleetReport) { r.Act.ReleasedS = nil }, "taken back"},
		{"one waits for the store", func(r *FleetReport) { r.Well[1].MaxWaitAwayMS = 1001 }, "nobody waits for it"},
		{"one is refused", func(r *FleetReport) { r.Well[2].Troubled = 1 }, "not so for 1"},
		{"let in wrongly", func(r *FleetReport) { r.LetInWrongly = 1 }, "1 were"},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := goodFleet()
			c.change(&r)
			var found []string
			for _, p := range fleetChecks(r, DefaultFleetScript()) {
				switch p.verdict {
				case broken:
					found = append(found, p.String())
				case notSeen:
					t.Errorf("not seen in a whole run: %s", p)
				case held:
				}
			}
			if c.broken == "" && len(found) > 0 || c.broken != "" && (len(found) != 1 || !strings.Contains(found[0], c.broken)) {
				t.Errorf("broken: %q, want %q", found, c.broken)
			}
		})
	}
}

// What a run has not reached is not held against it.
func TestFleetChecksOfAShortRun(t *testing.T) {
	script := DefaultFleetScript()
	last := -1
	for _, length := range []time.Duration{script.Hang, script.Back, script.Cut, script.Kill, script.Restart, script.Release, script.Length} {
		script.Length = length
		all := fleetChecks(FleetReport{Together: FleetHang{Hotel: "hotel-1"}}, script)
		seen := len(slices.DeleteFunc(slices.Clone(all), func(c check) bool { return c.verdict == notSeen }))
		if seen <= last {
			t.Errorf("after %s %d promises were seen, and before that %d", length, seen, last)
		}
		last = seen
	}
	if last != len(fleetChecks(goodFleet(), DefaultFleetScript())) {
		t.Errorf("a whole run sees %d promises", last)
	}
}

func TestCaught(t *testing.T) {
	got := caught([]visit{
		{sent: 970 * ms, end: 990 * ms, result: answered}, // before
		{sent: 990 * ms, end: 3000 * ms, result: released},
		{sent: 1500 * ms, end: 3000 * ms, result: released},
		{sent: 2500 * ms}, // waits still
		{sent: 3001 * ms, end: 3002 * ms, result: refused},
	}, 1000*ms, 3000*ms)
	if got != 3 {
		t.Errorf("got %d, want 3", got)
	}
}

func TestTrials(t *testing.T) {
	h := &FleetHang{Gateways: []FleetGateway{{cut: 2900 * ms, closed: 9000 * ms}, {cut: 3000 * ms, closed: 9010 * ms}}}
	guests := []visit{
		{sent: 2950 * ms, end: 3000 * ms, result: released}, // caught
		{sent: 4000 * ms, end: 4001 * ms, result: refused},
		{sent: 5000 * ms, end: 6000 * ms, result: released},
		{sent: 8000 * ms, end: 8030 * ms, result: answered},
		{sent: 9005 * ms, end: 9020 * ms, result: answered}, // it is closed
	}
	if n, most := trials(guests, h); n != 2 || most != 1 {
		t.Errorf("got %d, up to %d at once; want 2, one at a time", n, most)
	}
	guests = append(guests, visit{sent: 5999 * ms, end: 6000 * ms, result: failed})
	if n, most := trials(guests, h); n != 3 || most != 2 {
		t.Errorf("got %d, up to %d at once; want 3, up to 2", n, most)
	}
}

func TestWellOf(t *testing.T) {
	got := wellOf("gateway-2", []visit{
		{hotel: 2, start: 1000 * ms, end: 1700 * ms, result: answered},
		{hotel: 2, start: 2000 * ms, end: 2500 * ms, result: answered},
		{hotel: 4, start: 2500 * ms, end: 2600 * ms, result: refused},
		{hotel: 4, start: 6000 * ms, end: 6300 * ms, result: failed},
		{hotel: hungTogether, start: 2000 * ms, end: 4000 * ms, result: released},
	}, 10*time.Second, stretch{2000 * ms, 3000 * ms}, stretch{from: 5000 * ms})
	if want := (Well{"gateway-2", 2, 2, 700, 500}); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

// No guest comes to the quiet entrance while the hotel hangs and is not cut off.
func TestQuietEntrance(t *testing.T) {
	script := DefaultFleetScript()
	came := 0
	for n := hungTogether - 1; ; n += fleetHotels {
		at := time.Duration(n) * time.Second / fleetScansPerSecond
		if at >= script.Length {
			break
		}
		if !comesToQuiet(n) {
			continue
		}
		came++
		if at >= script.Hang-time.Second/2 && at < script.Hang+4*time.Second {
			t.Errorf("a guest comes %s after the first", at)
		}
	}
	if want := int(script.Length / quietEvery); came != want {
		t.Errorf("%d guests come, want %d", came, want)
	}
}

func TestFleetSummaryGolden(t *testing.T) {
	for _, width := range []int{summaryWidth, 39} {
		r := goodFleet()
		var b strings.Builder
		for _, l := range (fleetSummary{r, fleetChecks(r, DefaultFleetScript()), width}).lines() {
			if l.width() > width {
				t.Errorf("%d wide, want %d: %s", l.width(), width, raw(l))
			}
			b.WriteString(style{}.encode(l) + "\n")
		}
		golden(t, fmt.Sprintf("fleet-%d.txt", width), b.String())
	}
}

func TestNodeLog(t *testing.T) {
	l := nodeLog{serving: make(chan served, 1)}
	for _, part := range []string{`{"msg":"other"}` + "\n" + `{"msg":"serv`, `ing","calls":"127.0.0.1:1","admin":"127.0.0.1:2"}` + "\n", "the end\n"} {
		if n, err := l.Write([]byte(part)); n != len(part) || err != nil {
			t.Fatal(n, err)
		}
	}
	if got := <-l.serving; got.Calls != "127.0.0.1:1" || got.Admin != "127.0.0.1:2" {
		t.Errorf("it serves at %+v", got)
	}
	if got := l.end(); got != "the end" {
		t.Errorf("its last line is %q", got)
	}
}
