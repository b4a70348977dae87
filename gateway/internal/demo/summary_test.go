package demo

import (
	"strings"
	"testing"
	"time"
)

func TestSummaryGolden(t *testing.T) {
	r := goodReport()
	h := r.Lanes.Protected.Hotels["hotel-7"]
	h.FirstRefusalS = nil
	r.Lanes.Protected.Hotels["hotel-7"] = h
	script := DefaultScript()
	script.Length = 31 * time.Second
	message := "hotel-3 is cut off\n  Since: 2026-05-01 12:00:11\n" +
		"  Callers get: an answer at once: 503 and when to come back; asks go on without it"
	var b strings.Builder
	for _, l := range summaryLines(r, checks(r, script, 0), []string{message, "hotel-3 is back\n  Now: its trial calls were good"}) {
		if l.width() > summaryWidth {
			t.Errorf("%d wide: %s", l.width(), raw(l))
		}
		b.WriteString(style{}.encode(l) + "\n")
	}
	golden(t, "summary.txt", b.String())
}
