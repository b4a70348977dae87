package incident

import (
	"strings"
	"testing"
	"time"

	"github.com/recloser-go/recloser"
	"github.com/recloser-go/recloser/fleet"
	"github.com/recloser-go/recloser/gateway/internal/message"
)

// A message says which nodes have seen it fail by then, its end and what was written down
// the same, whoever is cut off a little longer by its own rules, or after it.
func TestSeenByNodes(t *testing.T) {
	w := newWorld(t, 9)
	own, all := fleet.Seen{By: 1, Of: 3, Who: "gate-1", Own: true}, fleet.Seen{By: 2, Of: 3}
	w.trips("h1")
	w.seen["h1"] = own
	w.pass(time.Second)
	w.seen["h1"] = all
	w.pass(10 * time.Second)
	w.restart()
	w.seen["h1"] = own
	w.pass(time.Second)
	w.recovers("h1")
	w.seen["h1"] = fleet.Seen{By: 1, Of: 2}
	w.pass(2 * time.Minute)
	if len(w.told) != 2 || w.told[0].Items[0].Seen != all || w.told[1].Kind != message.Ended || w.told[1].Items[0].Seen != all {
		t.Errorf("told %+v", w.told)
	}
}

// Where calls of all nodes fail, one message says so, however few dependencies it is about,
// and one that they are back.
func TestAllNodesInDoubt(t *testing.T) {
	w := newWorld(t, 9)
	w.doubt = 3
	w.trips("h1")
	w.pass(time.Second)
	w.trips("h2")
	w.pass(time.Hour / 2)
	w.doubt = 0
	w.recovers("h1")
	w.recovers("h2")
	w.pass(2 * time.Minute)
	if len(w.told) != 2 {
		t.Fatalf("%d messages, want 2: %+v", len(w.told), w.told)
	}
	first, last := w.told[0], w.told[1]
	if !first.Us || !strings.HasPrefix(first.Hint(), "Calls of all 3 nodes fail to half of what they call: look first at what they share") {
		t.Errorf("us %t, hint %q", first.Us, first.Hint())
	}
	if strings.Contains(first.String(), "Tell whoever runs") {
		t.Errorf("it sends people to the partners:\n%s", first)
	}
	if last.Kind != message.Ended || last.Us || len(last.Items) != 2 || last.Items[0].State != recloser.Closed {
		t.Errorf("last %+v", last)
	}
}
