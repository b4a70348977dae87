package main

import (
	"regexp"
	"strconv"
	"time"
)

// longest is more than anybody means: with it no sum of times overflows.
const longest = 100 * 365 * 24 * time.Hour

var days = regexp.MustCompile(`^([0-9]{1,5})d(.*)$`)

// length reads how long something is: "45m", "1h30m", "90d", "1d12h".
func length(flag, text string) (time.Duration, error) {
	wrong := badUsage("--%s is a time such as 45m, 1h30m or 90d, not %q", flag, text)
	var d time.Duration
	rest := text
	if m := days.FindStringSubmatch(text); m != nil {
		n, err := strconv.Atoi(m[1])
		if err != nil {
			return 0, wrong
		}
		d, rest = time.Duration(n)*24*time.Hour, m[2]
	}
	if rest != "" || d == 0 {
		more, err := time.ParseDuration(rest)
		if err != nil || more < 0 || more > longest {
			return 0, wrong
		}
		d += more
	}
	if d <= 0 || d > longest {
		return 0, wrong
	}
	return d, nil
}

// moment reads when something is: with a zone as in RFC 3339, else in the zone of
// now: "2027-01-31T18:00", "2027-01-31 18:00", or the next "18:00".
func moment(flag, text string, now time.Time) (time.Time, error) {
	if t, err := time.Parse(time.RFC3339, text); err == nil && t.UTC().Year() <= 9999 { // which JSON can write
		return t, nil
	}
	for _, layout := range []string{"2006-01-02T15:04", "2006-01-02 15:04"} {
		if t, err := time.ParseInLocation(layout, text, now.Location()); err == nil {
			return t, nil
		}
	}
	if t, err := time.Parse("15:04", text); err == nil {
		year, month, day := now.Date()
		at := time.Date(year, month, day, t.Hour(), t.Minute(), 0, 0, now.Location())
		if !at.After(now) {
			at = time.Date(year, month, day+1, t.Hour(), t.Minute(), 0, 0, now.Location())
		}
		return at, nil
	}
	return time.Time{}, badUsage("--%s is a time such as 18:00, 2027-01-31T18:00 or 2027-01-31T18:00:00+02:00, not %q", flag, text)
}
