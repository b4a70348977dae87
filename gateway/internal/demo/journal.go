package demo

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/recloser-go/recloser"
)

// statusEvery is how often a journal says how things are if nothing happens.
const statusEvery = 5 * time.Second

// journal writes the run as plain lines, each with the script's time.
type journal struct {
	out    io.Writer
	style  style
	told   outage        // as far as it has been told
	number int           // of the outage
	events int           // transitions told
	people int           // messages to people told
	status time.Duration // when it was last told how things are
}

// show writes what is new.
func (j *journal) show(v view) error {
	var lines []string
	add := func(at time.Duration, format string, values ...any) {
		lines = append(lines, j.style.encode(words(fmt.Sprintf("%6.1f s  ", at.Seconds())+fmt.Sprintf(format, values...)))+"\n")
	}
	if v.number != j.number {
		j.number, j.told, j.events, j.status = v.number, outage{}, 0, 0
		if v.again {
			add(0, "outage %d", v.number)
		}
	}
	if v.outage.begun && !j.told.begun {
		for _, n := range illHotels() {
			add(v.outage.from, "%s %s", hotelID(n), faultOf(n).says())
		}
	}
	for _, t := range v.events[j.events:] {
		add(v.clock.of(t.At), "with Recloser: %s", eventText(t))
	}
	for _, n := range v.told[j.people:] {
		add(v.clock.of(n.At), "people are told: %s", n.Title)
	}
	if v.outage.ended && !j.told.ended {
		add(v.outage.until, "all hotels are well again")
	}
	j.told, j.events, j.people = v.outage, len(v.events), len(v.told)
	if v.now >= j.status+statusEvery {
		add(v.now, "waiting now: %s with Recloser, %s without", crowdText(v.with), crowdText(v.without))
		j.status = v.now.Truncate(statusEvery)
	}
	_, err := io.WriteString(j.out, strings.Join(lines, ""))
	return err
}

func crowdText(l laneView) string {
	return fmt.Sprintf("%d (longest %s; over 1 s so far: %d)", l.waiting, tenths(l.longest), l.overLong)
}

func eventText(t recloser.Transition) string {
	text := fmt.Sprintf("%s %s: %s", t.Name, t.To, t.Effect())
	if t.To == recloser.Open {
		text += fmt.Sprintf(", next trial in %s", tenths(t.OpenFor))
	}
	return text + " (" + why(t) + ")"
}
