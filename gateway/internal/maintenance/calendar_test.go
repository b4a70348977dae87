package maintenance

import (
	"fmt"
	"slices"
	"testing"
	"time"
)

// local is a moment as the clocks in Berlin show it, with the offset.
const local = "Mon 02 Jan 15:04 MST"

func TestCalendar(t *testing.T) {
	berlin, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	utc := func(s string) time.Time {
		at, err := time.Parse(time.DateTime, s)
		if err != nil {
			t.Fatal(err)
		}
		return at
	}
	every := days[:]
	for _, c := range []struct {
		name      string
		days      []string
		from      string
		lasts     time.Duration
		now       string // UTC
		notBefore string
		notAfter  string
		want      []string
	}{
		{
			name: "over midnight, before", days: []string{"fri"}, from: "22:00", lasts: 8 * time.Hour, now: "2026-01-09 12:00:00",
			want: []string{"Fri 09 Jan 22:00 CET - Sat 10 Jan 06:00 CET", "Fri 16 Jan 22:00 CET - Sat 17 Jan 06:00 CET"},
		},
		{
			name: "over midnight, on the day after", days: []string{"fri"}, from: "22:00", lasts: 8 * time.Hour, now: "2026-01-10 04:59:59",
			want: []string{"Fri 09 Jan 22:00 CET - Sat 10 Jan 06:00 CET", "Fri 16 Jan 22:00 CET - Sat 17 Jan 06:00 CET"},
		},
		{
			name: "over midnight, it is over", days: []string{"fri"}, from: "22:00", lasts: 8 * time.Hour, now: "2026-01-10 05:00:00",
			want: []string{"Fri 16 Jan 22:00 CET - Sat 17 Jan 06:00 CET", "Fri 23 Jan 22:00 CET - Sat 24 Jan 06:00 CET"},
		},
		{
			name: "through the night clocks go forward", days: []string{"sat"}, from: "22:00", lasts: 8 * time.Hour, now: "2026-03-28 12:00:00",
			want: []string{"Sat 28 Mar 22:00 CET - Sun 29 Mar 07:00 CEST", "Sat 04 Apr 22:00 CEST - Sun 05 Apr 06:00 CEST"},
		},
		{
			name: "through the night clocks go back", days: []string{"sat"}, from: "22:00", lasts: 8 * time.Hour, now: "2026-10-24 12:00:00",
			want: []string{"Sat 24 Oct 22:00 CEST - Sun 25 Oct 05:00 CET", "Sat 31 Oct 22:00 CET - Sun 01 Nov 06:00 CET"},
		},
		{
			name: "at a time that is left out", days: []string{"sun"}, from: "02:30", lasts: time.Hour, now: "2026-03-28 12:00:00",
			want: []string{"Sun 29 Mar 03:00 CEST - Sun 29 Mar 04:00 CEST", "Sun 05 Apr 02:30 CEST - Sun 05 Apr 03:30 CEST"},
		},
		{
			name: "at a time that comes twice", days: []string{"sun"}, from: "02:30", lasts: time.Hour, now: "2026-10-24 12:00:00",
			want: []string{"Sun 25 Oct 02:30 CEST - Sun 25 Oct 02:30 CET", "Sun 01 Nov 02:30 CET - Sun 01 Nov 03:30 CET"},
		},
		{
			name: "after the change of that day", days: []string{"sun"}, from: "12:00", lasts: time.Hour, now: "2026-10-24 12:00:00",
			want: []string{"Sun 25 Oct 12:00 CET - Sun 25 Oct 13:00 CET", "Sun 01 Nov 12:00 CET - Sun 01 Nov 13:00 CET"},
		},
		{
			name: "after the other change of that day", days: []string{"sun"}, from: "12:00", lasts: time.Hour, now: "2026-03-28 12:00:00",
			want: []string{"Sun 29 Mar 12:00 CEST - Sun 29 Mar 13:00 CEST", "Sun 05 Apr 12:00 CEST - Sun 05 Apr 13:00 CEST"},
		},
		{
			name: "all day, each day", days: every, from: "00:00", lasts: 24 * time.Hour, now: "2026-10-24 12:00:00",
			want: []string{"Sat 24 Oct 00:00 CEST - Sun 25 Oct 00:00 CEST", "Sun 25 Oct 00:00 CEST - Sun 25 Oct 23:00 CET", "Mon 26 Oct 00:00 CET - Tue 27 Oct 00:00 CET"},
		},
		{
			name: "in bounds", days: every, from: "12:00", lasts: 2 * time.Hour, now: "2026-01-01 00:00:00",
			notBefore: "2026-01-05 12:00:00", notAfter: "2026-01-06 12:00:00",
			want: []string{"Mon 05 Jan 13:00 CET - Mon 05 Jan 14:00 CET", "Tue 06 Jan 12:00 CET - Tue 06 Jan 13:00 CET"},
		},
		{name: "over for good", days: every, from: "12:00", lasts: time.Hour, now: "2026-02-01 00:00:00", notAfter: "2026-01-06 12:00:00"},
		{name: "on no day", days: nil, from: "12:00", lasts: time.Hour, now: "2026-02-01 00:00:00"},
	} {
		w := Window{Calendar: &Calendar{Days: c.days, From: c.from, For: c.lasts, Zone: "Europe/Berlin"}}
		if c.notBefore != "" {
			w.From = utc(c.notBefore)
		}
		if c.notAfter != "" {
			w.To = utc(c.notAfter)
		}
		var got []string
		for _, o := range w.Occurrences(utc(c.now), max(2, len(c.want))) {
			got = append(got, fmt.Sprintf("%s - %s", o.From.In(berlin).Format(local), o.To.In(berlin).Format(local)))
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s:\n%q, want\n%q", c.name, got, c.want)
		}
	}
}

// Whatever the zone, for years: each occurrence begins when clocks show the time
// of the rule, or just after they were put over it; and there is one a week.
func TestCalendarInEveryKindOfZone(t *testing.T) {
	for _, zone := range []string{"UTC", "Europe/Berlin", "America/St_Johns", "Australia/Lord_Howe", "Asia/Kathmandu", "Pacific/Chatham", "America/Santiago", "Africa/Casablanca"} {
		for _, from := range []string{"00:00", "00:30", "01:45", "02:00", "02:30", "23:59"} {
			c := &Calendar{Days: []string{"sun"}, From: from, For: time.Hour, Zone: zone}
			l, err := c.location()
			if err != nil {
				t.Fatal(err)
			}
			now := noon
			for range 100 {
				next := c.occurrences(time.Time{}, time.Time{}, now, 1)
				if len(next) != 1 {
					t.Fatalf("%s %s: none after %s", zone, from, now)
				}
				o := next[0]
				at := o.From.In(l)
				if at.Weekday() != time.Sunday {
					t.Errorf("%s %s: on a %s", zone, from, at)
				}
				if at.Format(timeOfDay) != from {
					if change, _ := at.ZoneBounds(); !change.Equal(at) {
						t.Errorf("%s %s: begins at %s", zone, from, at)
					}
				}
				if gap := o.From.Sub(now); gap < 0 || gap > 8*24*time.Hour {
					t.Errorf("%s %s: %s after %s", zone, from, gap, now)
				}
				if again := c.occurrences(time.Time{}, time.Time{}, o.To.Add(-1), 1); again[0] != o {
					t.Errorf("%s %s: at its end it is %v, not %v", zone, from, again[0], o)
				}
				now = o.To
			}
		}
	}
}

func TestOccurrencesHaveAnEnd(t *testing.T) {
	w := Window{Calendar: &Calendar{Days: days[:], From: "12:00", For: time.Minute}}
	if n := len(w.Occurrences(noon, 1e9)); n != mostOccurrences {
		t.Errorf("%d", n)
	}
}
