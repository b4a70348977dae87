package fleettest

import (
	"testing"
	"time"

	"github.com/recloser-go/recloser"
	"github.com/recloser-go/recloser/fleet"
)

// hung: what an operator decides while the server hangs holds here at once, and everywhere
// when it goes on.
func hung(w *town) {
	all := w.start(5)
	w.trip(all)
	w.Pause(w.T)
	w.Cleanup(func() { w.Resume(w.T) })
	w.await(all, mode(fleet.Kept), "all nodes to know that the store is away")
	w.isolatesAlone(all[0])
	w.Resume(w.T)
	w.await(all, in(recloser.Isolated), "the act to be shared")
	w.releases(all)
}

// killed: so it is with a server that is killed and started again, whether it kept what it
// held or not. What was decided last counts.
func killed(w *town) {
	all := w.start(3)
	w.isolates(all[0])
	w.await(all, in(recloser.Isolated), "the act to be shared")
	w.Kill(w.T)
	w.await(all, away, "all nodes to know that the store is away")
	if ok, err := all[1].Release(hotelName, "bob", "out"); !ok || err != nil {
		w.Fatal(ok, err)
	}
	if in(recloser.Isolated)(all[1]) || !in(recloser.Isolated)(all[0]) {
		w.Errorf("released on one node, it is %s there and %s elsewhere", all[1].hotel.State(), all[0].hotel.State())
	}
	w.Start(w.T)
	w.recloses(all)
}

// forgets: a server that loses everything changes nothing in what is cut off, nor in what
// an operator decided.
func forgets(w *town) {
	for _, way := range w.Forget {
		w.another(way.Name, func(w *town) {
			all := w.start(3)
			w.trip(all)
			way.Do(w.T, w.prefix)
			w.agree(recloser.Open)
			w.isolates(all[1])
			w.await(all, in(recloser.Isolated), "the act to be shared")
			way.Do(w.T, w.prefix)
			w.agree(recloser.Isolated)
			w.releases(all)
		})
	}
}

// goesBack: the server that is there next has not got what tripped, or what an operator
// did. Nobody lets calls through for that, and the server is told.
func goesBack(w *town) {
	for _, way := range w.GoBack {
		for _, c := range []struct {
			name string
			do   func(w *town)
			want recloser.State
			end  func(w *town, all nodes)
		}{
			{"the trip", func(w *town) { w.trip(w.all) }, recloser.Open, (*town).recloses},
			{"an act", func(w *town) {
				w.isolates(w.all[0])
				w.await(w.all, in(recloser.Isolated), "the act to be shared")
			}, recloser.Isolated, (*town).releases},
		} {
			parent := w
			w.another(way.Name+" without "+c.name, func(w *town) {
				all := w.start(3)
				put := way.Keep(parent.T, w.prefix)
				c.do(w)
				parent.Addr = put()
				for _, n := range all {
					n.network.Switch(parent.Addr)
				}
				w.look = w.open(parent.Addr, patient)
				w.agree(c.want)
				c.end(w, all)
			})
		}
	}
}

// slow: a server, or a way to it, that takes its time changes nothing. One that takes longer than
// a store waits is as one that hangs.
func slow(w *town) {
	all := w.start(3)
	delay := func(by time.Duration) {
		for _, n := range all {
			n.network.Delay(by)
		}
	}
	delay(20 * time.Millisecond)
	w.trip(all)
	w.agree(recloser.Open)
	delay(3 * time.Second)
	w.await(all, away, "all nodes to know that the store is of no use")
	w.isolatesAlone(all[2])
	delay(0)
	w.await(all, in(recloser.Isolated), "the act to be shared")
	w.releases(all)
}

// wrongClock: neither a server's clock that is wrong by an hour nor one that is set, back
// or forth, recloses anything, or loses an act or a node.
func wrongClock(w *town, set func(t testing.TB, by time.Duration)) {
	for _, by := range []time.Duration{time.Hour, -time.Hour} {
		w.another("wrong by "+by.String(), func(w *town) {
			set(w.T, by)
			all := w.start(3)
			w.trip(all)
			set(w.T, 0)
			w.agree(recloser.Open)
			w.recloses(all)
			w.isolates(all[1])
			w.await(all, in(recloser.Isolated), "the act to be shared")
			set(w.T, by)
			late := w.add(fleet.Config{Node: "late"}) // it has all from the server
			w.await(nodes{late}, in(recloser.Isolated), "a new node to know of it")
			w.meet()
			w.agree(recloser.Isolated)
			w.releases(w.all)
		})
	}
}
