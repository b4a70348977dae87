package demo

import (
	"testing"
	"time"

	"github.com/recloser-go/recloser/gateway/internal/message"
)

func TestHeadline(t *testing.T) {
	lane := func(waiting int, longest time.Duration, overLong int) laneView {
		return laneView{waiting: waiting, longest: longest, overLong: overLong}
	}
	lasts, over := outage{begun: true, from: 10 * time.Second}, outage{begun: true, ended: true}
	for _, tt := range []struct {
		name string
		v    view
		want string
	}{
		{"before", view{now: 4 * time.Second}, "All hotels are well. 3 of them fall ill in 6 s."},
		{"late", view{now: 11 * time.Second}, "All hotels are well. 3 of them fall ill in 0 s."},
		{
			"during",
			view{outage: lasts, with: lane(1, 100*ms, 0), without: lane(1314, 19600*ms, 400)},
			"3 of 12 hotels are ill. With Recloser 1 person waits, the longest for 0.1 s. Without it 1 314 people wait, the longest for 19.6 s.",
		},
		{
			"nobody",
			view{outage: lasts, without: lane(2, 50*ms, 0)},
			"3 of 12 hotels are ill. With Recloser nobody waits. Without it 2 people wait, the longest for 0.1 s.",
		},
		{
			"after",
			view{outage: over, with: lane(3, 0, 1), without: lane(3, 0, 479)},
			"All hotels are well again. With Recloser 1 person has waited over 1 s, without it 479 people have.",
		},
		{
			"stopped while it lasts",
			view{ending: true, outage: lasts, without: lane(2, 50*ms, 0)},
			"The demo ends. With Recloser nobody waits. Without it 2 people wait, the longest for 0.1 s.",
		},
		{"stopped before", view{ending: true}, "The demo ends."},
	} {
		tt.v.script = DefaultScript()
		if got := headline(tt.v); got != tt.want {
			t.Errorf("%s: got %q, want %q", tt.name, got, tt.want)
		}
	}
}

func TestChartOf(t *testing.T) {
	script := Script{FaultsFrom: 10 * time.Second, FaultsUntil: 30 * time.Second, Length: 60 * time.Second} // 10 px a second
	crowd := []visit{
		{start: 500 * ms, end: 1400 * ms, result: answered},
		{start: 900 * ms, result: waiting},
	}
	got := chartOf(view{now: 1500 * ms, script: script}, crowd, 10)
	want := chart{
		axis: axis{Now: 15, From: 100, Width: 200, Ends: "60 s"}, Top: 10,
		Area:  "M0 110V110.0h5V99.0h5V88.0h5V99.0h5V110z",
		Label: "People waiting over the time of this outage: 2 at most",
	}
	if got != want {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
	if late := chartOf(view{now: time.Hour, script: script}, nil, 10); late.Now != chartWidth {
		t.Errorf("past its end the script is at %d of %d", late.Now, chartWidth)
	}
}

// Every kind of message has a mark that the page knows.
func TestMarkOf(t *testing.T) {
	for _, kind := range message.Kinds() {
		switch mark := markOf(notice{Kind: string(kind)}); mark {
		case "open", "closed", "isolated", "held-closed", "unknown":
		default:
			t.Errorf("%s: %q", kind, mark)
		}
	}
	for kind, want := range map[message.Kind]string{message.Started: "open", message.Ended: "closed", message.Isolated: "isolated"} {
		if got := markOf(notice{Kind: string(kind)}); got != want {
			t.Errorf("%s: got %q, want %q", kind, got, want)
		}
	}
}
