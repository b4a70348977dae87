package fleettest

import (
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/recloser-go/recloser"
	"github.com/recloser-go/recloser/fleet"
	"github.com/recloser-go/recloser/internal/eventually"
	"github.com/recloser-go/recloser/internal/nettest"
)

// cutOff: a node that is cut off from the store keeps what the fleet decided, does not
// hear what others decide, says that its operator's act is not shared, and learns and
// tells all when it is back.
func cutOff(w *town) {
	all := w.start(3)
	cut, others := all[2:], all[:2]
	cut[0].network.Cut()
	w.await(cut, away, "the node to know that it is cut off")
	for _, i := range []int{0, 0, 0, 1, 1, 1} {
		others[i].calls(w, errDown)
	}
	w.await(others, in(recloser.Open), "the others to refuse")
	if !in(recloser.Closed)(cut[0]) {
		w.Errorf("a node that is cut off knows what others do: it is %s", cut[0].hotel.State())
	}
	cut[0].network.Heal()
	w.await(cut, in(recloser.Open), "the node that was cut off to refuse as well")

	cut[0].network.Cut()
	w.await(cut, mode(fleet.Kept), "the node to know that it is cut off again")
	if !in(recloser.Open)(cut[0]) {
		w.Errorf("a node that was just cut off is %s", cut[0].hotel.State())
	}
	w.isolatesAlone(cut[0])
	if !others.each(in(recloser.Open)) {
		w.Error("others know what a node does that is cut off")
	}
	cut[0].network.Heal()
	w.await(all, in(recloser.Isolated), "the act to be shared")
	w.releases(all)
}

// forgottenConnections: a network that forgets connections tells nobody. However many a
// store had, that costs it few attempts, as each is as long as its timeout.
func forgottenConnections(w *town) {
	network := nettest.StartProxy(w.T, w.Addr)
	s := w.open(network.Addr, 0)
	eventually.True(w, patience, func() bool { _, err := s.Said(w.Context(), "node"); return err == nil }, "the store to be there")
	var all sync.WaitGroup
	for range 20 {
		all.Go(func() { _, _, _ = s.Load(w.Context()) })
	}
	all.Wait()
	network.Forget()
	failed := 0
	for _, err := s.Said(w.Context(), "node"); err != nil; _, err = s.Said(w.Context(), "node") {
		failed++
	}
	for _, _, err := s.Load(w.Context()); err != nil; _, _, err = s.Load(w.Context()) {
		failed++
	}
	if failed == 0 || failed > 6 {
		w.Errorf("%d attempts failed before it had new connections, want 1 to 6", failed)
	}
}

// diesWithLease: the trial of a node that dies with it has failed, and others go on.
func diesWithLease(w *town) {
	all := w.start(3)
	w.trip(all)
	for _, n := range all {
		n.calls(w, nil) // refused: somebody would like to pass
	}
	tripped, _ := w.doc()
	if tried, err := all[0].TryNow(hotelName, "ann", "is it back?"); !tried || err != nil {
		w.Fatal(tried, err)
	}
	var dead *node
	var left nodes
	eventually.True(w, patience, func() bool {
		dead, left = nil, nil
		for _, n := range all {
			if dead == nil && n.Status().Breakers[0].Trial {
				dead = n
			} else {
				left = append(left, n)
			}
		}
		return dead != nil
	}, "somebody to have the lease of a trial")
	dead.network.Cut() // it cannot even give it back
	dead.Close()
	w.await(left, func(n *node) bool {
		r := n.Status().Breakers[0]
		return r.Rev.Epoch > tripped.Rev.Epoch+1 && r.Record.State == recloser.Open && r.Record.Reason == recloser.ReasonTrialFailed
	}, "the trial to be taken for a bad one")
	w.await(left, func(n *node) bool { return len(n.Status().Nodes) == len(left) }, "the node to be taken for dead")
	w.recloses(left)
}

// rollingSettings: a node with an older revision of the settings follows, and does not
// decide; once it has a newer one than the others, they do so.
func rollingSettings(w *town) {
	older := fleet.Config{Settings: 6, Rule: fleet.Rule{Failures: 3, Reporters: 1}, Node: "c"}
	newer := fleet.Config{Settings: 7, Rule: fleet.Rule{Failures: 9}}
	for _, name := range []string{"a", "b"} {
		newer.Node = name
		w.add(newer)
	}
	behind := w.add(older)
	w.meet()
	w.await(nodes{behind}, func(n *node) bool { return n.Status().Outdated }, "the older node to know that it is")
	if w.all[0].Status().Outdated {
		w.Error("a node with the newest settings takes itself for outdated")
	}
	fail := func(n *node) {
		for range 3 {
			n.calls(w, errDown)
		}
	}
	fail(w.all[0])
	w.said("a", 3)
	fail(behind) // by its own rule it would trip all
	w.said("c", 3)
	w.all[1].calls(w, errDown)
	w.said("b", 1)
	if d, ok := w.doc(); !ok || d.Key != "" {
		w.Errorf("a node with older settings has decided: %s", d.Data)
	}
	fail(w.all[1])
	w.await(w.all, in(recloser.Open), "all nodes to refuse by the newer rule")
	if r := behind.Status().Breakers[0].Record; r.Settings != 7 {
		w.Errorf("what is in force is of the settings %d", r.Settings)
	}
	w.recloses(w.all)

	newer.Settings = 8
	if err := behind.Update(newer); err != nil {
		w.Fatal(err)
	}
	w.await(w.all[:2], func(n *node) bool { return n.Status().Outdated }, "the others to know that they are behind now")
	if behind.Status().Outdated {
		w.Error("a node with the newest settings takes itself for outdated")
	}
}

// twoVersions: what a newer program writes has things in it that this one does not know,
// and is read nevertheless.
func twoVersions(w *town) {
	all := w.start(2)
	say := func(key string, what []byte) {
		w.Helper()
		if err := w.look.Say(w.Context(), []fleet.Row{{Key: key, Node: "newer", Start: 1, Seq: 1, Data: newer(w, what)}}, time.Minute); err != nil {
			w.Fatal(err)
		}
	}
	say("node", []byte(`{"version":"v99"}`))
	w.await(all, func(n *node) bool {
		s := n.Status().Nodes
		return len(s) == 3 && s[2].Name == "newer" && s[2].Version == "v99"
	}, "all nodes to know the newer one")

	all[0].calls(w, errDown)
	all[0].calls(w, errDown)
	say(recordKey, w.said("n0", 2)) // so it is at the newer one
	all[1].calls(w, errDown)
	w.await(all, in(recloser.Open), "all nodes to refuse, by what the newer one has seen")

	d, ok := w.doc()
	if !ok {
		w.Fatal("no record")
	}
	record, err := json.Marshal(fleet.Record{State: recloser.Isolated, Reason: recloser.ReasonIsolated, By: "ann", Note: "fire"})
	if err != nil {
		w.Fatal(err)
	}
	next := fleet.Doc{Key: recordKey, Rev: fleet.Rev{Epoch: d.Rev.Epoch + 1, ID: 99}, Data: newer(w, record)}
	if _, err := w.look.Put(w.Context(), d.Rev, next); err != nil {
		w.Fatal(err)
	}
	w.await(all, in(recloser.Isolated), "all nodes to follow the newer one")
	w.releases(all)
}

// said waits until a node has said that so many calls failed, and returns its words.
func (w *town) said(by string, failed int) (data []byte) {
	w.Helper()
	eventually.True(w, patience, func() bool {
		rows, err := w.look.Said(w.Context(), recordKey)
		for i := range rows {
			if rows[i].Node == by && strings.Contains(string(rows[i].Data), fmt.Sprintf(`"bad":%d`, failed)) {
				data = rows[i].Data
			}
		}
		return err == nil && data != nil
	}, fmt.Sprintf("%s to say that %d calls failed", by, failed))
	return data
}

// newer adds to JSON what a newer program may write.
func newer(w *town, text []byte) []byte {
	w.Helper()
	var all map[string]any
	if err := json.Unmarshal(text, &all); err != nil {
		w.Fatal(err)
	}
	all["mood"] = map[string]any{"today": []string{"good"}, "since": 1e9}
	text, err := json.Marshal(all)
	if err != nil {
		w.Fatal(err)
	}
	return text
}

// twoFleets: a node of another fleet that has the same prefix says so, writes nothing,
// and decides for itself.
func twoFleets(w *town) {
	all := w.start(2)
	before := w.about()
	stranger := w.addTo("port", fleet.Config{Node: "n0"})
	w.isAlone(stranger, `the store belongs to the fleet "town", and this node to "port"; give each fleet a prefix`)
	if after := w.about(); after.Rev != before.Rev {
		w.Errorf("a node of another fleet has written: %s", after.Data)
	}
	if !all.each(mode(fleet.Shared)) || !all.each(in(recloser.Closed)) {
		w.Errorf("a node of another fleet troubles this one: %+v", all[0].Status())
	}
}

// newerSchema: nodes that are too old for what a newer one has made of the store say so,
// write nothing more, and decide for themselves.
func newerSchema(w *town) {
	all := w.start(2)
	before := w.about()
	next := fleet.Doc{Key: before.Key, Rev: fleet.Rev{Epoch: before.Rev.Epoch + 1, ID: 99}, Data: []byte(`{"schema":99,"fleet":"town"}`)}
	if _, err := w.look.Put(w.Context(), before.Rev, next); err != nil {
		w.Fatal(err)
	}
	for _, n := range append(all, w.addTo("town", fleet.Config{Node: "late"})) {
		w.isAlone(n, "the store has schema 99, and this program knows 1; update this node")
	}
	if d, ok := w.doc(); !ok || d.Key != "" {
		w.Errorf("a node has written into a store of a newer schema: %s", d.Data)
	}
}

// isAlone waits until a node says why the store is not for it, and has it trip by itself.
func (w *town) isAlone(n *node, why string) {
	w.Helper()
	w.await(nodes{n}, func(n *node) bool {
		s := n.Status()
		return s.Mode == fleet.Alone && s.Err != nil && strings.Contains(s.Err.Error(), why)
	}, "a node to say: "+why)
	w.await(nodes{n}, func(n *node) bool {
		n.calls(w, errDown)
		return in(recloser.Open)(n)
	}, "it to protect itself")
}

// about returns the document that says what the store is for.
func (w *town) about() (d fleet.Doc) {
	w.Helper()
	docs, _, err := w.look.Load(w.Context())
	for i := range docs {
		if docs[i].Key == "about" {
			d = docs[i]
		}
	}
	if err != nil || d.Key == "" {
		w.Fatalf("%+v, %v", docs, err)
	}
	return d
}
