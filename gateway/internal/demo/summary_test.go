package demo

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// played is the summary of a run that kept its promises and whose figures look
// better without Recloser wherever they can.
func played(width int) summary {
	r := goodReport()
	for _, n := range illHotels() {
		h := r.Lanes.Unprotected.Hotels[hotelID(n)]
		h.OK, h.MaxWaitMS, h.FullAgainS = 450, 20012, new(0.0)
		r.Lanes.Unprotected.Hotels[hotelID(n)] = h
		h = r.Lanes.Protected.Hotels[hotelID(n)]
		h.OK, h.Refused, h.MaxWaitMS, h.FullAgainS = 240, 205, 1150, new(5.0)
		r.Lanes.Protected.Hotels[hotelID(n)] = h
	}
	r.Lanes.Protected.Asks = Asks{Yes: 270, No: 72, Unknown: 108, WaitedOver1s: 4}
	r.Lanes.Unprotected.Asks = Asks{Yes: 304, No: 83, Unknown: 63, WaitedOver1s: 70}
	script := DefaultScript()
	return summary{
		report: r, script: script, promises: checks(r, script, 0), width: width,
		outage: outage{begun: true, ended: true, from: script.FaultsFrom, until: script.FaultsUntil},
		messages: []string{
			"hotel-3 is cut off\n  Since: 2026-05-01 12:00:11\n" +
				"  Callers get: an answer at once: 503 and when to come back; asks go on without it",
			"hotel-3 is back\n  Now: its trial calls were good",
		},
	}
}

// withoutOutage makes it the summary of a run that ended after that long,
// before the outage began.
func (s summary) withoutOutage(length time.Duration) summary {
	s.script.Length, s.outage, s.messages = length, outage{}, nil
	for _, l := range []Lane{s.report.Lanes.Protected, s.report.Lanes.Unprotected} {
		for n := 1; n <= hotelsPerLane; n++ {
			l.Hotels[hotelID(n)] = Hotel{Fault: faultOf(n), OK: 50}
		}
	}
	s.report.Lanes.Protected.Asks, s.report.Lanes.Unprotected.Asks = Asks{Yes: 37, No: 13}, Asks{Yes: 37, No: 13}
	s.promises = checks(s.report, s.script, 0)
	return s
}

func textOf(s summary) string {
	var b strings.Builder
	for _, l := range s.lines() {
		b.WriteString(style{}.encode(l) + "\n")
	}
	return b.String()
}

func TestSummaryGolden(t *testing.T) {
	for _, width := range []int{summaryWidth, 59, 39} {
		s := played(width)
		for _, l := range s.lines() {
			if l.width() > width {
				t.Errorf("%d wide, want %d: %s", l.width(), width, raw(l))
			}
		}
		golden(t, fmt.Sprintf("summary-%d.txt", width), textOf(s))
	}
	golden(t, "summary-5s.txt", textOf(played(summaryWidth).withoutOutage(5*time.Second)))
}

func TestSummaryEndsWithTheVerdict(t *testing.T) {
	slow := played(summaryWidth)
	slow.promises[0].verdict = broken
	short := played(summaryWidth)
	short.script.Length = 31 * time.Second
	short.promises = checks(short.report, short.script, 0)
	const guests, longest = "\n  Guests who waited over 1 s: 24 with Recloser, 370 without.", "\n  The longest wait of a scan: 1.15 s with Recloser, 20.01 s without.\n"
	for _, c := range []struct {
		name    string
		summary summary
		want    string
	}{
		{"all held", played(summaryWidth), "\n\n✓ All 11 things that must hold do." + guests + longest},
		{"one broken", slow, "\n\n✗ Broken: 1 of the 11 things that must hold." + guests + longest},
		{
			"too short", short,
			"\n\n– Held: 9 of the 11 things that must hold. The run was too short to see the\n  others: that takes 39 s." + guests + longest,
		},
		{
			"no outage", played(summaryWidth).withoutOutage(5 * time.Second),
			"\n\n– The outage was not reached: it begins after 10 s, this run took 5 s. Run it\n  for 39 s to see everything.\n",
		},
	} {
		if got := textOf(c.summary); !strings.HasSuffix(got, c.want) {
			t.Errorf("%s: the end is not\n%s\nbut\n%s", c.name, c.want, got[len(got)-min(len(got), 300):])
		}
	}
}

// What did not happen is not told as if it had.
func TestSummaryWithoutOutage(t *testing.T) {
	got := textOf(played(summaryWidth).withoutOutage(5 * time.Second))
	for _, wrong := range []string{"hung", "was slow", "answered 500", "never", "better without", "Teams"} {
		if strings.Contains(got, wrong) {
			t.Errorf("it says %q:\n%s", wrong, got)
		}
	}
}

func TestNotesOnlyWhereItLooksBetterWithout(t *testing.T) {
	s := played(summaryWidth)
	if notes := s.notes(); len(notes) < 5 {
		t.Errorf("not explained: %v", notes)
	}
	s.report.Lanes.Unprotected = s.report.Lanes.Protected
	if notes := s.notes(); notes != nil {
		t.Errorf("explained though nothing looks better: %v", notes)
	}
}
