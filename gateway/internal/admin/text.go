package admin

import (
	"fmt"
	"math"
	"strconv"
	"time"
)

// span writes a time in at most two units, as long as is readable from afar:
// "36 s", "4 min 11 s", "11 h 5 min", "3 d 2 h".
func span(d time.Duration) string {
	s := int64(max(0, d).Round(time.Second) / time.Second)
	two := func(big int64, bigUnit string, small int64, smallUnit string) string {
		if small == 0 {
			return fmt.Sprintf("%d %s", big, bigUnit)
		}
		return fmt.Sprintf("%d %s %d %s", big, bigUnit, small, smallUnit)
	}
	switch {
	case s < 60:
		return fmt.Sprintf("%d s", s)
	case s < 60*60:
		return two(s/60, "min", s%60, "s")
	case s < 24*60*60:
		return two(s/3600, "h", s/60%60, "min")
	default:
		return two(s/86400, "d", s/3600%24, "h")
	}
}

// clock writes a moment: to the second within a day, else with the date.
func clock(t, now time.Time) string {
	layout := "15:04:05 UTC"
	if t.Sub(now) >= 24*time.Hour {
		layout = "2006-01-02 15:04 UTC"
	}
	return t.UTC().Format(layout)
}

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
