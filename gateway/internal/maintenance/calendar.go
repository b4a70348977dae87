package maintenance

import (
	"errors"
	"slices"
	"time"
	_ "time/tzdata" // the zones are in the program: a small image has none
)

// timeOfDay is how Calendar.From is written.
const timeOfDay = "15:04"

// days are the words for them, in the order of time.Weekday.
var days = [...]string{"sun", "mon", "tue", "wed", "thu", "fri", "sat"}

var errLocal = errors.New("the zone of the machine")

// location returns the zone. That of the machine is none: who reads the rule
// could not know it.
func (c *Calendar) location() (*time.Location, error) {
	if c.Zone == "Local" {
		return nil, errLocal
	}
	return time.LoadLocation(c.Zone)
}

// occurrences returns the next n that have not ended at now. A calendar that
// makes no sense has none.
func (c *Calendar) occurrences(notBefore, notAfter, now time.Time, n int) (all []Occurrence) {
	zone, err := c.location()
	at, e := time.Parse(timeOfDay, c.From)
	if err != nil || e != nil || c.For <= 0 {
		return nil
	}
	if now.Before(notBefore) {
		now = notBefore
	}
	year, month, day := now.Add(-c.For).In(zone).Date()
	// From the day before, for a zone that left a day out; then at most a week
	// until a day of the rule comes.
	for i, without := -1, 0; len(all) < n && without <= 8; i++ {
		without++
		date := time.Date(year, month, day+i, 0, 0, 0, 0, time.UTC)
		if !slices.Contains(c.Days, days[date.Weekday()]) {
			continue
		}
		from := begin(date, at.Hour(), at.Minute(), zone).UTC()
		o := Occurrence{from, from.Add(c.For)}
		if o.From.Before(notBefore) {
			o.From = notBefore
		}
		if !notAfter.IsZero() && !o.From.Before(notAfter) {
			return all
		}
		if !notAfter.IsZero() && o.To.After(notAfter) {
			o.To = notAfter
		}
		if now.Before(o.To) && o.From.Before(o.To) {
			all = append(all, o)
			without = 0
		}
	}
	return all
}

// begin returns the moment at which clocks in a zone first show a time of that
// day, or a later one if they are put forward over it.
func begin(date time.Time, hour, minute int, zone *time.Location) time.Time {
	y, m, d := date.Date()
	wall := time.Date(y, m, d, hour, minute, 0, 0, time.UTC)
	t := time.Date(y, m, d, hour, minute, 0, 0, zone)
	// By the offset of the day before, a time that comes twice comes first, and one
	// that is left out falls behind the change.
	_, before := t.Add(-24 * time.Hour).Zone()
	first := wall.Add(-time.Duration(before) * time.Second).In(zone)
	if shows(first, wall) {
		return first
	}
	if shows(t, wall) {
		return t // the change was earlier that day
	}
	start, _ := first.ZoneBounds() // left out: from the change on
	return start
}

// shows reports whether clocks show wall at t.
func shows(t, wall time.Time) bool {
	y, m, d := t.Date()
	return wall.Equal(time.Date(y, m, d, t.Hour(), t.Minute(), 0, 0, time.UTC))
}
