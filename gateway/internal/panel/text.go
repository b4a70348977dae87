package panel

import (
	"fmt"
	"math"
	"strconv"
	"time"

	"github.com/recloser-go/recloser/gateway/internal/plain"
)

// span writes a time, whole seconds being as exact as is readable from afar.
func span(d time.Duration) string { return plain.Span(d.Round(time.Second)) }

// clock writes a moment: with the date unless that is today's.
func clock(t, now time.Time) string {
	t, now = t.UTC(), now.UTC()
	if t.Format(time.DateOnly) == now.Format(time.DateOnly) {
		return t.Format("15:04:05 UTC")
	}
	return t.Format(dated)
}

const dated = "2006-01-02 15:04 UTC"

// percent writes a share of 1. One that is not 0 or 1 never looks as if it were.
func percent(share float64) string {
	p := share * 100
	switch {
	case p > 0 && p < 1:
		return "< 1 %"
	case p > 99 && p < 100:
		return "> 99 %"
	}
	return fmt.Sprintf("%.0f %%", math.Round(p))
}

// number groups digits by threes with narrow spaces.
func number(n uint64) string {
	digits := strconv.FormatUint(n, 10)
	out := make([]rune, 0, len(digits)+len(digits)/3)
	for i, digit := range digits {
		if i > 0 && (len(digits)-i)%3 == 0 {
			out = append(out, '\u202f')
		}
		out = append(out, digit)
	}
	return string(out)
}

// milliseconds writes a latency; "–" for none.
func milliseconds(ms float64) string {
	switch {
	case ms <= 0:
		return "–"
	case ms < 10:
		return fmt.Sprintf("%.1f ms", ms)
	case ms < 1000:
		return fmt.Sprintf("%.0f ms", ms)
	}
	return fmt.Sprintf("%.1f s", ms/1000)
}

// hours writes a time that many had to wait, or had not.
func hours(d time.Duration) string {
	if d < time.Hour {
		return span(d)
	}
	return fmt.Sprintf("%.1f h", d.Hours())
}
