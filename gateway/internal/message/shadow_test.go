package message

import (
	"strings"
	"testing"
	"time"

	"github.com/recloser-go/recloser"
)

// In shadow mode nobody is told that callers feel anything, but of what people set.
func TestShadowIsToldAsShadow(t *testing.T) {
	trip := Why{From: recloser.Closed, To: recloser.Open, Reason: recloser.ReasonRun}
	down := Item{Dependency: "h", Name: "h", State: recloser.Open, Shadow: true, Since: start, Why: trip, Trips: 2}
	over := down
	over.State, over.Over = recloser.Closed, start.Add(time.Minute)
	act := Item{Dependency: "h", Name: "h", State: recloser.Isolated, Shadow: true, Since: start}
	for _, c := range []struct {
		kind Kind
		item Item
		want []string
		not  []string
	}{
		{Started, down, []string{"h would be cut off (shadow)", "shadow mode lets every call through"}, []string{"503", "is cut off"}},
		{Started, over, []string{"h would be cut off (shadow)"}, []string{"was cut off"}},
		{Reminder, down, []string{"h would still be cut off (shadow)"}, []string{"503", "is still cut off"}},
		{Flapping, down, []string{"h would be cut off again and again (shadow)"}, []string{"503", "\n  Cut off"}},
		{Ended, over, []string{"h would be back (shadow)", "Would have been out: 1 min"}, []string{"is back", "Was out", "\n  Cut off"}},
		{Isolated, act, []string{"h is cut off by hand", "503"}, []string{"shadow"}},
	} {
		for _, items := range [][]Item{{c.item}, {c.item, c.item}} {
			text := Message{Kind: c.kind, Items: items}.String()
			for _, not := range c.not {
				if strings.Contains(text, not) {
					t.Errorf("%s of %d says %q:\n%s", c.kind, len(items), not, text)
				}
			}
			if len(items) > 1 {
				continue
			}
			for _, want := range c.want {
				if !strings.Contains(text, want) {
					t.Errorf("%s lacks %q:\n%s", c.kind, want, text)
				}
			}
		}
	}
	back := Why{From: recloser.Isolated, To: recloser.HalfOpen, Reason: recloser.ReasonReleased, Shadow: true}
	if got := back.InWords(); !strings.HasSuffix(got, "by the rules it would be on trial (shadow: calls pass)") {
		t.Errorf("released: %q", got)
	}
	felt := down
	felt.Shadow = false
	if got := (Message{Kind: Started, Items: []Item{felt, down}}).Title(); got != "2 dependencies cut off" {
		t.Errorf("with one that is cut off: %q", got)
	}
	if got := down.Head(); got != "closed (passing) → open (would be cut off (shadow: calls pass))" {
		t.Errorf("head: %q", got)
	}
}
